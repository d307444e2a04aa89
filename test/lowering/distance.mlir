// RUN: lamina-opt %s -p convert-aten-to-core-aten,verify-core-aten | filecheck %s

// More than 25 rows on either side are multiplied, as torch does.
// CHECK-LABEL: @many
// CHECK-NOT: _cdist_forward
// CHECK: [[P:%\S+]] = core_aten.mm.default(%x
// CHECK: [[S:%\S+]] = core_aten.sub.Tensor({{.*}}, [[P]], alpha = 2)
// CHECK: [[C:%\S+]] = core_aten.clamp.default([[S]], min = 0)
// CHECK: core_aten.sqrt.default([[C]])
func.func @many(%x: tensor<26x4xf32>, %y: tensor<3x4xf32>) -> tensor<26x3xf32> {
  %0 = aten.cdist.default(%x, %y) : (tensor<26x4xf32>, tensor<3x4xf32>) -> tensor<26x3xf32>
  func.return %0 : tensor<26x3xf32>
}

// Fewer are subtracted.
// CHECK-LABEL: @few
// CHECK-NEXT: core_aten._cdist_forward.default(%x, %y, p = 2.0
func.func @few(%x: tensor<25x4xf32>, %y: tensor<3x4xf32>) -> tensor<25x3xf32> {
  %0 = aten.cdist.default(%x, %y) : (tensor<25x4xf32>, tensor<3x4xf32>) -> tensor<25x3xf32>
  func.return %0 : tensor<25x3xf32>
}

// What the program says is done, and other norms have no products.
// CHECK-LABEL: @asked
// CHECK-NEXT: core_aten._cdist_forward.default(%x, %y, p = 2.0
// CHECK: core_aten.mm.default
// CHECK: core_aten._cdist_forward.default(%x, %y, p = 1.0
// CHECK: core_aten.mm.default
func.func @asked(%x: tensor<30x4xf32>, %y: tensor<3x4xf32>) -> tensor<30x3xf32> {
  %0 = aten.cdist.default(%x, %y, compute_mode = 2) : (tensor<30x4xf32>, tensor<3x4xf32>) -> tensor<30x3xf32>
  %1 = aten.cdist.default(%y, %y, compute_mode = 1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>
  %2 = aten.cdist.default(%x, %y, p = 1.0) : (tensor<30x4xf32>, tensor<3x4xf32>) -> tensor<30x3xf32>
  %3 = aten._euclidean_dist.default(%y, %y) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>
  func.return %2 : tensor<30x3xf32>
}

// Of open sizes the range says whether that is so for all.
// CHECK-LABEL: @open_many
// CHECK: core_aten.mm.default
func.func @open_many(%x: tensor<?x4xf32> {lamina.dims = [#lamina.size<n in [26, 64]>]}, %y: tensor<3x4xf32>)
    -> tensor<?x3xf32> {
  %0 = aten.cdist.default(%x, %y) : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
  func.return %0 : tensor<?x3xf32>
}

// CHECK-LABEL: @open_any
// CHECK: core_aten._cdist_forward.default
func.func @open_any(%x: tensor<?x4xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]}, %y: tensor<3x4xf32>)
    -> tensor<?x3xf32> {
  %0 = aten.cdist.default(%x, %y) : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
  func.return %0 : tensor<?x3xf32>
}
