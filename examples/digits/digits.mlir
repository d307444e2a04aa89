builtin.module {
  func.func @main(%p_conv1_weight: tensor<16x1x3x3xf32> {lamina.name = "conv1.weight", lamina.kind = "parameter"}, %p_conv1_bias: tensor<16xf32> {lamina.name = "conv1.bias", lamina.kind = "parameter"}, %p_conv2_weight: tensor<32x16x3x3xf32> {lamina.name = "conv2.weight", lamina.kind = "parameter"}, %p_conv2_bias: tensor<32xf32> {lamina.name = "conv2.bias", lamina.kind = "parameter"}, %p_classify_weight: tensor<10x512xf32> {lamina.name = "classify.weight", lamina.kind = "parameter"}, %p_classify_bias: tensor<10xf32> {lamina.name = "classify.bias", lamina.kind = "parameter"}, %images: tensor<50x1x8x8xf32> {lamina.name = "images", lamina.kind = "input"}) -> (tensor<50x10xf32> {lamina.kind = "output"}) {
    %mul = aten.mul.Scalar(%images, other = 0.0625) : (tensor<50x1x8x8xf32>) -> tensor<50x1x8x8xf32>
    %conv2d = aten.conv2d.default(%mul, %p_conv1_weight, %p_conv1_bias, padding = [1, 1]) : (tensor<50x1x8x8xf32>, tensor<16x1x3x3xf32>, tensor<16xf32>) -> tensor<50x16x8x8xf32>
    %relu = aten.relu.default(%conv2d) : (tensor<50x16x8x8xf32>) -> tensor<50x16x8x8xf32>
    %conv2d_1 = aten.conv2d.default(%relu, %p_conv2_weight, %p_conv2_bias, padding = [1, 1]) : (tensor<50x16x8x8xf32>, tensor<32x16x3x3xf32>, tensor<32xf32>) -> tensor<50x32x8x8xf32>
    %relu_1 = aten.relu.default(%conv2d_1) : (tensor<50x32x8x8xf32>) -> tensor<50x32x8x8xf32>
    %max_pool2d = aten.max_pool2d.default(%relu_1, kernel_size = [2, 2]) : (tensor<50x32x8x8xf32>) -> tensor<50x32x4x4xf32>
    %flatten = aten.flatten.using_ints(%max_pool2d, start_dim = 1) : (tensor<50x32x4x4xf32>) -> tensor<50x512xf32>
    %linear = aten.linear.default(%flatten, %p_classify_weight, %p_classify_bias) : (tensor<50x512xf32>, tensor<10x512xf32>, tensor<10xf32>) -> tensor<50x10xf32>
    func.return %linear : tensor<50x10xf32>
  }
}