// RUN: %roundtrip
// RUN: %generic_roundtrip

// What equals the default is left out, and read if it is written.
// CHECK-LABEL: @defaults
func.func @defaults(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // CHECK: aten.add.Tensor(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %0 = aten.add.Tensor(%x, %y, alpha = 1) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: aten.add.Tensor(%x, %y, alpha = 2)
  %1 = aten.add.Tensor(%x, %y, alpha = 2) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // An integer is no float: torch promotes by the kind of a number.
  // CHECK: aten.add.Tensor(%x, %y, alpha = 1.0)
  %2 = aten.add.Tensor(%x, %y, alpha = 1.0) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // Constants may be given by position, and named ones in any order.
  // CHECK: aten.softmax.int(%x, dim = -1) :
  %3 = aten.softmax.int(%x, -1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: aten.sum.dim_IntList(%x, dim = [1], keepdim = true, dtype = f64)
  %4 = aten.sum.dim_IntList(dtype = f64, keepdim = true, dim = [1], self = %x) : (tensor<2x3xf32>) -> tensor<2x1xf64>
  func.return
}

// CHECK-LABEL: @optional_tensors
func.func @optional_tensors(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %n: tensor<3xf32>) {
  // CHECK: aten.convolution.default(%x, %w, %b, stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1)
  %0 = aten.convolution.default(%x, %w, %b, stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  // CHECK: aten.convolution.default(%x, %w, none, stride
  %1 = aten.convolution.default(%x, %w, none, stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  // One number stands for a list of the schema's size.
  // CHECK: aten.conv2d.default(%x, %w, stride = [2, 2])
  %2 = aten.conv2d.default(%x, %w, none, stride = 2, padding = 0) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x3x3xf32>
  // CHECK: aten.group_norm.default(%x, num_groups = 3, bias = %n, eps = 1.0e-06)
  %3 = aten.group_norm.default(%x, 3, none, %n, 1.0e-06) : (tensor<1x3x8x8xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// CHECK-LABEL: @lists
func.func @lists(%x: tensor<4x3xf32>, %i: tensor<5xi64>) {
  // CHECK: aten.cat.default([%x, %x], dim = 1)
  %0 = aten.cat.default([%x, %x], dim = 1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  // CHECK: aten.index.Tensor(%x, [none, %i])
  %1 = aten.index.Tensor(%x, [none, %i]) : (tensor<4x3xf32>, tensor<5xi64>) -> tensor<4x5xf32>
  // CHECK: %{{.*}}, %{{.*}} = aten.split.Tensor(%x, split_size = 2) : (tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %2, %3 = aten.split.Tensor(%x, split_size = 2) : (tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // Result numbers of a tuple.
  // CHECK: aten.mul.Tensor(%{{.*}}, %{{.*}})
  %4:2 = aten.split.Tensor(%x, split_size = 2) : (tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %5 = aten.mul.Tensor(%4#0, %4#1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: aten.max.dim(%x, dim = 1)
  %6, %7 = aten.max.dim(%x, dim = 1) : (tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  func.return
}

// Sizes known only at run time are operands, in lists among constants.
// CHECK-LABEL: @dynamic
func.func @dynamic(%x: tensor<?x6xf32>, %n: i64) {
  // CHECK: aten.sym_size.int(%x, dim = 0) : (tensor<?x6xf32>) -> i64
  %0 = aten.sym_size.int(%x, dim = 0) : (tensor<?x6xf32>) -> i64
  // CHECK: aten.view.default(%x, size = [%{{.*}}, 2, 3]) : (tensor<?x6xf32>, i64) -> tensor<?x2x3xf32>
  %1 = aten.view.default(%x, size = [%0, 2, 3]) : (tensor<?x6xf32>, i64) -> tensor<?x2x3xf32>
  // CHECK: aten.slice.Tensor(%x, start = %n, end = 4) : (tensor<?x6xf32>, i64) -> tensor<?x6xf32>
  %2 = aten.slice.Tensor(%x, 0, %n, 4) : (tensor<?x6xf32>, i64) -> tensor<?x6xf32>
  // CHECK: aten.mul.Scalar(%x, other = %n) : (tensor<?x6xf32>, i64) -> tensor<?x6xf32>
  %3 = aten.mul.Scalar(%x, %n) : (tensor<?x6xf32>, i64) -> tensor<?x6xf32>
  func.return
}

// CHECK-LABEL: @constants
func.func @constants(%x: tensor<2x3xf32>, %c: tensor<2xcomplex<f32>>) {
  // CHECK: aten.full.default(size = [2, 3], fill_value = -inf, dtype = bf16) : () -> tensor<2x3xbf16>
  %0 = aten.full.default([2, 3], -inf, dtype = bf16) : () -> tensor<2x3xbf16>
  // CHECK: aten.full.default(size = [], fill_value = nan)
  %1 = aten.full.default([], nan) : () -> tensor<f32>
  // CHECK: aten.full.default(size = [2], fill_value = true)
  %2 = aten.full.default([2], true) : () -> tensor<2xi1>
  // CHECK: aten.mul.Scalar(%c, other = complex(0.5, -2.0)) :
  %3 = aten.mul.Scalar(%c, complex(0.5, -2.0)) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  // CHECK: aten.gelu.default(%x, approximate = "tanh")
  %4 = aten.gelu.default(%x, approximate = "tanh") : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: aten._to_copy.default(%x, dtype = ui8, device = "cpu")
  %5 = aten._to_copy.default(%x, dtype = ui8, device = "cpu") : (tensor<2x3xf32>) -> tensor<2x3xui8>
  // CHECK: aten.clone.default(%x, memory_format = "contiguous_format")
  %6 = aten.clone.default(%x, memory_format = "contiguous_format") : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: aten.std.correction(%x, correction = 0)
  %7 = aten.std.correction(%x, correction = 0) : (tensor<2x3xf32>) -> tensor<f32>
  // CHECK: aten.item.default(%{{.*}}) : (tensor<f32>) -> f64
  %8 = aten.item.default(%1) : (tensor<f32>) -> f64
  func.return
}

// CHECK-LABEL: @mutation
func.func @mutation(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // CHECK: aten.add_.Tensor(%x, %y)
  %0 = aten.add_.Tensor(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: aten.exp.out(%y, out = %x)
  %1 = aten.exp.out(%y, out = %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: aten._foreach_add_.Scalar([%x, %y], scalar = 2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  aten._foreach_add_.Scalar([%x, %y], 2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  func.return
}

// Attributes that no schema knows, comments and line breaks inside of a call.
// CHECK-LABEL: @text
func.func @text(%x: tensor<2x3xf32>, %s: tensor<2x3xf32>) {
  // CHECK: aten.relu.default(%x) {note = "kept"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = aten.relu.default( // why
    %x
  ) {note = "kept"} :
    (tensor<2x3xf32>)
    -> tensor<2x3xf32>
  func.return
}
