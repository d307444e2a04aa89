// RUN: lamina-opt %s -p bound-dynamic-shapes | filecheck %s

// Whether distances are products is what torch says of all sizes in a range: more than 25 rows on either
// side are. Where some sizes are less, differences are exact. What the program says stays.
// CHECK: aten.cdist.default({{.*}}compute_mode = 1) : (tensor<64x4xf32>, tensor<32x4xf32>) -> tensor<64x32xf32>
// CHECK: aten.cdist.default({{.*}}compute_mode = 1) : (tensor<32x4xf32>, tensor<64x4xf32>) -> tensor<32x64xf32>
// CHECK: aten.cdist.default({{.*}}compute_mode = 2) : (tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<32x32xf32>
// CHECK: aten.cdist.default({{.*}}compute_mode = 2) : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x64xf32>
// CHECK: aten._euclidean_dist.default({{[^=]*}}) : (tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<32x32xf32>
func.func @main(%x: tensor<?x4xf32> {lamina.dims = [#lamina.size<many in [26, 64]>]},
                %y: tensor<?x4xf32> {lamina.dims = [#lamina.size<any in [0, 32]>]})
    -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = aten.cdist.default(%x, %y) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  %1 = aten.cdist.default(%y, %x) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  %2 = aten.cdist.default(%y, %y) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  %3 = aten.cdist.default(%x, %x, compute_mode = 2) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  %4 = aten._euclidean_dist.default(%y, %y) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  func.return %0, %1, %2, %3, %4 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>
}
