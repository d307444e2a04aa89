// RUN: not lamina-ops --check %s | filecheck %s
// A program with open sizes is checked for some that its arguments may have.

func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [1, 128]>]},
                %m: tensor<?x4xui8> {lamina.dims = [#lamina.size<2 * batch>]}) -> (tensor<?x8xf32>, tensor<?x4xi64>) {
  %0 = aten.exp.default(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK-NOT: exp
  // CHECK: aten.view.dtype
  // CHECK-NEXT: operand types: tensor<6x4xui8>
  // CHECK-NEXT: at: {{.*}}check_open_sizes.mlir:[[# @LINE + 1]]:3
  %1 = aten.view.dtype(%m, i1) : (tensor<?x4xui8>) -> tensor<?x4xi1>
  %2 = aten._to_copy.default(%1, dtype = i64) : (tensor<?x4xi1>) -> tensor<?x4xi64>
  func.return %0, %2 : tensor<?x8xf32>, tensor<?x4xi64>
}
