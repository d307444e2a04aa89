// RUN: lamina-opt %s --split-input-file --verify-diagnostics -p choose-stages | filecheck %s

// A size without a bound: a stage begins where it is used, and the number is a size from there on.

// CHECK-LABEL: @main
// CHECK:         aten.nonzero.default(%x) : (tensor<8xf32>)
// CHECK:         %k = aten.item.default(%n) {lamina.dims = [#lamina.size<u0 in [0, ?]>]}
// CHECK:         aten.zeros.default(size = [%k], dtype = i64) {lamina.begins_stage}
// CHECK:         aten.repeat_interleave.Tensor(%z) {lamina.begins_stage}
// CHECK-NOT:     lamina.begins_stage
func.func @main(%x: tensor<8xf32>, %n: tensor<i64>) -> (tensor<?x1xi64>, tensor<?xi64>) {
  %i = aten.nonzero.default(%x) : (tensor<8xf32>) -> tensor<?x1xi64>
  %k = aten.item.default(%n) : (tensor<i64>) -> i64
  %z = aten.zeros.default([%k], dtype = i64) : (i64) -> tensor<?xi64>
  %r = aten.repeat_interleave.Tensor(%z) : (tensor<?xi64>) -> tensor<?xi64>
  func.return %i, %r : tensor<?x1xi64>, tensor<?xi64>
}

// -----

// A bound that the program states is used: nothing is marked.

// CHECK-LABEL: @main
// CHECK-NOT:     lamina.begins_stage
// CHECK-NOT:     lamina.dims
func.func @main(%n: tensor<i64>) -> tensor<?xf32> {
  %k = aten.item.default(%n) : (tensor<i64>) -> i64
  %most = arith.constant 100 : i64
  %c = arith.cmpi sle, %k, %most : i64
  aten._assert_scalar.default(%c, "too many") : (i1) -> ()
  %z = aten.zeros.default([%k]) : (i64) -> tensor<?xf32>
  func.return %z : tensor<?xf32>
}

// -----

// What the program checks from below is the range of the name. A sum of a number and a constant is
// made of the number where that is no less than 0, and a size itself elsewhere.

// CHECK-LABEL: @main
// CHECK:         aten.item.default(%n) {lamina.dims = [#lamina.size<u0 in [2, ?]>]}
// CHECK:         aten.item.default(%m) : (tensor<i64>) -> i64
// CHECK:         arith.addi %j, %c {lamina.dims = [#lamina.size<u1 in [0, ?]>]}
// CHECK:         aten.zeros.default(size = [%l, %p]) {lamina.begins_stage}
func.func @main(%n: tensor<i64>, %m: tensor<i64>) -> tensor<?x?xf32> {
  %k = aten.item.default(%n) : (tensor<i64>) -> i64
  %two = arith.constant 2 : i64
  %holds = arith.cmpi sge, %k, %two : i64
  aten._assert_scalar.default(%holds, "two at least") : (i1) -> ()
  %j = aten.item.default(%m) : (tensor<i64>) -> i64
  %c = arith.constant 5 : i64
  %l = arith.addi %k, %c : i64
  %p = arith.addi %j, %c : i64
  %z = aten.zeros.default([%l, %p]) : (i64, i64) -> tensor<?x?xf32>
  func.return %z : tensor<?x?xf32>
}

// -----

// An op that takes no padding takes sizes that are known; a mark of the text's own stays.

// CHECK-LABEL: @main
// CHECK:         aten.exp.default({{.*}}) {lamina.begins_stage}
// CHECK:         aten.renorm.default({{.*}} {lamina.begins_stage}
func.func @main(%x: tensor<8xf32>) -> tensor<?x2xf32> {
  %m = aten.gt.Scalar(%x, 0) : (tensor<8xf32>) -> tensor<8xi1>
  %s = aten.masked_select.default(%x, %m) : (tensor<8xf32>, tensor<8xi1>) -> tensor<?xf32>
  %e = aten.exp.default(%s) {lamina.begins_stage} : (tensor<?xf32>) -> tensor<?xf32>
  %t = aten.masked_select.default(%x, %m) : (tensor<8xf32>, tensor<8xi1>) -> tensor<?xf32>
  %u = aten.add.Tensor(%e, %t) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %w = aten.unfold.default(%t, 0, 2, 1) : (tensor<?xf32>) -> tensor<?x2xf32>
  %r = aten.renorm.default(%w, 2, 0, 1) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  func.return %r : tensor<?x2xf32>
}

// -----

// A number that is no size does not become one: the refusal stands where it stood.

// CHECK-LABEL: @main
// CHECK-NOT:     lamina.begins_stage
func.func @main(%x: tensor<8xf32>, %n: tensor<i64>) -> tensor<8xf32> {
  %k = aten.item.default(%n) : (tensor<i64>) -> i64
  %r = aten.roll.default(%x, [%k]) : (tensor<8xf32>, i64) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

// A bound of far more elements than there are to read: a stage of exact size is preferred. What a mask chooses is
// of what is there.

// CHECK-LABEL: @main
// CHECK:         %k = aten.item.default(%n) {lamina.dims = [#lamina.size<u0 in [0, 100000]>]}
// CHECK:         aten.zeros.default(size = [%k, 8]) {lamina.begins_stage}
// CHECK:         aten.masked_select.default(%x, %m) :
func.func @main(%n: tensor<i64>, %x: tensor<100000xf32>) -> (tensor<?x8xf32>, tensor<?xf32>) {
  %k = aten.item.default(%n) : (tensor<i64>) -> i64
  %most = arith.constant 100000 : i64
  %c = arith.cmpi sle, %k, %most : i64
  aten._assert_scalar.default(%c, "too many") : (i1) -> ()
  %z = aten.zeros.default([%k, 8]) : (i64) -> tensor<?x8xf32>
  %m = aten.gt.Scalar(%x, 0) : (tensor<100000xf32>) -> tensor<100000xi1>
  %s = aten.masked_select.default(%x, %m) : (tensor<100000xf32>, tensor<100000xi1>) -> tensor<?xf32>
  func.return %z, %s : tensor<?x8xf32>, tensor<?xf32>
}
