// RUN: lamina-opt --split-input-file %s -p inline-calls,convert-stablehlo-to-prims,verify-prims --verify-diagnostics | filecheck %s

// CHECK-LABEL: @of_equal_meaning
// CHECK-NEXT: [[S:%\S+]] = prims.sin(%x)
// CHECK-NEXT: [[L:%\S+]] = prims.sigmoid([[S]])
// CHECK-NEXT: [[M:%\S+]] = prims.sub([[L]], %x)
// CHECK-NEXT: prims.fmod
func.func @of_equal_meaning(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.sine %x : tensor<2xf32>
  %1 = stablehlo.logistic %0 : tensor<2xf32>
  %2 = stablehlo.subtract %1, %x : tensor<2xf32>
  %3 = stablehlo.remainder %2, %x : tensor<2xf32>
  func.return %3 : tensor<2xf32>
}
// -----
// An integer divided by zero is -1, which no primitive says.
// CHECK-LABEL: @integer_division
// CHECK: loop.generic
// CHECK: arith.constant -1
// CHECK: arith.divsi
func.func @integer_division(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.divide %x, %x : tensor<2xi32>
  func.return %0 : tensor<2xi32>
}
// -----
// CHECK-LABEL: @sums_of_bools
// CHECK-NEXT: prims.bitwise_or(%x, %x)
// CHECK-NEXT: prims.bitwise_xor
func.func @sums_of_bools(%x: tensor<2xi1>) -> tensor<2xi1> {
  %0 = stablehlo.add %x, %x : tensor<2xi1>
  %1 = stablehlo.subtract %0, %x : tensor<2xi1>
  func.return %1 : tensor<2xi1>
}
// -----
// A start that the combiner ignores is left out; another joins the result.
// CHECK-LABEL: @starts
// CHECK: [[SUM:%\S+]] = prims.sum(%x, dims = [1])
// CHECK-NOT: prims.add
// CHECK: [[MOST:%\S+]] = prims.amax(%x, dims = [1])
// CHECK: prims.maximum([[MOST]]
func.func @starts(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
// -----
// A window that grows to the whole is a running sum.
// CHECK-LABEL: @running
// CHECK: prims.scan(%x, combiner = "add", dim = 0)
func.func @running(%x: tensor<5xf32>) -> tensor<5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[4, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 5>, window_strides = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
// -----
// What a region sees becomes an argument of it; literals stay where they are.
// CHECK-LABEL: @branches
// CHECK: control.cond if(%{{.*}}) with(%x, %n)
// CHECK: control.yield
// CHECK: arith.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: control.yield
func.func @branches(%x: tensor<2xf32>, %n: tensor<i32>) -> tensor<2xf32> {
  %0 = "stablehlo.case"(%n) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    %1 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %2 = stablehlo.add %x, %1 : tensor<2xf32>
    stablehlo.return %2 : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
// CHECK-LABEL: @composite
// CHECK-NEXT: prims.mul(%x, %x)
// CHECK-NOT: @square
func.func @composite(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.composite "mine.square" %x {decomposition = @square} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func private @square(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
// Places are moved inside before they are read.
// CHECK-LABEL: @dynamic_slice
// CHECK: loop.generic
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: loop.read
func.func @dynamic_slice(%x: tensor<5xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
// CHECK: stablehlo.custom_call
// CHECK-SAME: calls @mine, which is not known here
func.func @call(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @mine(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
// CHECK: stablehlo.replica_id
// CHECK-SAME: asks which device it runs on
func.func @device() -> tensor<ui32> {
  %0 = stablehlo.replica_id : tensor<ui32>
  func.return %0 : tensor<ui32>
}
// -----
// CHECK: stablehlo.dot_general: its attributes and types do not fit together: dimensions [5] of [2, 3]
func.func @dims(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [5] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
// -----
// CHECK: lowering gives tensor<3x2xf32> where the program says tensor<2x3xf32>
func.func @result(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// -----
// CHECK: stablehlo.sort
// CHECK-SAME: a comparator that is no order by keys
func.func @comparator(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
