// RUN: %invalid

// CHECK: Operation stablehlo.tanhh is not registered; nearest: stablehlo.tanh
func.func @unknown(%x: tensor<2xf32>) {
  %0 = stablehlo.tanhh %x : tensor<2xf32>
  func.return
}
// -----
// CHECK: stablehlo.transpose has no 'permutation'; what it has: dims
func.func @clause(%x: tensor<2x3xf32>) {
  %0 = stablehlo.transpose %x, permutation = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return
}
// -----
// CHECK: operands of types tensor<2xf32> and tensor<2xf64>
func.func @types(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  %0 = stablehlo.add %x, %y : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: stablehlo.tanh has 1 operands, not 2
func.func @operands(%x: tensor<2xf32>) {
  %0 = "stablehlo.tanh"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: stablehlo.gather has the generic form only
func.func @generic_only(%x: tensor<2xf32>) {
  %0 = stablehlo.gather %x : tensor<2xf32>
  func.return
}
// -----
// CHECK: 0x1FF800000 has more bits than f32
func.func @bits() {
  %0 = stablehlo.constant dense<0x1FF800000> : tensor<f32>
  func.return
}
// -----
// CHECK: a window has no 'steps': stride, pad, lhs_dilate, rhs_dilate, reverse
func.func @window(%x: tensor<1x1x2xf32>) {
  %0 = stablehlo.convolution(%x, %x) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {steps = [1]} : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x1xf32>
  func.return
}
// -----
// CHECK: Operation vhlo.add_v1 is not registered
func.func @version(%x: tensor<2xf32>) {
  %0 = "vhlo.add_v1"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: stablehlo.reduce has regions of one block, not 2
func.func @blocks(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce"(%x, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  ^bb1:
  }) {dimensions = array<i64: 1>} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
