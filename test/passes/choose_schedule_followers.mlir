// RUN: lamina-opt %s -p 'bufferize,choose-schedule{target="x86-64-v4;cores=2;l2_bytes=2097152"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'bufferize,choose-schedule{target="x86-64-v4;cores=2;l2_bytes=2097152"},apply-schedule' --split-input-file | filecheck %s --check-prefix=LOOPS

// What follows a product point by point is computed of its register tiles, also by tasks of whole rows. Lines of images are one
// row: blocks of them share what is read of the panels. Tensors that have left the second-level cache are asked for as a tile begins.
func.func private @far(%a: tensor<8x14x14x256xf32>, %b: tensor<32x256x32xf32>, %r: tensor<8x14x14x1024xf32>, %c: tensor<8x1024x32xf32>) -> (tensor<8x14x14x1024xf32>, tensor<8x14x14x256xf32>) attributes {lamina.kernel} {
  %p = loop.generic (m, y, x, n, k) in [8, 14, 14, 1024, 256] reads(%a[m, y, x, k] : tensor<8x14x14x256xf32>, %b[n floordiv 32, k, n mod 32] : tensor<32x256x32xf32>) writes([m, y, x, n] add : tensor<8x14x14x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (m, y, x, n) in [8, 14, 14, 1024] reads(%p[m, y, x, n] : tensor<8x14x14x1024xf32>, %r[m, y, x, n] : tensor<8x14x14x1024xf32>) writes([m, y, x, n] store : tensor<8x14x14x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.addf %x, %y : f32
    loop.yield %v : f32
  }
  %s = loop.generic (m, y, x, n, k) in [8, 14, 14, 256, 1024] reads(%q[m, y, x, k] : tensor<8x14x14x1024xf32>, %c[n floordiv 32, k, n mod 32] : tensor<8x1024x32xf32>) writes([m, y, x, n] add : tensor<8x14x14x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %q, %s : tensor<8x14x14x1024xf32>, tensor<8x14x14x256xf32>
}
// CHECK-LABEL: @far
// CHECK-SAME:    compute_at = block, block = 110>
// CHECK:         jam = d2 x
// CHECK:         #loop.schedule<compute_with, prefetch = [1], prefetch_writes = [0]>
// CHECK:         prefetch_writes = [0]>
// LOOPS-LABEL: @far
// LOOPS-NOT:     memref.alloca() {alignment = 64 : i64} : memref<114688xf32>
// LOOPS:         loop.prefetch %{{[a-z_0-9]+}}[%{{[0-9]+}}] {locality = 3 : i64} : memref<1605632xf32>

// -----

// Those that are near are not.
func.func private @near(%a: tensor<64x256xf32>, %b: tensor<32x256x32xf32>, %r: tensor<64x1024xf32>, %c: tensor<8x1024x32xf32>) -> (tensor<64x1024xf32>, tensor<64x256xf32>) attributes {lamina.kernel} {
  %p = loop.generic (x, n, k) in [64, 1024, 256] reads(%a[x, k] : tensor<64x256xf32>, %b[n floordiv 32, k, n mod 32] : tensor<32x256x32xf32>) writes([x, n] add : tensor<64x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (x, n) in [64, 1024] reads(%p[x, n] : tensor<64x1024xf32>, %r[x, n] : tensor<64x1024xf32>) writes([x, n] store : tensor<64x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.addf %x, %y : f32
    loop.yield %v : f32
  }
  %s = loop.generic (x, n, k) in [64, 256, 1024] reads(%q[x, k] : tensor<64x1024xf32>, %c[n floordiv 32, k, n mod 32] : tensor<8x1024x32xf32>) writes([x, n] add : tensor<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %q, %s : tensor<64x1024xf32>, tensor<64x256xf32>
}
// CHECK-LABEL: @near
// CHECK:         #loop.schedule<compute_with>
// CHECK-NOT:     prefetch_writes

// -----

// A heavy body has loops of its own: it needs the registers that the sums are in. So has a reduction.
func.func private @heavy(%a: tensor<64x256xf32>, %b: tensor<32x256x32xf32>, %c: tensor<8x1024x32xf32>) -> (tensor<64x1024xf32>, tensor<64x256xf32>) attributes {lamina.kernel} {
  %p = loop.generic (x, n, k) in [64, 1024, 256] reads(%a[x, k] : tensor<64x256xf32>, %b[n floordiv 32, k, n mod 32] : tensor<32x256x32xf32>) writes([x, n] add : tensor<64x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (x, n) in [64, 1024] reads(%p[x, n] : tensor<64x1024xf32>) writes([x, n] store : tensor<64x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    %v = math.tanh %x : f32
    loop.yield %v : f32
  }
  %s = loop.generic (x, n, k) in [64, 256, 1024] reads(%q[x, k] : tensor<64x1024xf32>, %c[n floordiv 32, k, n mod 32] : tensor<8x1024x32xf32>) writes([x, n] add : tensor<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %q, %s : tensor<64x1024xf32>, tensor<64x256xf32>
}
// CHECK-LABEL: @heavy
// CHECK:         math.tanh
// CHECK-NOT:     compute_with
