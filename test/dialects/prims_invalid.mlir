// RUN: %invalid

// Broadcasting and promotion are ops of their own at this layer.
// CHECK: shapes must be equal, got tensor<2x3xf32> and tensor<3xf32>
func.func @shapes(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  %0 = prims.add(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
// CHECK: element types must be equal, got tensor<2xf32> and tensor<2xf64>
func.func @element_types(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  %0 = prims.add(%x, %y) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf64>
  func.return
}
// -----
// CHECK: argument 'dtype' must be an element type, not "f32"
func.func @dtype(%x: tensor<2xf32>) {
  %0 = "prims.convert_element_type"(%x) <{dtype = "f32"}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: contracted dims 1 of tensor<2x3xf32> and 0 of tensor<4x5xf32> differ
func.func @contracted_sizes(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  %0 = prims.contract(%a, %b, a_batch = [], b_batch = [], a_contract = [1], b_contract = [0]) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  func.return
}
// -----
// CHECK: unknown combiner 'median'
func.func @combiner(%x: tensor<1x1x4x4xf32>) {
  %0 = prims.reduce_window(%x, combiner = "median", window = [2, 2], stride = [2, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false) : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  func.return
}
// -----
// CHECK: unknown kind 'dct'; c2c, r2c, c2r
func.func @fourier_kind(%a: tensor<8xf32>) {
  %0 = prims.fourier(%a, kind = "dct", size = 8) : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}
// -----
// CHECK: 'c2c' of tensor<8xf32>
func.func @fourier_real(%a: tensor<8xf32>) {
  %0 = prims.fourier(%a, kind = "c2c", size = 8) : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}
// -----
// CHECK: 'r2c' of 7 numbers: rows of them, of an even size unless c2c
func.func @fourier_odd(%a: tensor<7xf32>) {
  %0 = prims.fourier(%a, kind = "r2c", size = 7) : (tensor<7xf32>) -> tensor<4xcomplex<f32>>
  func.return
}
// -----
// CHECK: 'r2c' of 8 numbers has 8 along dim 0, got tensor<6xf32>
func.func @fourier_size(%a: tensor<6xf32>) {
  %0 = prims.fourier(%a, kind = "r2c", size = 8) : (tensor<6xf32>) -> tensor<5xcomplex<f32>>
  func.return
}
// -----
// CHECK: inverse: 'r2c' is not
func.func @fourier_inverse(%a: tensor<8xf32>) {
  %0 = prims.fourier(%a, kind = "r2c", size = 8, inverse = true) : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  func.return
}
