// RUN: lamina-opt %s -t 'ledger{cpu=x86-64-v3}' --split-input-file | filecheck %s
// RUN: lamina-opt %s --to scheduled --split-input-file | lamina-opt -t 'ledger{cpu=x86-64-v3}' --split-input-file | filecheck %s

// A running sum: the ops of each step. Sorting: a comparison for each doubling of a run.
// CHECK:      kernel_0      1  8000   3000  {{.*}} scan
func.func @main(%x: tensor<10x100xf32>) -> tensor<10x100xf32> {
  %0 = aten.cumsum.default(%x, 1) : (tensor<10x100xf32>) -> tensor<10x100xf32>
  func.return %0 : tensor<10x100xf32>
}

// -----

// CHECK:      kernel_0      1    28K   7000  {{.*}} sort
func.func @main(%x: tensor<10x100xf32>) -> (tensor<10x100xf32>, tensor<10x100xi64>) {
  %0, %1 = aten.sort.default(%x) : (tensor<10x100xf32>) -> (tensor<10x100xf32>, tensor<10x100xi64>)
  func.return %0, %1 : tensor<10x100xf32>, tensor<10x100xi64>
}

// -----

// A Cholesky factorization of n rows takes n^3 / 3.
// CHECK:      linalg.cholesky{{.*}} 1{{ +}}80K{{ +}}333K {{.*}} linalg_cholesky
func.func @main(%x: tensor<100x100xf32>) -> tensor<100x100xf32> {
  %0 = aten.linalg_cholesky.default(%x) : (tensor<100x100xf32>) -> tensor<100x100xf32>
  func.return %0 : tensor<100x100xf32>
}
