// Bias, gelu, layer norm: what follows a linear layer in a transformer.
func.func @main(%x: tensor<128x768xf32> {lamina.name = "x"},
                %bias: tensor<768xf32> {lamina.name = "bias"}) -> tensor<128x768xf32> {
  %0 = aten.add.Tensor(%x, %bias) : (tensor<128x768xf32>, tensor<768xf32>) -> tensor<128x768xf32>
  %1 = aten.gelu.default(%0) : (tensor<128x768xf32>) -> tensor<128x768xf32>
  %2 = aten.layer_norm.default(%1, normalized_shape = [768]) : (tensor<128x768xf32>) -> tensor<128x768xf32>
  func.return %2 : tensor<128x768xf32>
}
