// RUN: not lamina-ops --check %s | filecheck %s
// CHECK: there is no function @main to compile
func.func @foo(%x: tensor<3xf32>) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
func.func @bar(%x: tensor<3xf32>) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
