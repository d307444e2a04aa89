// RUN: not lamina-ops --check %s | filecheck %s
// RUN: not lamina-run %s 2>&1 | filecheck %s --check-prefix COMPILE
// Calls of kernels that nobody registered are all listed; compiling names the first with its line.

// CHECK:      prims.extern: no extern kernel is registered as 'mine.nope'
// CHECK-NEXT:   operand types: tensor<3x3xf32>
// CHECK-NEXT:   at: {{.*}}check_kernels.mlir:[[# @LINE + 9]]:3
// CHECK-NEXT: prims.extern: no extern kernel is registered as 'linalg.qrr'
// CHECK-NEXT:   operand types: tensor<3x3xf32>
// CHECK-NEXT:   at: {{.*}}check_kernels.mlir:[[# @LINE + 7]]:3
// CHECK-NEXT:   nearest supported: linalg.qr
// COMPILE:      loop.extern: no extern kernel is registered as 'mine.nope'
// COMPILE-NEXT:   operand types: tensor<3x3xf32>
// COMPILE-NEXT:   at: {{.*}}check_kernels.mlir:[[# @LINE + 2]]:3
func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %x = prims.extern([%a], "mine.nope", "{}") : (tensor<3x3xf32>) -> (tensor<3x3xf32>)
  %y = prims.extern([%x], "linalg.qrr", "{}") : (tensor<3x3xf32>) -> (tensor<3x3xf32>)
  func.return %y : tensor<3x3xf32>
}
