// RUN: lamina-opt %s --split-input-file -p number-arguments | filecheck %s

// A tensor of rank 0 stands for a number, and is read as a number of ATen's; private functions,
// which only calls reach, are left alone.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32>, %a: tensor<f32>, %n: tensor<i64>)
// CHECK-DAG:     aten._to_copy.default(%a, dtype = f64) : (tensor<f32>) -> tensor<f64>
// CHECK-DAG:     aten.item.default(%n) : (tensor<i64>) -> i64
// CHECK:         aten.mul.Scalar({{.*}} : (tensor<4xf32>, f64) -> tensor<4xf32>
// CHECK-LABEL: func.func private @inner(%a: f64)
func.func @main(%x: tensor<4xf32>, %a: f32, %n: i64) -> tensor<4xf32> {
  %0 = aten.mul.Scalar(%x, %a) : (tensor<4xf32>, f32) -> tensor<4xf32>
  %1 = aten.add.Scalar(%0, %n) : (tensor<4xf32>, i64) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @inner(%a: f64) {
  func.return
}

// -----
// A size stays until it is bound or bounded.
// CHECK:         func.func @main(%n: i64 {lamina.dims = [#lamina.size<n>]}, %{{\S+}}: tensor<f32>)
func.func @main(%n: i64 {lamina.dims = [#lamina.size<n>]}, %a: f32) -> tensor<?xf32> {
  %z = aten.full.default([%n], %a) : (i64, f32) -> tensor<?xf32>
  func.return %z : tensor<?xf32>
}
