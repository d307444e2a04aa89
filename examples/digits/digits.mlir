builtin.module {
  func.func @main(%p_conv1_weight: tensor<16x1x3x3xf32> {lamina.kind = "parameter", lamina.name = "conv1.weight"}, %p_conv1_bias: tensor<16xf32> {lamina.kind = "parameter", lamina.name = "conv1.bias"}, %p_conv2_weight: tensor<32x16x3x3xf32> {lamina.kind = "parameter", lamina.name = "conv2.weight"}, %p_conv2_bias: tensor<32xf32> {lamina.kind = "parameter", lamina.name = "conv2.bias"}, %p_classify_weight: tensor<10x512xf32> {lamina.kind = "parameter", lamina.name = "classify.weight"}, %p_classify_bias: tensor<10xf32> {lamina.kind = "parameter", lamina.name = "classify.bias"}, %images: tensor<50x1x8x8xf32> {lamina.kind = "input", lamina.name = "images"}) -> (tensor<50x10xf32> {lamina.kind = "output"}) {
    %0 = aten.mul.Scalar(%images, other = 0.0625) : (tensor<50x1x8x8xf32>) -> tensor<50x1x8x8xf32>
    %1 = aten.conv2d.default(%0, %p_conv1_weight, %p_conv1_bias, padding = [1, 1]) : (tensor<50x1x8x8xf32>, tensor<16x1x3x3xf32>, tensor<16xf32>) -> tensor<50x16x8x8xf32>
    %2 = aten.relu.default(%1) : (tensor<50x16x8x8xf32>) -> tensor<50x16x8x8xf32>
    %3 = aten.conv2d.default(%2, %p_conv2_weight, %p_conv2_bias, padding = [1, 1]) : (tensor<50x16x8x8xf32>, tensor<32x16x3x3xf32>, tensor<32xf32>) -> tensor<50x32x8x8xf32>
    %4 = aten.relu.default(%3) : (tensor<50x32x8x8xf32>) -> tensor<50x32x8x8xf32>
    %5 = aten.max_pool2d.default(%4, kernel_size = [2, 2]) : (tensor<50x32x8x8xf32>) -> tensor<50x32x4x4xf32>
    %6 = aten.flatten.using_ints(%5, start_dim = 1) : (tensor<50x32x4x4xf32>) -> tensor<50x512xf32>
    %7 = aten.linear.default(%6, %p_classify_weight, %p_classify_bias) : (tensor<50x512xf32>, tensor<10x512xf32>, tensor<10xf32>) -> tensor<50x10xf32>
    func.return %7 : tensor<50x10xf32>
  }
}
