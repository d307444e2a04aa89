// Scores of three classes for the mean of four words' features; classifier.c calls it.
func.func @main(%words: tensor<4xi64> {lamina.name = "words"},
                %count: tensor<3xf32> {lamina.name = "count", lamina.kind = "buffer"})
    -> (tensor<3xf32> {lamina.name = "scores"}) {
  %table = arith.constant dense<[[0.1, 0.2], [0.3, -0.4], [0.5, 0.6], [-0.7, 0.8], [0.9, 1.0]]> : tensor<5x2xf32>
  %weight = arith.constant dense<[[1.0, -2.0, 3.0], [0.5, 1.5, -0.5]]> : tensor<2x3xf32>
  %features = aten.embedding.default(%table, %words) : (tensor<5x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %mean = aten.mean.dim(%features, dim = [0], keepdim = true) : (tensor<4x2xf32>) -> tensor<1x2xf32>
  %rows = aten.mm.default(%mean, %weight) : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  %scores = aten.squeeze.dim(%rows, dim = 0) : (tensor<1x3xf32>) -> tensor<3xf32>
  %seen = aten.add_.Tensor(%count, %scores) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %scores : tensor<3xf32>
}
