// RUN: lamina-opt %s -p parallelize,vectorize --split-input-file --verify-diagnostics | filecheck %s

// Whole vectors, two a step, then single ones; the rest of the row is masked.
func.func private @tail(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4, unroll = 2>} {
  ^bb0(%v: f32):
    %r = arith.negf %v : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @tail
// CHECK:         loop.reshape %x : memref<8x45xf32> -> memref<360xf32>
// CHECK:         "scf.parallel"
// CHECK:           scf.for
// CHECK-COUNT-2:     arith.negf %{{.*}} : vector<4xf32>
// CHECK:           }
// CHECK:           vector.create_mask
// CHECK:           arith.negf %{{.*}} : vector<4xf32>
// CHECK:           vector.maskedstore
// CHECK-NOT:     loop.generic

// -----

// A size that is a multiple of the lanes has no rest. Lanes of a reduction are partial results, which are folded.
func.func private @sum(%x: memref<8x48xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 48] reads(%x[i, j] : memref<8x48xf32>) writes([i] add into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @sum
// CHECK:         scf.for
// CHECK:           scf.for {{.*}} -> (vector<4xf32>)
// CHECK:           vector.reduction <add>
// CHECK-NOT:     create_mask

// -----

// Without the clause, loops over scalars. A kernel without rows needs no tasks.
func.func private @scalars(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    %r = arith.negf %v : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @scalars
// CHECK:         scf.for
// CHECK:           arith.negf %{{.*}} : f32
// CHECK-NOT:     vector

// -----

// Products stay, with what stands around them.
func.func private @product(%a: memref<128x32xf32>, %b: memref<2x32x32xf32>, %c: memref<128x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 64>]} {
  loop.generic (m, n, k) in [128, 64, 32] reads(%a[m, k] : memref<128x32xf32>, %b[n floordiv 32, k, n mod 32] : memref<2x32x32xf32>) writes([m, n] add into %c : memref<128x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @product
// CHECK-SAME:    #loop.products<block = 64>
// CHECK-NEXT:    loop.generic

// -----

// Beside a product in a part of its own, a nest of another part becomes vectors.
func.func private @parts(%a: memref<128x32xf32>, %b: memref<2x32x32xf32>, %c: memref<128x64xf32>, %x: memref<48xf32>, %z: memref<48xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>, #loop.products<block = 64>]} {
  loop.generic (i) in [48] reads(%x[i] : memref<48xf32>) writes([i] store into %z : memref<48xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d0 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (m, n, k) in [128, 64, 32] reads(%a[m, k] : memref<128x32xf32>, %b[n floordiv 32, k, n mod 32] : memref<2x32x32xf32>) writes([m, n] add into %c : memref<128x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], part = 1>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x0: f32, %y: f32):
    %v = arith.mulf %x0, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @parts
// CHECK:         vector.store
// CHECK:         loop.generic (d0, d1, d2) in [128, 64, 32]
