// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' | filecheck %s

// What waits for caches beyond the nearest one has vectors of half the width.
// CHECK-LABEL: @beyond
// CHECK:         vectorize = d1 x 8, unroll = 2
func.func private @beyond(%x: memref<256x512xf32>, %y: memref<256x512xf32>, %z: memref<256x512xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [256, 512] reads(%x[i, j] : memref<256x512xf32>, %y[i, j] : memref<256x512xf32>) writes([i, j] store into %z : memref<256x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    loop.yield %c : f32
  }
  func.return
}

// In the nearest cache, in memory, of other widths, and where there is more to do, they are whole.
// CHECK-LABEL: @nearest
// CHECK:         vectorize = d1 x 16
func.func private @nearest(%x: memref<16x64xf32>, %z: memref<16x64xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [16, 64] reads(%x[i, j] : memref<16x64xf32>) writes([i, j] store into %z : memref<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %c = arith.addf %a, %a : f32
    loop.yield %c : f32
  }
  func.return
}

// CHECK-LABEL: @far
// CHECK:         vectorize = d1 x 16
func.func private @far(%x: memref<8192x2048xf32>, %z: memref<8192x2048xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8192, 2048] reads(%x[i, j] : memref<8192x2048xf32>) writes([i, j] store into %z : memref<8192x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %c = arith.addf %a, %a : f32
    loop.yield %c : f32
  }
  func.return
}

// CHECK-LABEL: @doubles
// CHECK:         vectorize = d1 x 8, unroll = 2
func.func private @doubles(%x: memref<256x512xf64>, %z: memref<256x512xf64>) attributes {lamina.kernel} {
  loop.generic (i, j) in [256, 512] reads(%x[i, j] : memref<256x512xf64>) writes([i, j] store into %z : memref<256x512xf64>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f64):
    %c = arith.addf %a, %a : f64
    loop.yield %c : f64
  }
  func.return
}

// CHECK-LABEL: @heavy
// CHECK:         vectorize = d1 x 16
func.func private @heavy(%x: memref<256x512xf32>, %z: memref<256x512xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [256, 512] reads(%x[i, j] : memref<256x512xf32>) writes([i, j] store into %z : memref<256x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %c = math.exp %a : f32
    loop.yield %c : f32
  }
  func.return
}

// What stays in the kernel stays near: whole vectors.
// CHECK-LABEL: @kept
// CHECK:         lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2>
func.func private @kept(%x: memref<256x512xf32>, %w: memref<16x512x32xf32>, %out: memref<256x512xf32>) attributes {lamina.kernel} {
  %r = memref.alloc() : memref<256x512xf32>
  loop.generic (i, j) in [256, 512] reads(%x[i, j] : memref<256x512xf32>) writes([i, j] store into %r : memref<256x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %b = arith.maximumf %a, %zero : f32
    loop.yield %b : f32
  }
  loop.generic (i, j, k) in [256, 512, 512] reads(%r[i, k] : memref<256x512xf32>, %w[j floordiv 32, k, j mod 32] : memref<16x512x32xf32>) writes([i, j] add into %out : memref<256x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return
}
