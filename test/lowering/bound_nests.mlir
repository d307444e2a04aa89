// RUN: lamina-opt %s --split-input-file --verify-diagnostics -p bound-nests | filecheck %s

// Elements need no mask. Sizes are inputs, and results of what counts.

// CHECK-LABEL: func.func @main(%x: tensor<64x8xf32> {lamina.name = "x"}, %size: tensor<i64> {lamina.kind = "input", lamina.name = "size(n)", lamina.least = 2 : i64})
// CHECK-SAME:  -> (tensor<64x8xf32> {lamina.sizes = [0 : i64, -1 : i64]}, tensor<8x64xf32> {lamina.sizes = [-1 : i64, 0 : i64], lamina.counts = ["", "size(n)"]}, tensor<i64> {lamina.kind = "size"}) {
// CHECK-NEXT:    [[A:%\S+]] = loop.generic (d0, d1) in [64, 8] reads(%x[d0, d1] : tensor<64x8xf32>) writes([d0, d1] store : tensor<64x8xf32>) {
// CHECK:         [[B:%\S+]] = loop.generic (d0, d1) in [8, 64] reads([[A]][d1, d0] : tensor<64x8xf32>) writes([d0, d1] store : tensor<8x64xf32>) {
// CHECK:         func.return [[A]], [[B]], %size
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n in [2, 64]>], lamina.name = "x"})
    -> (tensor<?x8xf32>, tensor<8x?xf32> {lamina.dims = [#lamina.size<n>]}) {
  %0 = arith.constant 0 : index
  %n = tensor.dim %x, %0 : tensor<?x8xf32>
  %a = loop.generic (d0, d1)[s0 = %n] in [s0, 8] reads(%x[d0, d1] : tensor<?x8xf32>) writes([d0, d1] store : tensor<?x8xf32>) {
  ^bb0(%v: f32):
    %e = math.exp %v : f32
    loop.yield %e : f32
  }
  %b = loop.generic (d0, d1)[s0 = %n] in [8, s0] reads(%a[d1, d0] : tensor<?x8xf32>) writes([d0, d1] store : tensor<8x?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %a, %b : tensor<?x8xf32>, tensor<8x?xf32>
}

// -----

// Sums and extremes leave out positions that do not count; a sum over a known dimension needs no mask.

// CHECK-LABEL: @main
// CHECK:         [[MASK:%\S+]] = loop.generic (d0) in [64] reads(%size[] : tensor<i64>) writes([d0] store : tensor<64xi1>) attributes {lamina.op = "mask"} {
// CHECK-NEXT:    ^bb0([[N:%\S+]]: i64):
// CHECK-NEXT:      [[I:%\S+]] = loop.index 0 : index
// CHECK-NEXT:      [[P:%\S+]] = arith.index_cast [[I]] : index to i64
// CHECK-NEXT:      arith.cmpi slt, [[P]], [[N]] : i64
// CHECK:         loop.generic (d0, d1) in [64, 8] reads(%x[d0, d1] : tensor<64x8xf32>, [[MASK]][d0] : tensor<64xi1>) writes([d1] add : tensor<8xf32>, [] max : tensor<f32>) {
// CHECK-NEXT:    ^bb0([[V:%\S+]]: f32, [[M:%\S+]]: i1):
// CHECK-NEXT:      [[ZERO:%\S+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      [[A:%\S+]] = arith.select [[M]], [[V]], [[ZERO]] : f32
// CHECK-NEXT:      [[LEAST:%\S+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:      [[B:%\S+]] = arith.select [[M]], [[V]], [[LEAST]] : f32
// CHECK-NEXT:      loop.yield [[A]], [[B]] : f32, f32
// CHECK:         loop.generic (d0, d1) in [64, 8] reads(%x[d0, d1] : tensor<64x8xf32>) writes([d0] add : tensor<64xf32>) {
// CHECK-NEXT:    ^bb0([[W:%\S+]]: f32):
// CHECK-NEXT:      loop.yield [[W]] : f32
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> (tensor<8xf32>, tensor<f32>, tensor<?xf32>) {
  %0 = arith.constant 0 : index
  %n = tensor.dim %x, %0 : tensor<?x8xf32>
  %a, %b = loop.generic (d0, d1)[s0 = %n] in [s0, 8] reads(%x[d0, d1] : tensor<?x8xf32>) writes([d1] add : tensor<8xf32>, [] max : tensor<f32>) {
  ^bb0(%v: f32):
    loop.yield %v, %v : f32, f32
  }
  %c = loop.generic (d0, d1)[s0 = %n] in [s0, 8] reads(%x[d0, d1] : tensor<?x8xf32>) writes([d0] add : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %a, %b, %c : tensor<8xf32>, tensor<f32>, tensor<?xf32>
}

// -----

// A region leaves its identities unchanged.

// CHECK-LABEL: @main
// CHECK:         arith.constant 7 : i32
// CHECK:         arith.select {{.*}} : i32
// CHECK-NEXT:    loop.yield
func.func @main(%x: tensor<?xi32> {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> tensor<i32> {
  %0 = arith.constant 0 : index
  %n = tensor.dim %x, %0 : tensor<?xi32>
  %r = loop.generic (d0)[s0 = %n] in [s0] reads(%x[d0] : tensor<?xi32>) writes([] combine : tensor<i32>) {
  ^bb0(%v: i32):
    loop.yield %v : i32
  } combine(7 : i32) {
  ^bb0(%a: i32, %b: i32):
    %m = arith.minsi %a, %b : i32
    loop.yield %m : i32
  }
  func.return %r : tensor<i32>
}

// -----

// Of a product both operands are 0 behind what counts; it stays one. Rows and columns are not masked.

// CHECK-LABEL: @main
// CHECK:         [[M:%\S+]] = loop.generic (d0) in [32] reads(%size_1[] : tensor<i64>) writes([d0] store : tensor<32xi1>) attributes {lamina.op = "mask"} {
// CHECK:         [[A:%\S+]] = loop.generic (d0, d1) in [64, 32] reads(%x[d0, d1] : tensor<64x32xf32>, [[M]][d1] : tensor<32xi1>) writes([d0, d1] store : tensor<64x32xf32>) attributes {lamina.op = "where"} {
// CHECK:         [[B:%\S+]] = loop.generic (d0, d1) in [32, 16] reads(%w[d0, d1] : tensor<32x16xf32>, [[M]][d0] : tensor<32xi1>) writes([d0, d1] store : tensor<32x16xf32>) attributes {lamina.op = "where"} {
// CHECK:         loop.generic (d0, d1, d2) in [64, 16, 32] reads([[A]][d0, d2] : tensor<64x32xf32>, [[B]][d2, d1] : tensor<32x16xf32>) writes([d0, d1] add : tensor<64x16xf32>) {
// CHECK-NEXT:    ^bb0([[P:%\S+]]: f32, [[Q:%\S+]]: f32):
// CHECK-NEXT:      [[R:%\S+]] = arith.mulf [[P]], [[Q]] : f32
// CHECK-NEXT:      loop.yield [[R]] : f32
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n in [0, 64]>, #lamina.size<k in [0, 32]>]},
                %w: tensor<?x16xf32> {lamina.dims = [#lamina.size<k>]}) -> tensor<?x16xf32> {
  %0 = arith.constant 0 : index
  %n = tensor.dim %x, %0 : tensor<?x?xf32>
  %k = tensor.dim %w, %0 : tensor<?x16xf32>
  %r = loop.generic (d0, d1, d2)[s0 = %n, s1 = %k] in [s0, 16, s1] reads(%x[d0, d2] : tensor<?x?xf32>, %w[d2, d1] : tensor<?x16xf32>) writes([d0, d1] add : tensor<?x16xf32>) {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    loop.yield %m : f32
  }
  func.return %r : tensor<?x16xf32>
}

// -----

// Scores are -inf in the padding for all that reads them, and a sum of their exponentials needs no mask.

// CHECK-LABEL: @main
// CHECK:         [[S:%\S+]] = loop.generic (d0, d1) in [4, 64] {{.*}} attributes {lamina.op = "where"} {
// CHECK:           arith.constant 0xff800000 : f32
// CHECK:         [[M:%\S+]] = loop.generic (d0, d1) in [4, 64] reads([[S]][d0, d1] : tensor<4x64xf32>) writes([d0] max : tensor<4xf32>)
// CHECK:         [[E:%\S+]] = loop.generic (d0, d1) in [4, 64] reads([[S]][d0, d1] : tensor<4x64xf32>, [[M]][d0] : tensor<4xf32>)
// CHECK:         loop.generic (d0, d1) in [4, 64] reads([[E]][d0, d1] : tensor<4x64xf32>) writes([d0] add : tensor<4xf32>)
func.func @main(%x: tensor<4x?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>]}) -> tensor<4xf32> {
  %1 = arith.constant 1 : index
  %n = tensor.dim %x, %1 : tensor<4x?xf32>
  %m = loop.generic (d0, d1)[s0 = %n] in [4, s0] reads(%x[d0, d1] : tensor<4x?xf32>) writes([d0] max : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  %e = loop.generic (d0, d1)[s0 = %n] in [4, s0] reads(%x[d0, d1] : tensor<4x?xf32>, %m[d0] : tensor<4xf32>) writes([d0, d1] store : tensor<4x?xf32>) {
  ^bb0(%v: f32, %w: f32):
    %d = arith.subf %v, %w : f32
    %p = math.exp %d : f32
    loop.yield %p : f32
  }
  %s = loop.generic (d0, d1)[s0 = %n] in [4, s0] reads(%e[d0, d1] : tensor<4x?xf32>) writes([d0] add : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %s : tensor<4xf32>
}

// -----

// Where there may be no scores, the sum of none is 0: it is masked.

// CHECK-LABEL: @main
// CHECK:         [[E:%\S+]] = loop.generic (d0, d1) in [4, 64] reads(%x[d0, d1] : tensor<4x64xf32>, {{%\S+}}[d0] : tensor<4xf32>)
// CHECK:         loop.generic (d0, d1) in [4, 64] reads([[E]][d0, d1] : tensor<4x64xf32>, {{%\S+}}[d1] : tensor<64xi1>) writes([d0] add : tensor<4xf32>)
func.func @main(%x: tensor<4x?xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> tensor<4xf32> {
  %1 = arith.constant 1 : index
  %n = tensor.dim %x, %1 : tensor<4x?xf32>
  %m = loop.generic (d0, d1)[s0 = %n] in [4, s0] reads(%x[d0, d1] : tensor<4x?xf32>) writes([d0] max : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  %e = loop.generic (d0, d1)[s0 = %n] in [4, s0] reads(%x[d0, d1] : tensor<4x?xf32>, %m[d0] : tensor<4xf32>) writes([d0, d1] store : tensor<4x?xf32>) {
  ^bb0(%v: f32, %w: f32):
    %d = arith.subf %v, %w : f32
    %p = math.exp %d : f32
    loop.yield %p : f32
  }
  %s = loop.generic (d0, d1)[s0 = %n] in [4, s0] reads(%e[d0, d1] : tensor<4x?xf32>) writes([d0] add : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %s : tensor<4xf32>
}

// -----

// What is read at a place that follows from a size is looked up, inside whatever the size is. The
// body's sizes are numbers of the call, of which those that follow from others are made in front.

// CHECK-LABEL: @main
// CHECK:         [[LAST:%\S+]] = loop.generic () in [] reads(%size[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.op = "size"} {
// CHECK:           arith.constant -1 : i64
// CHECK-NEXT:      arith.addi
// CHECK:         loop.generic (d0, d1) in [64, 8] reads({{.*}}[[LAST]][] : tensor<i64>{{.*}}) sources(%x : tensor<64x8xf32>) writes([d0, d1] store : tensor<64x8xf32>)
// CHECK:           [[PLACE:%\S+]] = arith.maxsi
// CHECK:           loop.read {{%\S+}}{{\[}}[[PLACE]] below {{%\S+}}, {{%\S+}}] : tensor<64x8xf32>
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> tensor<?x8xf32> {
  %0 = arith.constant 0 : index
  %n = tensor.dim %x, %0 : tensor<?x8xf32>
  %1 = arith.constant -1 : index
  %last = arith.addi %n, %1 : index
  %r = loop.generic (d0, d1)[s0 = %n, s1 = %last] in [s0, 8] reads(%x[(d0 * -1) + s1, d1] : tensor<?x8xf32>) writes([d0, d1] store : tensor<?x8xf32>) {
  ^bb0(%v: f32):
    %s = loop.size 0 : index
    %c = arith.index_cast %s : index to i64
    %f = arith.sitofp %c : i64 to f32
    %w = arith.addf %v, %f : f32
    loop.yield %w : f32
  }
  func.return %r : tensor<?x8xf32>
}

// -----

// Where a pad is read, it stands in the padding, too. What stays inside of what counts is read as it is.

// CHECK-LABEL: @main
// CHECK:         [[M:%\S+]] = loop.generic (d0) in [64] reads(%x[d0] : tensor<64xf32>, {{%\S+}}[d0] : tensor<64xi1>) writes([d0] store : tensor<64xf32>) attributes {lamina.op = "where"} {
// CHECK:         loop.generic (d0) in [66] reads([[M]][d0 + -1] pad 0.000000e+00 : f32 : tensor<64xf32>) writes([d0] store : tensor<66xf32>)
// CHECK:         loop.generic (d0) in [64] reads(%x[d0 + -1] pad 0.000000e+00 : f32 : tensor<64xf32>) writes([d0] store : tensor<64xf32>)
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = arith.constant 0 : index
  %n = tensor.dim %x, %0 : tensor<?xf32>
  %1 = arith.constant 2 : index
  %more = arith.addi %n, %1 : index
  %a = loop.generic (d0)[s0 = %more] in [s0] reads(%x[d0 - 1] pad 0.0 : f32 : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  %b = loop.generic (d0)[s0 = %n] in [s0] reads(%x[d0 - 1] pad 0.0 : f32 : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %a, %b : tensor<?xf32>, tensor<?xf32>
}

// -----

// Indirect reads end at the size of a call, and rows of padding look up place 0. Positions stay.

// CHECK-LABEL: @main
// CHECK:         [[M:%\S+]] = loop.generic (d0) in [64] {{.*}} writes([d0] store : tensor<64xi1>)
// CHECK:         loop.generic (d0, d1) in [64, 8] reads(%i[d0] : tensor<64xi64>, [[M]][d0] : tensor<64xi1>,
// CHECK-NEXT:    ^bb0({{%\S+}}: i64, [[COUNTS:%\S+]]: i1,
// CHECK:           [[P:%\S+]] = arith.select [[COUNTS]], %p, {{%\S+}} : index
// CHECK-NEXT:      loop.read %source{{\[}}[[P]] below {{%\S+}}, %j] : tensor<100x8xf32>
func.func @main(%t: tensor<?x8xf32> {lamina.dims = [#lamina.size<rows in [1, 100]>]}, %i: tensor<?xi64> {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> tensor<?x8xf32> {
  %0 = arith.constant 0 : index
  %n = tensor.dim %i, %0 : tensor<?xi64>
  %r = loop.generic (d0, d1)[s0 = %n] in [s0, 8] reads(%i[d0] : tensor<?xi64>) sources(%t : tensor<?x8xf32>) writes([d0, d1] store : tensor<?x8xf32>) {
  ^bb0(%v: i64, %source: tensor<?x8xf32>):
    %p = arith.index_cast %v : i64 to index
    %j = loop.index 1 : index
    %e = loop.read %source[%p, %j] : tensor<?x8xf32>
    loop.yield %e : f32
  }
  func.return %r : tensor<?x8xf32>
}

// -----

// Updates of padding are masked, and places behind what counts are refused as those behind the bound are.

// CHECK-LABEL: @main
// CHECK:         loop.scatter (d0) in [64] reads({{.*}}) into(%x : tensor<100xf32>) {
// CHECK:           [[OUT:%\S+]] = arith.cmpi sge, %p, {{%\S+}} : index
// CHECK-NEXT:      [[P:%\S+]] = arith.select [[OUT]], {{%\S+}}, %p : index
// CHECK-NEXT:      loop.yield [[P]], {{%\S+}}, {{%\S+}} : index, f32, i1
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<m in [1, 100]>]}, %i: tensor<?xi64> {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> tensor<?xf32> {
  %0 = arith.constant 0 : index
  %n = tensor.dim %i, %0 : tensor<?xi64>
  %r = loop.scatter (d0)[s0 = %n] in [s0] reads(%i[d0] : tensor<?xi64>) into(%x : tensor<?xf32>) {
  ^bb0(%v: i64, %old: f32):
    %p = arith.index_cast %v : i64 to index
    %one = arith.constant 1.0 : f32
    %sum = arith.addf %old, %one : f32
    loop.yield %p, %sum : index, f32
  }
  func.return %r : tensor<?xf32>
}

// -----

// A scan has its padding behind what counts; a sort has there what goes last.

// CHECK-LABEL: @main
// CHECK:         loop.scan (d0, d1) in [4, 64] along 1 reads(%x[d0, d1] : tensor<4x64xf32>) carries(0.000000e+00 : f32) gives(tensor<4x64xf32>)
// CHECK:         [[NAN:%\S+]] = arith.constant 0x7fc00000 : f32
// CHECK-NEXT:    arith.select {{%\S+}}, {{%\S+}}, [[NAN]] : f32
// CHECK:         loop.sort {{%\S+}} : tensor<4x64xf32> -> tensor<4x64xf32>
// CHECK:         arith.constant 0xff800000 : f32
// CHECK:         loop.sort {{%\S+}} {descending, taken = array<i64: 0, 1>} : tensor<4x64xf32> -> tensor<4x1xf32>
func.func @main(%x: tensor<4x?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>]}) -> (tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x1xf32>) {
  %1 = arith.constant 1 : index
  %n = tensor.dim %x, %1 : tensor<4x?xf32>
  %r = loop.scan (d0, d1)[s0 = %n] in [4, s0] along 1 reads(%x[d0, d1] : tensor<4x?xf32>) carries(0.0 : f32) gives(tensor<4x?xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  %s, %i, %w, %j = loop.sort %x : tensor<4x?xf32> -> tensor<4x?xf32>, tensor<4x?xi64>, tensor<4x?xf32>, tensor<4x?xi64>
  %t, %k, %u, %l = loop.sort %x {descending, taken = array<i64: 0, 1>} : tensor<4x?xf32> -> tensor<4x1xf32>, tensor<4x1xi64>, tensor<4x?xf32>, tensor<4x?xi64>
  func.return %r, %s, %t : tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x1xf32>
}

// -----

// Reshapes are free where elements stay where they are; others move them.

// CHECK-LABEL: @main
// CHECK:         [[A:%\S+]] = loop.reshape %x : tensor<8x4x6xf32> -> tensor<32x6xf32>
// CHECK:         loop.generic (d0) in [16] {{.*}} sources(%y : tensor<8x2xf32>) writes([d0] store : tensor<16xf32>) attributes {lamina.op = "reshape"}
// CHECK:           arith.remsi
// CHECK:           arith.divsi
// CHECK:           loop.read {{%\S+}}[{{%\S+}} below {{%\S+}}, {{%\S+}} below {{%\S+}}] : tensor<8x2xf32>
func.func @main(%x: tensor<?x4x6xf32> {lamina.dims = [#lamina.size<n in [0, 8]>]}, %y: tensor<?x?xf32> {lamina.dims = [#lamina.size<n>, #lamina.size<m in [0, 2]>]})
    -> (tensor<?x6xf32>, tensor<?xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %n = tensor.dim %x, %0 : tensor<?x4x6xf32>
  %m = tensor.dim %y, %1 : tensor<?x?xf32>
  %rows = arith.muli %n, %4 : index
  %all = arith.muli %n, %m : index
  %a = loop.reshape %x[%rows] : tensor<?x4x6xf32> -> tensor<?x6xf32>
  %b = loop.reshape %y[%all] : tensor<?x?xf32> -> tensor<?xf32>
  func.return %a, %b : tensor<?x6xf32>, tensor<?xf32>
}

// -----

// Segments of padding are empty but for the first, which takes what no segment has. Offsets behind what counts are refused.

// CHECK-LABEL: @main
// CHECK:         [[MORE:%\S+]] = loop.generic () in [] reads({{%\S+}}[] : tensor<i64>)
// CHECK:         loop.generic (d0) in [9] reads([[MORE]][] : tensor<i64>) writes([d0] store : tensor<9xi1>)
// CHECK:         [[O:%\S+]] = loop.generic (d0) in [9] reads(%o[d0] : tensor<9xi64>, %size_1[] : tensor<i64>, {{%\S+}}[d0] : tensor<9xi1>) writes([d0] store : tensor<9xi64>) attributes {lamina.op = "offsets"} {
// CHECK:           arith.cmpi sgt
// CHECK-NEXT:      [[REFUSED:%\S+]] = arith.constant 65 : i64
// CHECK:         loop.segment_reduce (d0, d1) in [8, 64] offsets([[O]] : tensor<9xi64>) reads(%x[d1] : tensor<64xf32>)
func.func @main(%o: tensor<?xi64> {lamina.dims = [#lamina.size<s + 1>]}, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<s in [0, 8]>]}) -> tensor<?xf32> {
  %0 = arith.constant 0 : index
  %n = tensor.dim %x, %0 : tensor<?xf32>
  %s = tensor.dim %y, %0 : tensor<?xf32>
  %r = loop.segment_reduce (d0, d1)[s0 = %s, s1 = %n] in [s0, s1] offsets(%o : tensor<?xi64>) reads(%x[d1] : tensor<?xf32>) carries(0.0 : f32) gives(tensor<?xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next : f32
  }
  func.return %r : tensor<?xf32>
}

// -----

// One element of each row by an open number: it is looked up in sorted rows.

// CHECK-LABEL: @main
// CHECK:         [[V:%\S+]], {{%\S+}}, {{%\S+}}, {{%\S+}} = loop.sort {{%\S+}} : tensor<4x64xf32> -> tensor<4x64xf32>
// CHECK:         loop.generic (d0, d1) in [4, 1] {{.*}} sources([[V]] : tensor<4x64xf32>) writes([d0, d1] store : tensor<4x1xf32>) attributes {lamina.op = "place"} {
func.func @main(%x: tensor<4x?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>]}) -> tensor<4x1xf32> {
  %1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  %n = tensor.dim %x, %1 : tensor<4x?xf32>
  %last = arith.addi %n, %m1 : index
  %v, %i, %w, %j = loop.sort %x[%last] {taken = array<i64: -1, 1>} : tensor<4x?xf32> -> tensor<4x1xf32>, tensor<4x1xi64>, tensor<4x?xf32>, tensor<4x?xi64>
  func.return %v : tensor<4x1xf32>
}

// -----

// Regions get the sizes that they need as tensors, and become functions, as those of known sizes are.

// CHECK-LABEL: @main
// CHECK:         control.cond if(%p) with(%x, %size) : (tensor<i1>, tensor<64xf32>, tensor<i64>) -> tensor<64xf32> then {
// CHECK:         func.func private @cond0_then({{%\S+}}: tensor<64xf32>, [[N:%\S+]]: tensor<i64>) -> tensor<64xf32> attributes {lamina.region} {
// CHECK:           [[M:%\S+]] = loop.generic (d0) in [64] reads([[N]][] : tensor<i64>) writes([d0] store : tensor<64xi1>)
// CHECK:           loop.generic (d0) in [64] reads({{%\S+}}[d0] : tensor<64xf32>, [[M]][d0] : tensor<64xi1>) writes([] add : tensor<f32>) {
func.func @main(%p: tensor<i1>, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> tensor<?xf32> {
  %0 = arith.constant 0 : index
  %n = tensor.dim %x, %0 : tensor<?xf32>
  %r = control.cond if(%p) with(%x, %n) : (tensor<i1>, tensor<?xf32>, index) -> tensor<?xf32> then {
  ^bb0(%a: tensor<?xf32>, %m: index):
    %s = loop.generic (d0)[s0 = %m] in [s0] reads(%a[d0] : tensor<?xf32>) writes([] add : tensor<f32>) {
    ^bb1(%v: f32):
      loop.yield %v : f32
    }
    %d = loop.generic (d0)[s0 = %m] in [s0] reads(%a[d0] : tensor<?xf32>, %s[] : tensor<f32>) writes([d0] store : tensor<?xf32>) {
    ^bb1(%v: f32, %w: f32):
      %q = arith.divf %v, %w : f32
      loop.yield %q : f32
    }
    control.yield %d : tensor<?xf32>
  } else {
  ^bb0(%b: tensor<?xf32>, %k: index):
    control.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}

// -----

// Programs of known sizes stay as they are, and so do nests that have none.

// CHECK-LABEL: func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
// CHECK-NEXT:    loop.generic (d0) in [4] reads(%x[d0] : tensor<4xf32>) writes([] add : tensor<f32>) {
// CHECK-NEXT:    ^bb0([[V:%\S+]]: f32):
// CHECK-NEXT:      loop.yield [[V]] : f32
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %r = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xf32>) writes([] add : tensor<f32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<f32>
}

// -----

// expected-error@+1 {{argument 0: the size n has no upper bound}}
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  func.return %x : tensor<?xf32>
}

// -----

func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> tensor<?xf32> {
  %0 = arith.constant 0 : index
  %n = tensor.dim %x, %0 : tensor<?xf32>
  // expected-error@+1 {{loop.extern: sizes of arguments are not bounded through it}}
  %r = loop.extern "mine.f" {} (%x : tensor<?xf32>) sizes[%n] : tensor<?xf32>
  func.return %r : tensor<?xf32>
}

// -----

func.func @main(%x: tensor<4x?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>]}) -> tensor<?xf32> {
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %n = tensor.dim %x, %1 : tensor<4x?xf32>
  %all = arith.muli %n, %4 : index
  // expected-error@+1 {{loop.generic: whether its accesses stay inside is open: whether steps by a size reach each place once}}
  %r = loop.generic (d0, d1)[s0 = %n] in [4, s0] reads(%x[d0, d1] : tensor<4x?xf32>) writes([(d0 * s0) + d1] store : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<?xf32>
}

// -----

func.func @main(%h: tensor<f32>, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>]}) -> tensor<f32> {
  // expected-error@+1 {{control.scan: it hands values on over n steps}}
  %r = control.scan from(%h) over(%x) : (tensor<f32>, tensor<?xf32>) -> tensor<f32> do {
  ^bb0(%sum: tensor<f32>, %e: tensor<f32>):
    %s = loop.generic () in [] reads(%sum[] : tensor<f32>, %e[] : tensor<f32>) writes([] store : tensor<f32>) {
    ^bb1(%v: f32, %w: f32):
      %q = arith.addf %v, %w : f32
      loop.yield %q : f32
    }
    control.yield %s : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// -----

func.func @main(%t: tensor<4xf32>, %i: tensor<?xi64> {lamina.dims = [#lamina.size<n in [1, 64]>]}) -> tensor<?xf32> {
  // expected-error@+1 {{control.scan: loop.read runs in each of n steps, and may fail}}
  %r = control.scan over(%i) with(%t) : (tensor<?xi64>, tensor<4xf32>) -> tensor<?xf32> do {
  ^bb0(%e: tensor<i64>, %a: tensor<4xf32>):
    %s = loop.generic () in [] reads(%e[] : tensor<i64>) sources(%a : tensor<4xf32>) writes([] store : tensor<f32>) {
    ^bb1(%v: i64, %source: tensor<4xf32>):
      %p = arith.index_cast %v : i64 to index
      %q = loop.read %source[%p] : tensor<4xf32>
      loop.yield %q : f32
    }
    control.yield %s : tensor<f32>
  }
  func.return %r : tensor<?xf32>
}
