// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"},apply-schedule,verify-scheduled' --split-input-file | filecheck %s --check-prefix=APPLIED

// What a row hands on leaves the nearest cache: it is computed for slices of what reads it.
func.func private @long(%x: memref<64x60000xf32>, %y: memref<64x59999xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<64x60000xf32>
  loop.generic (i, j) in [64, 60000] reads(%x[i, j] : memref<64x60000xf32>) writes([i, j] store into %e : memref<64x60000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %r = math.exp %v : f32
    loop.yield %r : f32
  }
  loop.generic (i, j) in [64, 59999] reads(%e[i, j] : memref<64x60000xf32>, %e[i, j + 1] : memref<64x60000xf32>) writes([i, j] store into %y : memref<64x59999xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %w: f32):
    %r = arith.subf %w, %v : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @long
// CHECK:         #loop.schedule<compute_at = d1, vectorize = d1 x 16
// CHECK:         math.exp
// CHECK:         #loop.schedule<{{.*}}tile = d1 x {{[0-9]+}}

// -----

// A short row stays there as it is.
func.func private @short(%x: memref<64x600xf32>, %y: memref<64x599xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<64x600xf32>
  loop.generic (i, j) in [64, 600] reads(%x[i, j] : memref<64x600xf32>) writes([i, j] store into %e : memref<64x600xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %r = math.exp %v : f32
    loop.yield %r : f32
  }
  loop.generic (i, j) in [64, 599] reads(%e[i, j] : memref<64x600xf32>, %e[i, j + 1] : memref<64x600xf32>) writes([i, j] store into %y : memref<64x599xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %w: f32):
    %r = arith.subf %w, %v : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @short
// CHECK-NOT:     compute_at
// CHECK-NOT:     tile

// -----

// Each slice would read all of it: the row behind is turned round.
func.func private @all(%x: memref<64x60000xf32>, %y: memref<64x60000xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<64x60000xf32>
  loop.generic (i, j) in [64, 60000] reads(%x[i, j] : memref<64x60000xf32>) writes([i, j] store into %e : memref<64x60000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %r = math.exp %v : f32
    loop.yield %r : f32
  }
  loop.generic (i, j) in [64, 60000] reads(%e[i, -j + 59999] : memref<64x60000xf32>) writes([i, j] store into %y : memref<64x60000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @all
// CHECK-NOT:     compute_at

// -----

// What stands in the text is left: a tile of the last nest leaves the one in front of it alone.
func.func private @given(%x: memref<64x60000xf32>, %y: memref<64x59999xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<64x60000xf32>
  loop.generic (i, j) in [64, 60000] reads(%x[i, j] : memref<64x60000xf32>) writes([i, j] store into %e : memref<64x60000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %r = math.exp %v : f32
    loop.yield %r : f32
  }
  loop.generic (i, j) in [64, 59999] reads(%e[i, j] : memref<64x60000xf32>, %e[i, j + 1] : memref<64x60000xf32>) writes([i, j] store into %y : memref<64x59999xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d1 x 32>} {
  ^bb0(%v: f32, %w: f32):
    %r = arith.subf %w, %v : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @given
// CHECK-NOT:     compute_at
// CHECK:         tile = d1 x 32

// -----

// A chain: each is computed in the loop of the first nest that reads it, by that one's dimension.
func.func private @chain(%x: memref<64x60000xf32>, %y: memref<64x60000xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<64x60000xf32>
  loop.generic (i, j) in [64, 60000] reads(%x[i, j] : memref<64x60000xf32>) writes([i, j] store into %e : memref<64x60000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %r = math.exp %v : f32
    loop.yield %r : f32
  }
  %f = memref.alloc() : memref<1x64x60000xf32>
  loop.generic (b, i, j) in [1, 64, 60000] reads(%e[i, j] : memref<64x60000xf32>) writes([b, i, j] store into %f : memref<1x64x60000xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%v: f32):
    %r = math.sin %v : f32
    loop.yield %r : f32
  }
  loop.generic (i, j) in [64, 60000] reads(%e[i, j] : memref<64x60000xf32>, %f[0, i, j] : memref<1x64x60000xf32>) writes([i, j] store into %y : memref<64x60000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %w: f32):
    %r = arith.subf %w, %v : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @chain
// CHECK:         #loop.schedule<compute_at = d2, vectorize = d1 x 16
// CHECK:         math.exp
// CHECK:         #loop.schedule<compute_at = d1, vectorize = d2 x 16
// CHECK:         math.sin
// CHECK:         #loop.schedule<{{.*}}tile = d1 x {{[0-9]+}}
// APPLIED: @chain
