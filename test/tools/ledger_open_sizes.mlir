// RUN: lamina-opt %s -t ledger --split-input-file | filecheck %s
// What ops move and compute stands as formulas of sizes that are open, in front of the kernels.

// CHECK:      sizes: batch in [0, 64]
// CHECK-NEXT: op                     bytes       flops
// CHECK-NEXT: exp                    64 * batch  8 * batch
// CHECK-NEXT: sum                    36 * batch  8 * batch
// CHECK-NEXT: arguments and results  36 * batch  16 * batch
// CHECK-NEXT: kernel
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [0, 64]>]}) -> tensor<?xf32> {
  %0 = aten.exp.default(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = aten.sum.dim_IntList(%0, [1]) : (tensor<?x8xf32>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}

// -----

// Kernels are of the largest sizes, if there are such.
// CHECK:      exp                    64 * n  8 * n
// CHECK:      no kernels: func.func: argument 0: the size n has no upper bound
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?x8xf32> {
  %0 = aten.exp.default(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}

// -----

// Ops that hand values on have formulas, too.
// CHECK:      scan                   64 * n  24 * n
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n in [0, 4]>]}) -> tensor<?x8xf32> {
  %0 = aten.cumsum.default(%x, 1) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}

// -----

// What does not go down with open sizes has none.
// CHECK: no formulas: aten.roll.default: its lowering depends on sizes: the remainder of 1 by n is not known
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n in [0, 4]>]}) -> tensor<?x8xf32> {
  %0 = aten.roll.default(%x, [1], [0]) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}
