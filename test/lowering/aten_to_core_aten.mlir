// RUN: lamina-opt %s -p convert-aten-to-core-aten,verify-core-aten | filecheck %s
// RUN: lamina-opt %s -p 'convert-aten-to-core-aten{keep=aten.linear.default,add.Tensor}' | filecheck %s --check-prefix KEEP
// RUN: not lamina-opt %s -p 'convert-aten-to-core-aten{keep="lineer.default"}' 2>&1 | filecheck %s --check-prefix UNKNOWN
// UNKNOWN: option keep: there is no op aten.lineer.default; nearest: {{.*}}aten.linear.default

// A core op only changes its dialect.
// CHECK-LABEL: @core
// CHECK-NEXT: core_aten.add.Tensor(%x, %y, alpha = 2) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// KEEP-LABEL: @core
// KEEP-NEXT: aten.add.Tensor(%x, %y, alpha = 2)
func.func @core(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = aten.add.Tensor(%x, %y, alpha = 2) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @linear
// CHECK-NEXT: [[ROWS:%\S+]] = core_aten.view.default(%x, size = [6, 4])
// CHECK-NEXT: [[T:%\S+]] = core_aten.permute.default(%w, dims = [1, 0])
// CHECK-NEXT: [[MM:%\S+]] = core_aten.addmm.default(%b, [[ROWS]], [[T]])
// CHECK-NEXT: core_aten.view.default([[MM]], size = [2, 3, 5])
// KEEP-LABEL: @linear
// KEEP-NEXT: aten.linear.default(%x, %w, %b)
func.func @linear(%x: tensor<2x3x4xf32>, %w: tensor<5x4xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = aten.linear.default(%x, %w, %b) : (tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// Without a bias mm is left, and two dimensions need no view.
// CHECK-LABEL: @linear_2d
// CHECK-NEXT: [[T:%\S+]] = core_aten.permute.default(%w, dims = [1, 0])
// CHECK-NEXT: [[MM:%\S+]] = core_aten.mm.default(%x, [[T]])
// CHECK-NEXT: func.return [[MM]]
func.func @linear_2d(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>) -> tensor<3x5xf32> {
  %0 = aten.linear.default(%x, %w) : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  func.return %0 : tensor<3x5xf32>
}

// Nothing is left of a conversion to the dtype that is there, nor of dropout in evaluation.
// CHECK-LABEL: @nothing
// CHECK-NEXT: func.return %x
func.func @nothing(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.to.dtype(%x, dtype = f32) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = aten.dropout.default(%0, p = 0.1, train = false) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// Rows of scores that are all -inf give 0, as infinite operands make them without a mask, too.
// CHECK-LABEL: @attention
// CHECK: [[S:%\S+]] = core_aten.bmm.default
// CHECK: [[SCALED:%\S+]] = core_aten.mul.Scalar({{%\S+}}, other = 0.5)
// CHECK-NEXT: [[MOST:%\S+]] = core_aten.amax.default([[SCALED]], dim = [-1], keepdim = true)
// CHECK: [[P:%\S+]] = core_aten._softmax.default([[SCALED]], dim = -1, half_to_float = false)
// CHECK-NEXT: core_aten.where.self({{%\S+}}, {{%\S+}}, [[P]])
// CHECK: core_aten.bmm.default
func.func @attention(%q: tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32> {
  %0 = aten.scaled_dot_product_attention.default(%q, %q, %q) : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  func.return %0 : tensor<1x2x5x4xf32>
}

// A mask is applied before the softmax; rows that it masks whole are 0 after it.
// CHECK-LABEL: @masked_attention
// CHECK: [[SCORES:%\S+]] = core_aten.where.self(%m,
// CHECK-NEXT: [[MOST:%\S+]] = core_aten.amax.default([[SCORES]], dim = [-1], keepdim = true)
// CHECK: [[NONE:%\S+]] = core_aten.eq.Scalar([[MOST]], other = -inf)
// CHECK-NEXT: [[P:%\S+]] = core_aten._softmax.default([[SCORES]]
// CHECK-NEXT: core_aten.where.self([[NONE]], {{%\S+}}, [[P]])
func.func @masked_attention(%q: tensor<1x2x5x4xf32>, %m: tensor<5x5xi1>) -> tensor<1x2x5x4xf32> {
  %0 = aten.scaled_dot_product_attention.default(%q, %q, %q, %m) : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<5x5xi1>) -> tensor<1x2x5x4xf32>
  func.return %0 : tensor<1x2x5x4xf32>
}
