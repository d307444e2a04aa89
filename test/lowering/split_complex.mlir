// RUN: lamina-opt %s -p split-complex --split-input-file | filecheck %s

// Parts are read once, at the edge; between, all is real.

// CHECK-LABEL: @main
// CHECK-DAG:     [[XR:%\S+]] = prims.real(%x)
// CHECK-DAG:     [[XI:%\S+]] = prims.imag(%x)
// CHECK-DAG:     [[YR:%\S+]] = prims.real(%y)
// CHECK-DAG:     [[YI:%\S+]] = prims.imag(%y)
// CHECK:         prims.mul([[XR]], [[YR]])
// CHECK:         [[R:%\S+]] = prims.sub
// CHECK:         [[I:%\S+]] = prims.add
// CHECK-NOT:     prims.complex
// CHECK:         [[TR:%\S+]] = prims.transpose([[R]], permutation = [1, 0]) : (tensor<2x3xf32>)
// CHECK-NEXT:    [[TI:%\S+]] = prims.transpose([[I]], permutation = [1, 0]) : (tensor<2x3xf32>)
// CHECK-NEXT:    [[Z:%\S+]] = prims.complex([[TR]], [[TI]])
// CHECK-NEXT:    func.return [[Z]]
func.func @main(%x: tensor<2x3xcomplex<f32>>, %y: tensor<2x3xcomplex<f32>>) -> tensor<3x2xcomplex<f32>> {
  %m = prims.mul(%x, %y) : (tensor<2x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
  %t = prims.transpose(%m, permutation = [1, 0]) : (tensor<2x3xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>
  func.return %t : tensor<3x2xcomplex<f32>>
}

// -----

// Numbers have parts too, and real results are real.

// CHECK-LABEL: @numbers
// CHECK:         prims.full(shape = [4], fill_value = 1.0, dtype = f64
// CHECK:         prims.full(shape = [4], fill_value = 2.0, dtype = f64
// CHECK:         [[S:%\S+]] = prims.hypot
// CHECK-NEXT:    func.return [[S]] : tensor<4xf64>
func.func @numbers(%x: tensor<4xcomplex<f64>>) -> tensor<4xf64> {
  %c = prims.full(shape = [4], fill_value = complex(1.0, 2.0), dtype = complex<f64>, device = "cpu", requires_grad = false) : () -> tensor<4xcomplex<f64>>
  %a = prims.add(%x, %c) : (tensor<4xcomplex<f64>>, tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>
  %s = prims.abs(%a) : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  func.return %s : tensor<4xf64>
}

// -----

// Real programs stay as they are, and so do complex tensors that are only handed on.

// CHECK-LABEL: @others
// CHECK-NEXT:    prims.exp
// CHECK-NEXT:    prims.extern
// CHECK-NEXT:    func.return
func.func @others(%x: tensor<4xf32>, %z: tensor<4xcomplex<f32>>) -> (tensor<4xf32>, tensor<4xcomplex<f32>>) {
  %e = prims.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %f = prims.extern([%z], kernel = "fft.c2c") : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  func.return %e, %f : tensor<4xf32>, tensor<4xcomplex<f32>>
}
