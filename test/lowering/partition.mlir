// Products become calls of a back end, each convex group one; what it refuses is told with its line.
// RUN: lamina-opt %s --load %S/partition_backends.py -p 'partition{backend=products}' | filecheck %s
// RUN: lamina-opt %s --load %S/partition_backends.py -p 'partition{backend=products least=2}' | filecheck %s --check-prefix LEAST
// RUN: not lamina-opt %s -p 'partition{backend=products}' 2>&1 | filecheck %s --check-prefix NONE

// CHECK: lamina.refused = ["products: core_aten.neg.default (at {{.*}}partition.mlir:16:3): it only multiplies"]
// CHECK: %[[A:.*]] = prims.extern([%x, %y], kernel = "partition.products", options = "{{.*}}core_aten.mul.Tensor(%0, %1){{.*}}core_aten.mul.Tensor
// CHECK-NEXT: %[[B:.*]] = core_aten.neg.default(%[[A]])
// CHECK-NEXT: prims.extern([%[[A]], %[[B]]], kernel = "partition.products"
// LEAST: core_aten.mul.Tensor (at {{.*}}:17:3): its group has 1 ops, not 2
// LEAST: core_aten.mul.Tensor
// NONE: no back end is called 'products'; no active extension brings any
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = core_aten.mul.Tensor(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = core_aten.mul.Tensor(%0, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = core_aten.neg.default(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = core_aten.mul.Tensor(%1, %2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %3 : tensor<8xf32>
}
