// RUN: lamina-opt %s -p apply-schedule | filecheck %s

// Loops end at the number in the call, and masks that are true up to it are not asked: parts of a sum that stand behind
// it are empty, and rows side by side, which end at different places, have a loop of their own for what is left.
// CHECK-LABEL: @parts
// CHECK:         %[[N:[0-9]+]] = memref.load %{{.*}} : memref<1xi64>
// CHECK:         %[[E:[0-9]+]] = arith.index_cast %[[N]] : i64 to index
// CHECK:         scf.for
// CHECK:           arith.minsi
// CHECK:           arith.maxsi
// CHECK:           scf.for
// CHECK-NOT:         arith.cmpi
// CHECK:             vector.load
// CHECK:           vector.create_mask
// CHECK:           vector.maskedload
func.func private @parts(%x: memref<1024xf32>, %n: memref<i64>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic (i, p) in [128, 8] reads(%x[i + p * 128] : memref<1024xf32>, %n[] : memref<i64>) writes([p] add into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.ends = [#loop.bounds<0, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (d1 * -128 + s0)>, counts [1]>], lamina.schedule = #loop.schedule<vectorize = d0 x 16>} {
  ^bb0(%a: f32, %e: i64):
    %i = loop.index 0 : index
    %p = loop.index 1 : index
    %s = arith.constant 128 : index
    %t = arith.muli %p, %s : index
    %q = arith.addi %i, %t : index
    %r = arith.index_cast %q : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return
}

// Streams of rows are shares of those that count; the mask is not read.
// CHECK-LABEL: @columns
// CHECK:         %[[N:[0-9]+]] = memref.load
// CHECK:         %[[E:[0-9]+]] = arith.index_cast %[[N]]
// CHECK:         %[[L:[0-9]+]] = arith.minsi %{{[0-9]+}}, %[[E]]
// CHECK:         %[[H:[0-9]+]] = arith.maxsi %[[L]]
// CHECK:         arith.divui %[[H]]
// CHECK-NOT:     memref<128xi1>, vector
// CHECK:         scf.for %{{.*}} to %[[H]]
func.func private @columns(%m: memref<128xi1>, %x: memref<128x64xf32>, %n: memref<i64>, %y: memref<64xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 0, 2>, lamina.schedule = [#loop.rows<parallel = false, inner = [0]>]} {
  loop.generic (i, j) in [128, 64] reads(%m[i] : memref<128xi1>, %x[i, j] : memref<128x64xf32>) writes([j] add into %y : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.ends = [#loop.bounds<0, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [2]>], lamina.schedule = #loop.schedule<vectorize = d1 x 16, tile = d1 x 2048, rfactor = d0 x 4>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return
}

// Tiles that are turned do not end there: so no nest of the task does, and masks are asked.
// CHECK-LABEL: @turned
// CHECK-NOT:     arith.minsi
// CHECK:         memref<64xi1>
func.func private @turned(%m: memref<64xi1>, %x: memref<64x64xf32>, %n: memref<i64>, %y: memref<64x64xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 0, 2>, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic (i, j) in [64, 64] reads(%m[j] : memref<64xi1>, %x[j, i] : memref<64x64xf32>) writes([i, j] store into %y : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = []>, lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [2]>], lamina.schedule = #loop.schedule<vectorize = d1 x 16, tile = d0 x 16, transpose = d0>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return
}

// Of a product, columns around the panels of a task end there too.
// CHECK-LABEL: @around
// CHECK:         %[[N:[0-9]+]] = memref.load %{{[0-9]+}}[%{{[0-9]+}}] : memref<1xi64>
// CHECK:         %[[E:[0-9]+]] = arith.index_cast %[[N]]
// CHECK:         %[[M:[0-9]+]] = arith.maxsi %[[E]]
// CHECK:         %[[H:[0-9]+]] = arith.minsi %[[M]]
// CHECK:         scf.for %{{.*}} to %[[H]]
// CHECK:         vector.fma
func.func private @around(%b: memref<6x3x32xf32>, %w: memref<8x3xf32>, %n: memref<i64>, %c: memref<6x8x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel = false, block = 8, columns = 1, outer_columns = loops>]} {
  loop.generic (o, m, p, k) in [6, 8, 32, 3] reads(%b[o, k, p] : memref<6x3x32xf32>, %w[m, k] : memref<8x3xf32>) writes([o, m, p] add into %c : memref<6x8x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg2 of 6, 8, 32]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 8>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// Rows that a task sums over in turn: what it makes of each ends at the number, and so does the sum, which asks no mask.
// CHECK-LABEL: @summed
// CHECK:         %[[N:[0-9]+]] = memref.load %{{.*}} : memref<1xi64>
// CHECK:         %[[E:[0-9]+]] = arith.index_cast %[[N]] : i64 to index
// CHECK:         scf.for
// CHECK:           arith.minsi %{{.*}}, %[[E]]
// CHECK:           math.exp
// CHECK:           arith.minsi %{{.*}}, %[[E]]
// CHECK-NOT:       arith.cmpi
func.func private @summed(%x: memref<16x128xf32>, %n: memref<i64>, %y: memref<f32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  %0 = memref.alloc() : memref<16x128xf32>
  loop.generic (i, t) in [16, 128] reads(%x[i, t] : memref<16x128xf32>) writes([i, t] store into %0 : memref<16x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [1]>], lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    loop.yield %e : f32
  }
  %1 = memref.alloc() : memref<16xf32>
  loop.generic (i, t) in [16, 128] reads(%0[i, t] : memref<16x128xf32>, %n[] : memref<i64>) writes([i] add into %1 : memref<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [1]>], lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%a: f32, %e: i64):
    %i = loop.index 1 : index
    %r = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  loop.generic (i) in [16] reads(%1[i] : memref<16xf32>) writes([] add into %y : memref<f32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
