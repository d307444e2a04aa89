func.func @main(%x: tensor<64x128xf32>, %y: tensor<128xf32>) -> tensor<64x128xf32> {
  %0 = aten.add.Tensor(%x, %y) : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  %1 = aten.tanh.default(%0) {lamina.fuse = "never"} : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %2 = aten.mul.Tensor(%1, %x) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  func.return %2 : tensor<64x128xf32>
}
