// RUN: lamina-opt %s --split-input-file -p bound-dynamic-shapes | filecheck %s

// Each position of what is joined is read from the tensor that has it; nothing is joined with its padding first.

// CHECK-LABEL: @main
// CHECK-NOT:     aten.cat
// CHECK:         [[K:%\S+]] = aten.arange.default(end = 24, dtype = i64)
// CHECK:         [[LAST:%\S+]] = aten.sub.Scalar([[N:%size]], other = 1)
// CHECK:         [[LEAST:%\S+]] = aten.minimum.default([[K]], [[LAST]])
// CHECK:         [[AT:%\S+]] = aten.clamp.default([[LEAST]], min = 0)
// CHECK:         [[X:%\S+]] = aten.index.Tensor(%x, {{.*}}[[AT]]
// CHECK:         [[BEHIND:%\S+]] = aten.sub.Tensor([[K]], [[N]])
// CHECK:         [[Y:%\S+]] = aten.index.Tensor(%y,
// CHECK:         [[MASK:%\S+]] = aten.ge.Tensor([[K]], [[N]])
// CHECK:         aten.where.self({{%\S+}}, [[Y]], [[X]]) : (tensor<24x1xi1>, tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xf32>
// CHECK-NOT:     aten.index
func.func @main(%x: tensor<?x4xf32> {lamina.dims = [#lamina.size<n in [0, 16]>]},
                %y: tensor<?x4xf32> {lamina.dims = [#lamina.size<m in [0, 8]>]}) -> tensor<?x4xf32> {
  %0 = aten.cat.default([%x, %y]) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}

// -----

// Padding at the end of the last tensor alone is padding of the result: nothing is moved.

// CHECK-LABEL: @main
// CHECK-NOT:     aten.index
// CHECK:         aten.cat.default([%y, %x]) : (tensor<3x4xf32>, tensor<16x4xf32>) -> tensor<19x4xf32>
// CHECK-NOT:     aten.index
func.func @main(%x: tensor<?x4xf32> {lamina.dims = [#lamina.size<n in [0, 16]>]}, %y: tensor<3x4xf32>) -> tensor<?x4xf32> {
  %0 = aten.cat.default([%y, %x]) : (tensor<3x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}

// -----

// Of more than four pieces each position is read once, of what is joined with its padding.

// CHECK-LABEL: @main
// CHECK:         [[ALL:%\S+]] = aten.cat.default([%x, %x, %x, %x, %x])
// CHECK:         aten.index.Tensor([[ALL]],
// CHECK-NOT:     aten.index
func.func @main(%x: tensor<?x4xf32> {lamina.dims = [#lamina.size<n in [0, 16]>]}) -> tensor<?x4xf32> {
  %0 = aten.cat.default([%x, %x, %x, %x, %x]) : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
