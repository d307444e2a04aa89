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

// A row is sorted in as many steps as it has halvings.
// CHECK:      sort                   16 * m * n          ceil(log2(m)) * m * n
// CHECK-NEXT: topk                   4 * m * n + 36 * n  m * n + 6 * n
// CHECK-NEXT: fourier                64                  160
// CHECK-NEXT: fourier                72 * n + 64         48 * n
// CHECK-NEXT: extern                 132 * n             0
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n in [0, 4]>, #lamina.size<m in [3, 8]>]}, %z: tensor<?x8xf32> {lamina.dims = [#lamina.size<n>]}, %a: tensor<?x4x4xf32> {lamina.dims = [#lamina.size<n>]})
    -> (tensor<?x?xf32>, tensor<?x3xf32>, tensor<?x5xcomplex<f32>>, tensor<?x4x4xf32>) {
  %0, %1 = aten.sort.default(%x) : (tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  %2, %3 = aten.topk.default(%x, 3) : (tensor<?x?xf32>) -> (tensor<?x3xf32>, tensor<?x3xi64>)
  %4 = aten._fft_r2c.default(%z, [1], 0, true) : (tensor<?x8xf32>) -> tensor<?x5xcomplex<f32>>
  %5, %6 = aten.linalg_inv_ex.default(%a) : (tensor<?x4x4xf32>) -> (tensor<?x4x4xf32>, tensor<?xi32>)
  func.return %0, %2, %4, %5 : tensor<?x?xf32>, tensor<?x3xf32>, tensor<?x5xcomplex<f32>>, tensor<?x4x4xf32>
}

// -----

// Ops of a scan are counted as often as it has steps.
// CHECK:      exp{{ +}}8 * m * n{{ +}}m * n
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n in [0, 4]>, #lamina.size<m in [3, 8]>]}) -> tensor<?x?xf32> {
  %0 = control.scan over(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32> do {
  ^bb0(%a: tensor<?xf32>):
    %e = aten.exp.default(%a) : (tensor<?xf32>) -> tensor<?xf32>
    control.yield %e : tensor<?xf32>
  }
  func.return %0 : tensor<?x?xf32>
}

// -----

// What does not go down with open sizes has none.
// CHECK: no formulas: aten.roll.default: its lowering depends on sizes: the remainder of 1 by n is not known
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n in [0, 4]>]}) -> tensor<?x8xf32> {
  %0 = aten.roll.default(%x, [1], [0]) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}
