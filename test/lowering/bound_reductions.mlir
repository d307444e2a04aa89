// RUN: lamina-opt %s -p bound-dynamic-shapes | filecheck %s

// What is summed over two dimensions becomes zero behind each size by a mask of its own.

// CHECK-LABEL: @main
// CHECK:         [[ROWS:%\S+]] = aten.reshape.default({{%\S+}}, shape = [4, 1, 1])
// CHECK:         [[ONE:%\S+]] = aten.where.self([[ROWS]], %x, {{%\S+}})
// CHECK:         [[COLUMNS:%\S+]] = aten.reshape.default({{%\S+}}, shape = [1, 16, 1])
// CHECK:         [[BOTH:%\S+]] = aten.where.self([[COLUMNS]], [[ONE]], {{%\S+}})
// CHECK-NOT:     aten.logical_and
// CHECK:         aten.sum.dim_IntList([[BOTH]], dim = [0, 1]
func.func @main(%x: tensor<?x?x8xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<l in [1, 16]>]}) -> tensor<8xf32> {
  %0 = aten.sum.dim_IntList(%x, dim = [0, 1]) : (tensor<?x?x8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
