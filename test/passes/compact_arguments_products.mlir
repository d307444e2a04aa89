// RUN: lamina-opt %s -p limit-arguments,compact-arguments --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-arguments,compact-arguments,apply-schedule --split-input-file | filecheck %s --check-prefix APPLIED

// Products of matrices of open size take them as calls have them. What is packed ends where its masks do, though panels are whole:
// loads are masked. Columns behind those of the call are not stored.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<8x64x64xf32> {{{.*}}lamina.limits = [2 : i64, 3 : i64, 4 : i64], lamina.extents = [2 : i64, 3 : i64, 4 : i64]}
// CHECK-SAME:    %y: memref<8x64x64xf32> {{{.*}}lamina.limits = [2 : i64, 4 : i64, 5 : i64], lamina.extents = [2 : i64, 4 : i64, 5 : i64]}
// CHECK-SAME:    %out: memref<8x64x64xf32> {{{.*}}lamina.limits = [2 : i64, 3 : i64, 5 : i64], lamina.extents = [2 : i64, 3 : i64, 5 : i64]}
func.func @main(%x: memref<8x64x64xf32> {lamina.counts = ["b", "n", "k"]}, %y: memref<8x64x64xf32> {lamina.counts = ["b", "k", "m"]}, %b: memref<i64> {lamina.name = "b"}, %n: memref<i64> {lamina.name = "n"}, %k: memref<i64> {lamina.name = "k"}, %m: memref<i64> {lamina.name = "m"}, %out: memref<8x64x64xf32> {lamina.kind = "output", lamina.counts = ["b", "n", "m"]}, %arena: memref<131200xi8> {lamina.kind = "arena"}) attributes {lamina.entry, lamina.compact} {
  %0 = arith.constant 131072 : index
  %terms = memref.view %arena[%0][] : memref<131200xi8> to memref<64xi1>
  %1 = arith.constant 131136 : index
  %columns = memref.view %arena[%1][] : memref<131200xi8> to memref<64xi1>
  %2 = arith.constant 0 : index
  %panels = memref.view %arena[%2][] : memref<131200xi8> to memref<8x2x64x32xf32>
  func.call @mask(%k, %terms) : (memref<i64>, memref<64xi1>) -> ()
  func.call @mask(%m, %columns) : (memref<i64>, memref<64xi1>) -> ()
  func.call @pack(%columns, %terms, %y, %b, %m, %k, %panels) : (memref<64xi1>, memref<64xi1>, memref<8x64x64xf32>, memref<i64>, memref<i64>, memref<i64>, memref<8x2x64x32xf32>) -> ()
  func.call @product(%terms, %x, %panels, %b, %n, %k, %m, %out) : (memref<64xi1>, memref<8x64x64xf32>, memref<8x2x64x32xf32>, memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<8x64x64xf32>) -> ()
  func.return
}
func.func private @mask(%n: memref<i64>, %mask: memref<64xi1>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i) in [64] reads(%n[] : memref<i64>) writes([i] store into %mask : memref<64xi1>) attributes {lamina.nest = #loop.nest<rows = []>, lamina.schedule = #loop.schedule<vectorize = d0 x 8>} {
  ^bb0(%end: i64):
    %i = loop.index 0 : index
    %at = arith.index_cast %i : index to i64
    %below = arith.cmpi slt, %at, %end : i64
    loop.yield %below : i1
  }
  func.return
}
// APPLIED-LABEL: func.func private @pack
// APPLIED-NOT:     vector.load %{{.*}}memref<32768xf32>
// APPLIED:         %[[ON:[0-9]+]] = arith.andi %{{.*}}, %{{.*}} : vector<8xi1>
// APPLIED:         vector.maskedload %{{.*}}, %[[ON]]
func.func private @pack(%columns: memref<64xi1>, %terms: memref<64xi1>, %y: memref<8x64x64xf32>, %b: memref<i64>, %m: memref<i64>, %k: memref<i64>, %panels: memref<8x2x64x32xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 0, 4, 1, 5>, lamina.schedule = [#loop.rows<parallel, inner = [2, 3]>]} {
  loop.generic (i, j, t, c) in [8, 2, 64, 32] reads(%columns[j * 32 + c] : memref<64xi1>, %terms[t] : memref<64xi1>, %y[i, t, j * 32 + c] : memref<8x64x64xf32>) writes([i, j, t, c] store into %panels : memref<8x2x64x32xf32>) attributes {lamina.schedule = #loop.schedule<vectorize = d3 x 8>, lamina.nest = #loop.nest<rows = [d0, d1, d2, d3], live = [arg3 of 8, arg4 ceildiv 32 of 2, arg5 ceildiv 32 * 32 of 64, 32], visited = [d1, d2]>} {
  ^bb0(%column: i1, %term: i1, %v: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.select %term, %v, %zero : f32
    %1 = arith.select %column, %0, %zero : f32
    loop.yield %1 : f32
  }
  func.return
}
// APPLIED-LABEL: func.func private @product
// APPLIED-NOT:     vector.load %{{.*}}memref<32768xf32>
// APPLIED:         vector.maskedload
// APPLIED:         vector.fma
// APPLIED-NOT:     vector.store
// APPLIED:         vector.maskedstore
func.func private @product(%terms: memref<64xi1>, %x: memref<8x64x64xf32>, %panels: memref<8x2x64x32xf32>, %b: memref<i64>, %n: memref<i64>, %k: memref<i64>, %m: memref<i64>, %out: memref<8x64x64xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 0, 5>, lamina.zeros = array<i64: 2, 2, 5>, lamina.schedule = [#loop.products<parallel, compute_at = block, block = 16>]} {
  %rows = memref.alloc() {alignment = 64 : i64} : memref<8x64x64xf32>
  loop.generic (i, r, t) in [8, 64, 64] reads(%terms[t] : memref<64xi1>, %x[i, r, t] : memref<8x64x64xf32>) writes([i, r, t] store into %rows : memref<8x64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 8, arg4 of 64]>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [5]>, lamina.schedule = #loop.schedule<vectorize = d2 x 8>} {
  ^bb0(%term: i1, %v: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.select %term, %v, %zero : f32
    loop.yield %0 : f32
  }
  loop.generic (i, r, c, t) in [8, 64, 64, 64] reads(%rows[i, r, t] : memref<8x64x64xf32>, %panels[i, c floordiv 32, t, c mod 32] : memref<8x2x64x32xf32>) writes([i, r, c] add into %out : memref<8x64x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 8, arg4 of 64]>, lamina.bounds = #loop.bounds<3, lower affine_map<(d0, d1, d2, d3)[s0] -> ()>, upper affine_map<(d0, d1, d2, d3)[s0] -> (s0)>, counts [5]>, lamina.ends = [#loop.bounds<2, lower affine_map<(d0, d1, d2, d3)[s0] -> ()>, upper affine_map<(d0, d1, d2, d3)[s0] -> (s0)>, counts [6]>], lamina.schedule = #loop.schedule<vectorize = d2 x 8, unroll = 4, jam = d1 x 2, tail = [1]>} {
  ^bb0(%l: f32, %r: f32):
    %0 = arith.mulf %l, %r : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// Of what nobody says that it is a mask nothing follows: elements up to the end of a panel are read, and chosen from.
// Nor where what is read is wanted beside the mask.
// CHECK-LABEL: @main
// CHECK-SAME:    %y: memref<64x64xf32> {{{.*}}lamina.limits = [2 : i64, -1 : i64]}, %z: memref<64x64xf32> {{{.*}}lamina.limits = [2 : i64, -1 : i64]}
func.func @main(%y: memref<64x64xf32> {lamina.counts = ["k", "m"]}, %z: memref<64x64xf32> {lamina.counts = ["k", "m"]}, %k: memref<i64> {lamina.name = "k"}, %m: memref<i64> {lamina.name = "m"}, %columns: memref<64xi1>, %panels: memref<2x64x32xf32> {lamina.kind = "output"}, %others: memref<2x64x32xf32> {lamina.kind = "output"}) attributes {lamina.entry, lamina.compact} {
  func.call @unknown(%columns, %y, %m, %k, %panels) : (memref<64xi1>, memref<64x64xf32>, memref<i64>, memref<i64>, memref<2x64x32xf32>) -> ()
  func.call @wanted(%columns, %z, %m, %k, %others) : (memref<64xi1>, memref<64x64xf32>, memref<i64>, memref<i64>, memref<2x64x32xf32>) -> ()
  func.return
}
func.func private @unknown(%columns: memref<64xi1>, %y: memref<64x64xf32>, %m: memref<i64>, %k: memref<i64>, %panels: memref<2x64x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (j, t, c) in [2, 64, 32] reads(%columns[j * 32 + c] : memref<64xi1>, %y[t, j * 32 + c] : memref<64x64xf32>) writes([j, t, c] store into %panels : memref<2x64x32xf32>) attributes {lamina.schedule = #loop.schedule<vectorize = d2 x 8>, lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg2 ceildiv 32 of 2, arg3 of 64, 32]>} {
  ^bb0(%column: i1, %v: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.select %column, %v, %zero : f32
    loop.yield %0 : f32
  }
  func.return
}
func.func private @wanted(%columns: memref<64xi1>, %z: memref<64x64xf32>, %m: memref<i64>, %k: memref<i64>, %panels: memref<2x64x32xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 0, 2>, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (j, t, c) in [2, 64, 32] reads(%columns[j * 32 + c] : memref<64xi1>, %z[t, j * 32 + c] : memref<64x64xf32>) writes([j, t, c] store into %panels : memref<2x64x32xf32>) attributes {lamina.schedule = #loop.schedule<vectorize = d2 x 8>, lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg2 ceildiv 32 of 2, arg3 of 64, 32]>} {
  ^bb0(%column: i1, %v: f32):
    %w = arith.negf %v : f32
    %0 = arith.select %column, %v, %w : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// Columns behind those that count, in their panel, are not asked for either.
// CHECK-LABEL: @main
// CHECK-SAME:    %y: memref<64x64xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64]}
// APPLIED-LABEL: func.func private @pack
// APPLIED:         %[[LEFT:[0-9]+]] = arith.subi
// APPLIED:         %[[ON:[0-9]+]] = vector.create_mask %[[LEFT]]
// APPLIED:         vector.maskedload %{{.*}}, %[[ON]]
func.func @main(%y: memref<64x64xf32> {lamina.counts = ["k", "m"]}, %k: memref<i64> {lamina.name = "k"}, %m: memref<i64> {lamina.name = "m"}, %panels: memref<2x64x32xf32> {lamina.kind = "output"}) attributes {lamina.entry, lamina.compact} {
  func.call @pack(%y, %m, %k, %panels) : (memref<64x64xf32>, memref<i64>, memref<i64>, memref<2x64x32xf32>) -> ()
  func.return
}
func.func private @pack(%y: memref<64x64xf32>, %m: memref<i64>, %k: memref<i64>, %panels: memref<2x64x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (j, t, c) in [2, 64, 32] reads(%y[t, j * 32 + c] : memref<64x64xf32>) writes([j, t, c] store into %panels : memref<2x64x32xf32>) attributes {lamina.schedule = #loop.schedule<vectorize = d2 x 8>, lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg1 ceildiv 32 of 2, arg2 of 64, 32], visited = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
