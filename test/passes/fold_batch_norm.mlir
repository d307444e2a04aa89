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
// CHECK:       [[S:%\S+]] = loop.generic (d0) in [4] reads(%v[d0] : tensor<4xf32>, %g[d0] : tensor<4xf32>) writes([d0] store : tensor<4xf64>)
// CHECK-NEXT:  ^{{\w+}}([[V:%\S+]]: f32, [[G:%\S+]]: f32):
// CHECK-DAG:     [[GD:%\S+]] = arith.extf [[G]] : f32 to f64
// CHECK-DAG:     [[VD:%\S+]] = arith.extf [[V]] : f32 to f64
// CHECK-DAG:     [[E:%\S+]] = arith.constant 1.000000e-05 : f64
// CHECK:         [[A:%\S+]] = arith.addf [[VD]], [[E]] : f64
// CHECK-NEXT:    [[R:%\S+]] = math.rsqrt [[A]] : f64
// CHECK-NEXT:    [[P:%\S+]] = arith.mulf [[R]], [[GD]] : f64
// CHECK-NEXT:    loop.yield [[P]] : f64
// CHECK:       [[WF:%\S+]] = loop.generic (d0, d1, d2, d3) in [4, 3, 3, 3] reads([[S]][d0] : tensor<4xf64>, %w[d0, d1, d2, d3] : tensor<4x3x3x3xf32>) writes([d0, d1, d2, d3] store : tensor<4x3x3x3xf32>)
// CHECK-NEXT:  ^{{\w+}}([[F:%\S+]]: f64, [[W:%\S+]]: f32):
// CHECK-NEXT:    [[WD:%\S+]] = arith.extf [[W]] : f32 to f64
// CHECK-NEXT:    [[P:%\S+]] = arith.mulf [[WD]], [[F]] : f64
// CHECK-NEXT:    [[T:%\S+]] = arith.truncf [[P]] : f64 to f32
// CHECK-NEXT:    loop.yield [[T]] : f32
// CHECK:       [[BF:%\S+]] = loop.generic (d0) in [4] reads([[S]][d0] : tensor<4xf64>, %m[d0] : tensor<4xf32>, %b[d0] : tensor<4xf32>, %h[d0] : tensor<4xf32>) writes([d0] store : tensor<4xf32>)
// CHECK-NEXT:  ^{{\w+}}([[F:%\S+]]: f64, [[M:%\S+]]: f32, [[B:%\S+]]: f32, [[H:%\S+]]: f32):
// CHECK-DAG:     [[HD:%\S+]] = arith.extf [[H]] : f32 to f64
// CHECK-DAG:     [[BD:%\S+]] = arith.extf [[B]] : f32 to f64
// CHECK-DAG:     [[MD:%\S+]] = arith.extf [[M]] : f32 to f64
// CHECK:         [[N:%\S+]] = arith.negf [[MD]] : f64
// CHECK-NEXT:    [[D:%\S+]] = arith.addf [[N]], [[BD]] : f64
// CHECK-NEXT:    [[P:%\S+]] = arith.mulf [[D]], [[F]] : f64
// CHECK-NEXT:    [[U:%\S+]] = arith.addf [[P]], [[HD]] : f64
// CHECK-NEXT:    [[T:%\S+]] = arith.truncf [[U]] : f64 to f32
// CHECK-NEXT:    loop.yield [[T]] : f32
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
// CHECK-NOT:   arith.{{ext|trunc}}f
// CHECK:       [[S:%\S+]] = loop.generic (d0) in [6] reads(%v[d0] : tensor<6xf64>) writes([d0] store : tensor<6xf64>)
// CHECK:         [[R:%\S+]] = math.rsqrt
// CHECK-NEXT:    loop.yield [[R]]
// CHECK-NOT:   arith.{{ext|trunc}}f
// CHECK:       [[W:%\S+]] = loop.generic (d0, d1, d2) in [6, 2, 3] reads([[S]][d0] : tensor<6xf64>, %w[d0, d1, d2] : tensor<6x2x3xf64>) writes([d0, d1, d2] store : tensor<6x2x3xf64>)
// CHECK-NOT:   arith.{{ext|trunc}}f
// CHECK:       [[B:%\S+]] = loop.generic (d0) in [6] reads([[S]][d0] : tensor<6xf64>, %m[d0] : tensor<6xf64>) writes([d0] store : tensor<6xf64>)
// CHECK-NEXT:  ^{{\w+}}([[F:%\S+]]: f64, [[M:%\S+]]: f64):
// CHECK-NEXT:    [[N:%\S+]] = arith.negf [[M]] : f64
// CHECK-NEXT:    [[T:%\S+]] = arith.mulf [[N]], [[F]] : f64
// CHECK-NEXT:    loop.yield [[T]]
// CHECK:       core_aten.convolution.default(%x, [[W]], [[B]], stride = [2], padding = [0], dilation = [1], transposed = false, output_padding = [0], groups = 2)
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
// CHECK:       [[S:%\S+]] = loop.generic (d0) in [4] reads(%v[d0] : tensor<4xbf16>) writes([d0] store : tensor<4xf64>)
// CHECK:       [[H:%\S+]] = loop.generic {{.*}} reads([[S]][d0] : tensor<4xf64>, %w[d0, d1, d2, d3] : tensor<4x3x3x3xbf16>) {{.*}} store : tensor<4x3x3x3xbf16>)
// CHECK:       [[B:%\S+]] = loop.generic {{.*}} reads([[S]][d0] : tensor<4xf64>, %m[d0] : tensor<4xbf16>) {{.*}} store : tensor<4xf32>)
// CHECK:       [[W:%\S+]] = core_aten._to_copy.default([[H]], dtype = f32) {lamina.implicit}
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
