// RUN: lamina-opt %s -p widen-half-floats | filecheck %s
// RUN: lamina-opt %s -p 'widen-half-floats{rounding="eager"}' | filecheck %s --check-prefix=EAGER

// An op that computes does so in f32; the rounding of its result is not the program's own.

// CHECK-LABEL: @silu
// CHECK:       [[X:%.*]] = aten._to_copy.default(%x, dtype = f32) {lamina.implicit} : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT:  [[Y:%.*]] = aten.silu.default([[X]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  aten._to_copy.default([[Y]], dtype = bf16) {lamina.implicit} : (tensor<4xf32>) -> tensor<4xbf16>
func.func @silu(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %y = aten.silu.default(%x) : (tensor<4xbf16>) -> tensor<4xbf16>
  func.return %y : tensor<4xbf16>
}

// A product too; a dtype that is asked for is f32 meanwhile.

// CHECK-LABEL: @product
// CHECK:       aten.mm.default({{.*}}) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK:       aten.sum.dim_IntList({{.*}}, dim = [1], dtype = f32) : (tensor<2x4xf32>) -> tensor<2xf32>
// CHECK-NEXT:  aten._to_copy.default({{.*}}, dtype = f16) {lamina.implicit}
func.func @product(%x: tensor<2x3xf16>, %y: tensor<3x4xf16>) -> tensor<2xf16> {
  %p = aten.mm.default(%x, %y) : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf16>
  %s = aten.sum.dim_IntList(%p, dim = [1], dtype = f16) : (tensor<2x4xf16>) -> tensor<2xf16>
  func.return %s : tensor<2xf16>
}

// Elements that meet are added up in f32; those that only move stay.

// CHECK-LABEL: @scatters
// CHECK:       aten.scatter_add.default({{.*}}) : (tensor<4xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
// CHECK:       aten.scatter.src({{.*}}) : (tensor<4xbf16>
// CHECK:       aten.scatter.reduce({{.*}}) : (tensor<4xf32>
func.func @scatters(%x: tensor<4xbf16>, %i: tensor<4xi64>) -> tensor<4xbf16> {
  %a = aten.scatter_add.default(%x, 0, %i, %x) : (tensor<4xbf16>, tensor<4xi64>, tensor<4xbf16>) -> tensor<4xbf16>
  %b = aten.scatter.src(%a, 0, %i, %x) : (tensor<4xbf16>, tensor<4xi64>, tensor<4xbf16>) -> tensor<4xbf16>
  %c = aten.scatter.reduce(%b, 0, %i, %x, "multiply") : (tensor<4xbf16>, tensor<4xi64>, tensor<4xbf16>) -> tensor<4xbf16>
  func.return %c : tensor<4xbf16>
}

// Moves, exact ops, conversions, and ops of the type itself stay, and so does f32.

// CHECK-LABEL: @stays
// CHECK-NOT:   lamina.implicit
// CHECK:       aten.relu.default(%x) : (tensor<2x3xbf16>)
// CHECK-NEXT:  aten.t.default
// CHECK-NEXT:  aten.nan_to_num.default({{.*}}) : (tensor<3x2xbf16>)
// CHECK-NEXT:  aten._to_copy.default({{.*}}, dtype = f32)
// CHECK-NEXT:  aten.exp.default({{.*}}) : (tensor<3x2xf32>)
// CHECK-NEXT:  aten._to_copy.default({{.*}}, dtype = bf16)
// CHECK-NEXT:  return
func.func @stays(%x: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %r = aten.relu.default(%x) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %t = aten.t.default(%r) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  %n = aten.nan_to_num.default(%t) : (tensor<3x2xbf16>) -> tensor<3x2xbf16>
  %w = aten._to_copy.default(%n, dtype = f32) : (tensor<3x2xbf16>) -> tensor<3x2xf32>
  %e = aten.exp.default(%w) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %h = aten._to_copy.default(%e, dtype = bf16) : (tensor<3x2xf32>) -> tensor<3x2xbf16>
  func.return %h : tensor<3x2xbf16>
}

// Torch rounds the number of an addition, but not that of a product. Cubes of bf16 are two
// rounded products.

// CHECK-LABEL: @numbers
// CHECK:       other = 0.1)
// CHECK:       other = 0.1)
// EAGER-LABEL: @numbers
// EAGER:       aten.add.Scalar({{.*}}, other = 0.10009765625) : (tensor<4xf32>)
// EAGER:       aten.mul.Scalar({{.*}}, other = 0.1) : (tensor<4xf32>)
// EAGER:       aten.pow.Tensor_Scalar({{.*}}, exponent = 3) : (tensor<4xbf16>)
func.func @numbers(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %a = aten.add.Scalar(%x, other = 0.1) : (tensor<4xbf16>) -> tensor<4xbf16>
  %m = aten.mul.Scalar(%a, other = 0.1) : (tensor<4xbf16>) -> tensor<4xbf16>
  %p = aten.pow.Tensor_Scalar(%m, exponent = 3) : (tensor<4xbf16>) -> tensor<4xbf16>
  func.return %p : tensor<4xbf16>
}

// So does a batch norm that moves running statistics: they are rounded once.

// CHECK-LABEL: @batch_norm
// CHECK:       aten._native_batch_norm_legit_functional.default({{.*}}) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
// CHECK:       aten._to_copy.default({{.*}}, dtype = f16) {lamina.implicit} : (tensor<3xf32>)
func.func @batch_norm(%x: tensor<2x3xf16>, %m: tensor<3xf16>, %v: tensor<3xf16>) -> tensor<3xf16> {
  %y, %a, %b, %mean, %var = aten._native_batch_norm_legit_functional.default(%x, none, none, %m, %v, training = true, momentum = 0.5, eps = 0.6) : (tensor<2x3xf16>, tensor<3xf16>, tensor<3xf16>) -> (tensor<2x3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xf16>)
  func.return %var : tensor<3xf16>
}

// logit rounds its steps as torch does, but not its bounds.

// CHECK-LABEL: @logit
// CHECK:       aten.logit.default(%x) : (tensor<4xf16>)
// CHECK:       aten.logit.default({{.*}}, eps = 0.2) : (tensor<4xf32>)
// EAGER-LABEL: @logit
// EAGER:       aten.logit.default(%x, eps = 0.2) : (tensor<4xf16>)
func.func @logit(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>) {
  %y = aten.logit.default(%x) : (tensor<4xf16>) -> tensor<4xf16>
  %z = aten.logit.default(%x, eps = 0.2) : (tensor<4xf16>) -> tensor<4xf16>
  func.return %y, %z : tensor<4xf16>, tensor<4xf16>
}

// Steps of an op that torch computes in several ones are widened after the decomposition: their
// numbers are not rounded.

// CHECK-LABEL: @steps
// CHECK:       [[X:%.*]] = core_aten._to_copy.default(%x, dtype = f32)
// CHECK-NEXT:  core_aten.mul.Scalar([[X]], other = 0.1) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  core_aten._to_copy.default({{.*}}, dtype = bf16) {lamina.implicit}
func.func @steps(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %y = core_aten.mul.Scalar(%x, other = 0.1) : (tensor<4xbf16>) -> tensor<4xbf16>
  func.return %y : tensor<4xbf16>
}

// Gradients of convolutions are sums of products as well: operands are widened in front of them, not in the product's body.

// CHECK-LABEL: @convolution_gradients
// CHECK:       aten.convolution_backward.default({{.*}}) : (tensor<2x8x5x5xf32>, tensor<2x4x5x5xf32>, tensor<8x4x3x3xf32>) -> (tensor<2x4x5x5xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>)
func.func @convolution_gradients(%g: tensor<2x8x5x5xbf16>, %x: tensor<2x4x5x5xbf16>, %w: tensor<8x4x3x3xbf16>) -> tensor<8x4x3x3xbf16> {
  %a, %b, %c = aten.convolution_backward.default(%g, %x, %w, bias_sizes = [8], stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1, output_mask = [true, true, true]) : (tensor<2x8x5x5xbf16>, tensor<2x4x5x5xbf16>, tensor<8x4x3x3xbf16>) -> (tensor<2x4x5x5xbf16>, tensor<8x4x3x3xbf16>, tensor<8xbf16>)
  func.return %b : tensor<8x4x3x3xbf16>
}

// Those of losses that torch computes in several steps stay.

// CHECK-LABEL: @loss_gradient
// CHECK:       aten.mse_loss_backward.default(%g, %x, %y, reduction = 0) : (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
func.func @loss_gradient(%g: tensor<4xbf16>, %x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xbf16> {
  %r = aten.mse_loss_backward.default(%g, %x, %y, reduction = 0) : (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  func.return %r : tensor<4xbf16>
}
