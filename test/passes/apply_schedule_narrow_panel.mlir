// RUN: lamina-opt %s -p apply-schedule --split-input-file | filecheck %s

// Columns end at a number of the call: where the last panel has 16 of 32 at most, tiles of half as many vectors compute it.
// CHECK-LABEL: func.func private @lines
// CHECK:         %[[LEFT:[0-9]+]] = arith.subi
// CHECK:         %[[FEW:[0-9]+]] = arith.cmpi sle, %[[LEFT]], %{{[0-9]+}} : index
// CHECK:         scf.if %[[FEW]] {
// CHECK-COUNT-32:   vector.fma
// CHECK-NOT:       vector.fma
// CHECK:         } else {
// CHECK-COUNT-32:  vector.fma
// CHECK-NOT:       vector.fma
func.func private @lines(%a: memref<8x16xf32>, %b: memref<2x16x32xf32>, %n: memref<i64>, %out: memref<8x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 8, columns = 2>]} {
  loop.generic (d0, d1, d2) in [8, 64, 16] reads(%a[d0, d2] : memref<8x16xf32>, %b[d1 floordiv 32, d2, d1 mod 32] : memref<2x16x32xf32>) writes([d0, d1] add into %out : memref<8x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [2]>], lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 8>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  func.return
}

// -----

// Of columns of known size there is nothing to ask, and of so many panels the last is a small part.
// CHECK-LABEL: func.func private @known
// CHECK-NOT:     scf.if
// CHECK-LABEL: func.func private @many
// CHECK-NOT:     scf.if
func.func private @known(%a: memref<8x16xf32>, %b: memref<2x16x32xf32>, %out: memref<8x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 8, columns = 2>]} {
  loop.generic (d0, d1, d2) in [8, 64, 16] reads(%a[d0, d2] : memref<8x16xf32>, %b[d1 floordiv 32, d2, d1 mod 32] : memref<2x16x32xf32>) writes([d0, d1] add into %out : memref<8x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 8>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  func.return
}
func.func private @many(%a: memref<8x16xf32>, %b: memref<16x16x32xf32>, %n: memref<i64>, %out: memref<8x512xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 8, columns = 16>]} {
  loop.generic (d0, d1, d2) in [8, 512, 16] reads(%a[d0, d2] : memref<8x16xf32>, %b[d1 floordiv 32, d2, d1 mod 32] : memref<16x16x32xf32>) writes([d0, d1] add into %out : memref<8x512xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [2]>], lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 8>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  func.return
}
