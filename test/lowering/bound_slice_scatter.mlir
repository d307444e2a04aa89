// RUN: lamina-opt %s --split-input-file -p bound-dynamic-shapes | filecheck %s

// Of a slice of some channels, which is written to, the dimensions of open size are whole: nothing is chosen or looked up along
// them, whether the slice ends at no number, at the largest, or at the size.
// CHECK-LABEL: @main
// CHECK-NOT:     aten.index_select
// CHECK-NOT:     aten.where
// CHECK:         [[Y:%\S+]] = aten.slice_scatter.default(%x, %y, dim = 1, start = 0, end = 4)
// CHECK-NOT:     aten.where
// CHECK:         func.return [[Y]]
func.func @main(%x: tensor<?x6x?xf32> {lamina.dims = [#lamina.size<b in [1, 8]>, #lamina.size<n in [1, 16]>]},
                %y: tensor<?x4x?xf32> {lamina.dims = [#lamina.size<b>, #lamina.size<n>]})
    -> (tensor<?x6x?xf32> {lamina.dims = [#lamina.size<b>, #lamina.size<n>]}) {
  %n = aten.sym_size.int(%x, dim = 2) : (tensor<?x6x?xf32>) -> i64
  %part = aten.slice.Tensor(%x, dim = 1, start = 0, end = 4) : (tensor<?x6x?xf32>) -> tensor<?x4x?xf32>
  %0 = aten.slice_scatter.default(%part, %y, dim = 2, start = 0, end = 9223372036854775807) : (tensor<?x4x?xf32>, tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
  %1 = aten.slice_scatter.default(%part, %0, dim = 2, start = 0, end = %n) : (tensor<?x4x?xf32>, tensor<?x4x?xf32>, i64) -> tensor<?x4x?xf32>
  %2 = aten.slice_scatter.default(%part, %1, dim = 0) : (tensor<?x4x?xf32>, tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
  %3 = aten.slice_scatter.default(%x, %2, dim = 1, start = 0, end = 4) : (tensor<?x6x?xf32>, tensor<?x4x?xf32>) -> tensor<?x6x?xf32>
  func.return %3 : tensor<?x6x?xf32>
}

// -----

// One that begins later, or ends at a number below the bound, is a choice by position.
// CHECK-LABEL: @main
// CHECK:         aten.index_select.default
// CHECK:         aten.where.self
// CHECK:         aten.index_select.default
// CHECK:         aten.where.self
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n + 2>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, 16]>]}, %z: tensor<2xf32>)
    -> (tensor<?xf32> {lamina.dims = [#lamina.size<n + 2>]}) {
  %0 = aten.slice_scatter.default(%x, %y, dim = 0, start = 2, end = 9223372036854775807) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = aten.slice_scatter.default(%0, %z, dim = 0, start = 0, end = 2) : (tensor<?xf32>, tensor<2xf32>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}
