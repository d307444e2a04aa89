// RUN: lamina-opt %s -p apply-schedule --split-input-file | filecheck %s

// Tasks of one batch are neighbours, and within it those of the same columns: four blocks of rows.
func.func private @batches(%a: memref<6x32x40xf32>, %b: memref<6x3x40x16xf32>, %c: memref<6x32x48xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, block = 8, columns = 3, order = columns>]} {
  loop.generic (b, m, n, k) in [6, 32, 48, 40] reads(%a[b, m, k] : memref<6x32x40xf32>, %b[b, n floordiv 16, k, n mod 16] : memref<6x3x40x16xf32>) writes([b, m, n] add into %c : memref<6x32x48xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 16, pack_at = call>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 8>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @batches
// CHECK:         [[FOUR:%\S+]] = arith.constant 4 : index
// CHECK:         ^bb0([[N:%\S+]]: index):
// CHECK:           [[BLOCK:%\S+]] = arith.remui [[N]], [[FOUR]]
// CHECK-NEXT:      [[REST:%\S+]] = arith.divui [[N]], [[FOUR]]
// CHECK-NEXT:      [[COLUMNS:%\S+]] = arith.remui [[REST]], [[THREE:%\S+]] : index
// CHECK-NEXT:      [[BATCH:%\S+]] = arith.divui [[REST]], [[THREE]]
// CHECK:           arith.muli [[BATCH]], {{%\S+}}
// CHECK:           vector.load

// -----

// Register tiles go along the row that the jam names; the places of a window behind it stay the
// last digits of a task's number, so that one thread stores neighbours.
func.func private @channels(%w: memref<16x2x40xf32>, %x: memref<3x40x16xf32>, %y: memref<16x96xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, block = 8>]} {
  loop.generic (c, p, j, k) in [16, 2, 48, 40] reads(%w[c, p, k] : memref<16x2x40xf32>, %x[j floordiv 16, k, j mod 16] : memref<3x40x16xf32>) writes([c, p + (j * 2)] add into %y : memref<16x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 16, pack_at = call>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d0 x 8>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @channels
// CHECK:         [[TWO:%\S+]] = arith.constant 2 : index
// CHECK:         ^bb0([[N:%\S+]]: index):
// CHECK:           [[PLACE:%\S+]] = arith.remui [[N]], [[TWO]]
// CHECK-NEXT:      [[BLOCK:%\S+]] = arith.divui [[N]], [[TWO]]
// CHECK-NEXT:      arith.muli [[BLOCK]], {{%\S+}}
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
