// RUN: not lamina-run %s --check 2>&1 | filecheck %s
// The last two results of a sort are working memory.

// CHECK: check failed: result 1 depends on memory that nothing has written: [0, 0] is 0.0 where bytes of new memory are 0
func.func @main(%x: tensor<3x90xf32>) -> (tensor<3x90xf32>, tensor<3x90xf32>) {
  %v, %i, %w, %j = loop.sort %x : tensor<3x90xf32> -> tensor<3x90xf32>, tensor<3x90xi64>, tensor<3x90xf32>, tensor<3x90xi64>
  func.return %v, %w : tensor<3x90xf32>, tensor<3x90xf32>
}
