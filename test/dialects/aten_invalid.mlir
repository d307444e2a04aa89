// RUN: %invalid

// CHECK: argument 'alfa'
// CHECK-SAME: its arguments: self, other, alpha
func.func @no_such_argument(%x: tensor<2xf32>) {
  %0 = aten.add.Tensor(%x, %x, alfa = 2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: argument 'other' is missing
func.func @missing(%x: tensor<2xf32>) {
  %0 = aten.add.Tensor(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: argument 'self' is given twice
func.func @twice(%x: tensor<2xf32>) {
  %0 = aten.relu.default(%x, self = %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: aten.relu.default takes 1 arguments
func.func @too_many(%x: tensor<2xf32>) {
  %0 = aten.relu.default(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: argument 'dim' must be an integer, not 1.5
func.func @float_for_integer(%x: tensor<2xf32>) {
  %0 = aten.softmax.int(%x, dim = 1.5) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: argument 'keepdim' must be a boolean, not 1
func.func @integer_for_boolean(%x: tensor<2xf32>) {
  %0 = aten.sum.dim_IntList(%x, [0], 1) : (tensor<2xf32>) -> tensor<1xf32>
  func.return
}
// -----
// CHECK: argument 'stride' must be a list of 2 integers, not [1, 1, 1]
func.func @list_length(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %0 = aten.conv2d.default(%x, %w, stride = [1, 1, 1]) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}
// -----
// CHECK: argument 'other' must be a tensor, not 2
func.func @number_for_tensor(%x: tensor<2xf32>) {
  %0 = aten.add.Tensor(%x, 2) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: argument 'self' must be a tensor, not i64
func.func @operand_kind(%x: i64) {
  %0 = aten.relu.default(%x) : (i64) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: argument 'size' must be a number of type i64 or index, not f64
func.func @size_kind(%x: tensor<6xf32>, %n: f64) {
  %0 = aten.view.default(%x, [%n]) : (tensor<6xf32>, f64) -> tensor<?xf32>
  func.return
}
// -----
// CHECK: argument 'self' has element type f80
func.func @element_type(%x: tensor<2xf80>) {
  %0 = aten.relu.default(%x) : (tensor<2xf80>) -> tensor<2xf80>
  func.return
}
// -----
// CHECK: 2 operands, but 1 operand types
func.func @operand_types(%x: tensor<2xf32>) {
  %0 = aten.add.Tensor(%x, %x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: operand is used with type tensor<3xf32>, but has been previously used or defined with type tensor<2xf32>
func.func @operand_type(%x: tensor<2xf32>) {
  %0 = aten.relu.default(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return
}
// -----
// CHECK: expected ',' or ')' after an argument
func.func @punctuation(%x: tensor<2xf32>) {
  %0 = aten.relu.default(%x : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: the result must be tensor<2xf32>, not tensor<3xf32>
func.func @result_shape(%x: tensor<2xf32>) {
  %0 = aten.relu.default(%x) : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}
// -----
// CHECK: the result must be tensor<2xf32>, not tensor<2xi64>
func.func @result_element_type(%x: tensor<2xi64>) {
  %0 = aten.exp.default(%x) : (tensor<2xi64>) -> tensor<2xi64>
  func.return
}
// -----
// CHECK: has 2 results, not 1
func.func @result_count(%x: tensor<2x3xf32>) {
  %0 = aten.max.dim(%x, dim = 0) : (tensor<2x3xf32>) -> tensor<3xf32>
  func.return
}
// -----
// CHECK: result 0 must be a tensor, not f32
func.func @result_kind(%x: tensor<2xf32>) {
  %0 = aten.relu.default(%x) : (tensor<2xf32>) -> f32
  func.return
}
// -----
// CHECK: argument 'other' must be a tensor, not None
func.func @absent(%x: tensor<2xf32>) {
  %0 = aten.add.Tensor(%x, none) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// What the custom form cannot say, the generic one can.
// CHECK: argument 'dim' must be an integer, not 1 : i32
func.func @generic_property(%x: tensor<2xf32>) {
  %0 = "aten.softmax.int"(%x) <{dim = 1 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: aten.softmax.int has no argument 'dimension'; its arguments: self, dim, dtype
func.func @generic_name(%x: tensor<2xf32>) {
  %0 = "aten.softmax.int"(%x) <{dim = 0, dimension = 1}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: argument 'dim' is missing
func.func @generic_missing(%x: tensor<2xf32>) {
  %0 = "aten.softmax.int"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: takes at least 2 operands, not 1
func.func @generic_operands(%x: tensor<2xf32>) {
  %0 = "aten.add.Tensor"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: operandSegmentSizes must give one size for each of self, start, end, step
func.func @generic_segments(%x: tensor<2xf32>) {
  %0 = "aten.slice.Tensor"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
// CHECK: argument 'size' has 1 dynamic entries but 0 operands
func.func @generic_dynamic(%x: tensor<2xf32>) {
  %0 = "aten.view.default"(%x) <{size = array<i64: -9223372036854775808>}> : (tensor<2xf32>) -> tensor<?xf32>
  func.return
}
// -----
// CHECK: argument 'other' must be a number of type i64, index, f64 or i1, not i7
func.func @width(%x: tensor<4xf32>, %a: i7) {
  %0 = aten.mul.Scalar(%x, %a) : (tensor<4xf32>, i7) -> tensor<4xf32>
  func.return
}
// -----
// CHECK: 'self' must have rank 4 or 5, got tensor<8xf32>
func.func @images(%x: tensor<8xf32>) {
  %0 = aten._adaptive_avg_pool3d_backward.default(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return
}
// -----
// CHECK: is no gradient of tensor<2x3x8x8xf32>'s images
func.func @channels(%x: tensor<2x3x8x8xf32>, %g: tensor<2x4x2x2xf32>) {
  %0 = aten._adaptive_avg_pool2d_backward.default(%g, %x) : (tensor<2x4x2x2xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  func.return
}
