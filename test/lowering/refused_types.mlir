// RUN: lamina-opt %s --split-input-file --to loop --verify-diagnostics | filecheck %s
// Dtypes that torch refuses are refused with the op as the program has it, its types and its line,
// whatever it is lowered to.

// CHECK: aten.frac.default: does not take operands of these types: core_aten.sub.Tensor: is not defined for bool
// CHECK: operand types: tensor<3xi1>
// CHECK: at: {{.*}}:10:3
// CHECK: nearest supported: operands of f32
func.func @main(%x: tensor<3xi1>) -> tensor<3xi1> {
  %0 = aten.frac.default(%x) : (tensor<3xi1>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}

// -----

// CHECK: aten.__rshift__.Scalar: does not take f32
// CHECK: operand types: tensor<3xf32>
// CHECK: nearest supported: integers
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.__rshift__.Scalar(%x, 1) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// CHECK: aten.hypot.default: does not take i64
// CHECK: nearest supported: floats
func.func @main(%x: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.hypot.default(%x, %x) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}

// -----

// CHECK: aten.equal.default: compares tensors of two dtypes
// CHECK: nearest supported: tensors of one dtype
func.func @main(%x: tensor<3xi64>, %y: tensor<3xf32>) -> i1 {
  %0 = aten.equal.default(%x, %y) : (tensor<3xi64>, tensor<3xf32>) -> i1
  func.return %0 : i1
}
