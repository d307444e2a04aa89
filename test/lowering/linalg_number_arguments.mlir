// RUN: lamina-opt %s -p linalg-number-arguments | filecheck %s

// Numbers that a public function takes or gives are tensors of rank 0; positions are i64.
func.func @main(%x: tensor<4xf32>, %s: f32, %i: index) -> (f32, tensor<4xf32>) {
  %0 = tensor.extract %x[%i] : tensor<4xf32>
  %1 = arith.mulf %0, %s : f32
  return %1, %x : f32, tensor<4xf32>
}
// CHECK-LABEL: func.func @main(%x: tensor<4xf32>, %s: tensor<f32>, %i: tensor<i64>) -> (tensor<f32>, tensor<4xf32>)
// CHECK-DAG: unrealized_conversion_cast %i : tensor<i64> to index
// CHECK-DAG: unrealized_conversion_cast %s : tensor<f32> to f32
// CHECK: %[[R:.*]] = builtin.unrealized_conversion_cast %{{.*}} : f32 to tensor<f32>
// CHECK: func.return %[[R]], %x

// What a private function takes stays: it is inlined.
func.func private @inner(%s: f32) -> f32 {
  return %s : f32
}
// CHECK: func.func private @inner(%s: f32) -> f32
