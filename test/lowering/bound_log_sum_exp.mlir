// RUN: lamina-opt %s -p bound-dynamic-shapes --split-input-file | filecheck %s

// Of a sum of exponentials these are masked: what stands in padding is 0, whatever the maximum of the row is.
// CHECK-LABEL: @main
// CHECK:         aten.isinf.default
// CHECK:         [[BEST:%\S+]] = aten.where.self(
// CHECK-NEXT:    [[LESS:%\S+]] = aten.sub.Tensor(%x, [[BEST]])
// CHECK-NEXT:    [[POWERS:%\S+]] = aten.exp.default([[LESS]])
// CHECK:         [[MASKED:%\S+]] = aten.where.self({{%\S+}}, [[POWERS]], {{%\S+}})
// CHECK-NEXT:    aten.sum.dim_IntList([[MASKED]], dim = [1], keepdim = true)
func.func @main(%x: tensor<8x?xf32> {lamina.dims = [#lamina.size<n in [1, 16]>]}) -> tensor<8xf32> {
  %0 = aten.logsumexp.default(%x, [1]) : (tensor<8x?xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

// Along a dimension that is known, it stays the op.
// CHECK-LABEL: @main
// CHECK:         aten.logsumexp.default(%x, dim = [1])
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n in [1, 16]>]}) -> (tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) {
  %0 = aten.logsumexp.default(%x, [1]) : (tensor<?x8xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
