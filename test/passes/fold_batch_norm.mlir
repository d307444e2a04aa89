// RUN: lamina-opt %s -p fold-batch-norm --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'fold-batch-norm{rounding="eager"}' --split-input-file | filecheck %s --check-prefix=EAGER

// Behind a convolution by constants the scale goes into the weight and the shift into the bias, in
// f64, rounded once.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<4x3x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}, %b: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "b"}, %g: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "g"}, %h: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "h"}, %m: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "v"}) -> tensor<1x4x8x8xf32> {
  %c = core_aten.convolution.default(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%c, %g, %h, %m, %v, 0.1, 1e-05) : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x8x8xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %n : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-DAG:   [[M:%\S+]] = core_aten._to_copy.default(%m, dtype = f64)
// CHECK-DAG:   [[V:%\S+]] = core_aten._to_copy.default(%v, dtype = f64)
// CHECK:       [[E:%\S+]] = core_aten.add.Scalar([[V]], other = 1.0e-05)
// CHECK:       [[R:%\S+]] = core_aten.rsqrt.default([[E]])
// CHECK:       [[G:%\S+]] = core_aten._to_copy.default(%g, dtype = f64)
// CHECK:       [[S:%\S+]] = core_aten.mul.Tensor([[R]], [[G]])
// CHECK:       [[W:%\S+]] = core_aten._to_copy.default(%w, dtype = f64)
// CHECK:       [[A:%\S+]] = core_aten.view.default([[S]], size = [-1, 1, 1, 1])
// CHECK:       [[P:%\S+]] = core_aten.mul.Tensor([[W]], [[A]])
// CHECK:       [[N:%\S+]] = core_aten.neg.default([[M]])
// CHECK:       [[B:%\S+]] = core_aten._to_copy.default(%b, dtype = f64)
// CHECK:       [[D:%\S+]] = core_aten.add.Tensor([[N]], [[B]])
// CHECK:       [[T:%\S+]] = core_aten.mul.Tensor([[D]], [[S]])
// CHECK:       [[H:%\S+]] = core_aten._to_copy.default(%h, dtype = f64)
// CHECK:       [[U:%\S+]] = core_aten.add.Tensor([[T]], [[H]])
// CHECK-DAG:   [[WF:%\S+]] = core_aten._to_copy.default([[P]], dtype = f32)
// CHECK-DAG:   [[BF:%\S+]] = core_aten._to_copy.default([[U]], dtype = f32)
// CHECK:       [[C:%\S+]] = core_aten.convolution.default(%x, [[WF]], [[BF]], stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1)
// CHECK-NOT:   batch_norm
// CHECK:       func.return [[C]]

// -----

// In groups, without parameters, along one dimension, in f64: nothing is converted.
func.func @main(%x: tensor<2x4x9xf64> {lamina.kind = "input"}, %w: tensor<6x2x3xf64> {lamina.kind = "constant", lamina.name = "w"}, %m: tensor<6xf64> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<6xf64> {lamina.kind = "buffer", lamina.name = "v"}) -> tensor<2x6x4xf64> {
  %c = core_aten.convolution.default(%x, %w, none, [2], [0], [1], false, [0], 2) : (tensor<2x4x9xf64>, tensor<6x2x3xf64>) -> tensor<2x6x4xf64>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 0.001) : (tensor<2x6x4xf64>, tensor<6xf64>, tensor<6xf64>) -> (tensor<2x6x4xf64>, tensor<0xf64>, tensor<0xf64>)
  func.return %n : tensor<2x6x4xf64>
}
// CHECK-LABEL: func.func @main
// CHECK:       [[S:%\S+]] = core_aten.rsqrt.default
// CHECK:       core_aten.view.default([[S]], size = [-1, 1, 1])
// CHECK:       [[N:%\S+]] = core_aten.neg.default(%m)
// CHECK:       core_aten.mul.Tensor([[N]], [[S]])
// CHECK:       core_aten.convolution.default(%x, {{.*}}, stride = [2], padding = [0], dilation = [1], transposed = false, output_padding = [0], groups = 2)
// CHECK-NOT:   batch_norm

// -----

// Statistics of the batch are known in the call only.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<4x3x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x4x6x6xf32> {
  %c = core_aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit.no_stats(%c, none, none, true, 0.1, 1e-05) : (tensor<1x4x6x6xf32>) -> (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>)
  func.return %n : tensor<1x4x6x6xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  core_aten.convolution.default(%x, %w, none
// CHECK-NEXT:  core_aten._native_batch_norm_legit.no_stats

// -----

// A weight that comes with the call.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<4x3x3x3xf32> {lamina.kind = "input"}, %m: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "v"}) -> tensor<1x4x6x6xf32> {
  %c = core_aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-05) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %n : tensor<1x4x6x6xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  core_aten.convolution.default(%x, %w, none
// CHECK-NEXT:  core_aten._native_batch_norm_legit_no_training.default

// -----

// Statistics that the program writes.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<4x3x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}, %m: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "v"}) -> (tensor<1x4x6x6xf32>, tensor<4xf32> {lamina.kind = "mutation", lamina.target = "m"}) {
  %c = core_aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-05) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<0xf32>, tensor<0xf32>)
  %k = core_aten.neg.default(%m) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %n, %k : tensor<1x4x6x6xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  core_aten.convolution.default(%x, %w, none
// CHECK-NEXT:  core_aten._native_batch_norm_legit_no_training.default

// -----

// A convolution that others read too.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<4x3x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}, %m: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "v"}) -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) {
  %c = core_aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-05) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %c, %n : tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  core_aten.convolution.default(%x, %w, none
// CHECK-NEXT:  core_aten._native_batch_norm_legit_no_training.default

// -----

// A transposed convolution.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<3x4x2x2xf32> {lamina.kind = "parameter", lamina.name = "w"}, %m: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "v"}) -> tensor<1x4x16x16xf32> {
  %c = core_aten.convolution.default(%x, %w, none, [2, 2], [0, 0], [1, 1], true, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<3x4x2x2xf32>) -> tensor<1x4x16x16xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-05) : (tensor<1x4x16x16xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x16x16xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %n : tensor<1x4x16x16xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  core_aten.convolution.default(%x, %w, none
// CHECK-NEXT:  core_aten._native_batch_norm_legit_no_training.default

// -----

// A scale that may be infinite: eps is 0.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<4x3x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}, %m: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "v"}) -> tensor<1x4x6x6xf32> {
  %c = core_aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 0.0) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %n : tensor<1x4x6x6xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  core_aten.convolution.default(%x, %w, none
// CHECK-NEXT:  core_aten._native_batch_norm_legit_no_training.default

// -----

// Of bf16, in f32: the weight is rounded to bf16 and widened again, the bias is not, nor is what
// stood between. Eager mode rounds there.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<4x3x3x3xbf16> {lamina.kind = "parameter", lamina.name = "w"}, %m: tensor<4xbf16> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<4xbf16> {lamina.kind = "buffer", lamina.name = "v"}) -> tensor<1x4x6x6xf32> {
  %u = core_aten._to_copy.default(%w, dtype = f32) {lamina.implicit} : (tensor<4x3x3x3xbf16>) -> tensor<4x3x3x3xf32>
  %c = core_aten.convolution.default(%x, %u, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %d = core_aten._to_copy.default(%c, dtype = bf16) {lamina.implicit} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xbf16>
  %e = core_aten._to_copy.default(%d, dtype = f32) {lamina.implicit} : (tensor<1x4x6x6xbf16>) -> tensor<1x4x6x6xf32>
  %a = core_aten._to_copy.default(%m, dtype = f32) {lamina.implicit} : (tensor<4xbf16>) -> tensor<4xf32>
  %b = core_aten._to_copy.default(%v, dtype = f32) {lamina.implicit} : (tensor<4xbf16>) -> tensor<4xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%e, none, none, %a, %b, 0.1, 1e-05) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %n : tensor<1x4x6x6xf32>
}
// CHECK-LABEL: func.func @main
// CHECK:       core_aten._to_copy.default(%w, dtype = f64)
// CHECK:       [[P:%\S+]] = core_aten.mul.Tensor({{.*}}) : (tensor<4x3x3x3xf64>, tensor<4x1x1x1xf64>)
// CHECK:       [[T:%\S+]] = core_aten.mul.Tensor({{.*}}) : (tensor<4xf64>, tensor<4xf64>)
// CHECK:       [[H:%\S+]] = core_aten._to_copy.default([[P]], dtype = bf16) :
// CHECK:       [[W:%\S+]] = core_aten._to_copy.default([[H]], dtype = f32) {lamina.implicit}
// CHECK:       [[B:%\S+]] = core_aten._to_copy.default([[T]], dtype = f32) :
// CHECK:       [[C:%\S+]] = core_aten.convolution.default(%x, [[W]], [[B]]
// CHECK-NEXT:  func.return [[C]]
// EAGER-LABEL: dtype = bf16
// EAGER:       core_aten._native_batch_norm_legit_no_training.default

// -----

// Small scales would leave the range of f16.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<4x3x3x3xf16> {lamina.kind = "parameter", lamina.name = "w"}, %m: tensor<4xf16> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<4xf16> {lamina.kind = "buffer", lamina.name = "v"}) -> tensor<1x4x6x6xf32> {
  %u = core_aten._to_copy.default(%w, dtype = f32) {lamina.implicit} : (tensor<4x3x3x3xf16>) -> tensor<4x3x3x3xf32>
  %c = core_aten.convolution.default(%x, %u, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %d = core_aten._to_copy.default(%c, dtype = f16) {lamina.implicit} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf16>
  %e = core_aten._to_copy.default(%d, dtype = f32) {lamina.implicit} : (tensor<1x4x6x6xf16>) -> tensor<1x4x6x6xf32>
  %a = core_aten._to_copy.default(%m, dtype = f32) {lamina.implicit} : (tensor<4xf16>) -> tensor<4xf32>
  %b = core_aten._to_copy.default(%v, dtype = f32) {lamina.implicit} : (tensor<4xf16>) -> tensor<4xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%e, none, none, %a, %b, 0.1, 1e-05) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %n : tensor<1x4x6x6xf32>
}
// CHECK-LABEL: func.func @main
// CHECK:       core_aten.convolution.default(%x, %u, none
// CHECK:       core_aten._native_batch_norm_legit_no_training.default

// -----

// A rounding that the program asks for stays.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<4x3x3x3xbf16> {lamina.kind = "parameter", lamina.name = "w"}, %m: tensor<4xbf16> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<4xbf16> {lamina.kind = "buffer", lamina.name = "v"}) -> tensor<1x4x6x6xf32> {
  %u = core_aten._to_copy.default(%w, dtype = f32) {lamina.implicit} : (tensor<4x3x3x3xbf16>) -> tensor<4x3x3x3xf32>
  %c = core_aten.convolution.default(%x, %u, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %d = core_aten._to_copy.default(%c, dtype = bf16)  : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xbf16>
  %e = core_aten._to_copy.default(%d, dtype = f32) {lamina.implicit} : (tensor<1x4x6x6xbf16>) -> tensor<1x4x6x6xf32>
  %a = core_aten._to_copy.default(%m, dtype = f32) {lamina.implicit} : (tensor<4xbf16>) -> tensor<4xf32>
  %b = core_aten._to_copy.default(%v, dtype = f32) {lamina.implicit} : (tensor<4xbf16>) -> tensor<4xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%e, none, none, %a, %b, 0.1, 1e-05) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %n : tensor<1x4x6x6xf32>
}
// CHECK-LABEL: func.func @main
// CHECK:       core_aten.convolution.default(%x, %u, none
// CHECK:       core_aten._native_batch_norm_legit_no_training.default

// -----

// What others read, rounded, stays.
func.func @main(%x: tensor<1x3x8x8xf32> {lamina.kind = "input"}, %w: tensor<4x3x3x3xbf16> {lamina.kind = "parameter", lamina.name = "w"}, %m: tensor<4xbf16> {lamina.kind = "buffer", lamina.name = "m"}, %v: tensor<4xbf16> {lamina.kind = "buffer", lamina.name = "v"}) -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xbf16>) {
  %u = core_aten._to_copy.default(%w, dtype = f32) {lamina.implicit} : (tensor<4x3x3x3xbf16>) -> tensor<4x3x3x3xf32>
  %c = core_aten.convolution.default(%x, %u, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %d = core_aten._to_copy.default(%c, dtype = bf16) {lamina.implicit} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xbf16>
  %e = core_aten._to_copy.default(%d, dtype = f32) {lamina.implicit} : (tensor<1x4x6x6xbf16>) -> tensor<1x4x6x6xf32>
  %a = core_aten._to_copy.default(%m, dtype = f32) {lamina.implicit} : (tensor<4xbf16>) -> tensor<4xf32>
  %b = core_aten._to_copy.default(%v, dtype = f32) {lamina.implicit} : (tensor<4xbf16>) -> tensor<4xf32>
  %n, %s, %r = core_aten._native_batch_norm_legit_no_training.default(%e, none, none, %a, %b, 0.1, 1e-05) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %n, %d : tensor<1x4x6x6xf32>, tensor<1x4x6x6xbf16>
}
// CHECK-LABEL: func.func @main
// CHECK:       core_aten.convolution.default(%x, %u, none
// CHECK:       core_aten._native_batch_norm_legit_no_training.default
