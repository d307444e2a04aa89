// RUN: not lamina-opt %s -p convert-prims-to-loop 2>&1 | filecheck %s

// CHECK: prims.shift_right_arithmetic: does not take f32
// CHECK-NEXT: operand types: tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: at: {{.*}}:8:3
// CHECK-NEXT: nearest supported: integers
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = prims.shift_right_arithmetic(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
