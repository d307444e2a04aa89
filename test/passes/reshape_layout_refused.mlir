// RUN: lamina-opt %s -p apply-layouts --split-input-file --verify-diagnostics | filecheck %s

// The second axis joins two of the source.
func.func @main(%x: tensor<8x2x3xf32>) -> tensor<8x6xf32> {
  %r = loop.reshape %x {lamina.layout = array<i64: 0, 1>} : tensor<8x2x3xf32> -> tensor<8x6xf32>
  func.return %r : tensor<8x6xf32>
}
// CHECK: lamina.layout = [0, 1]: of a reshape, an axis innermost that is neither split nor joined, all others as they were

// -----

// More than an axis changes its place.
func.func @main(%x: tensor<8x6xf32>) -> tensor<8x2x3xf32> {
  %r = loop.reshape %x {lamina.layout = array<i64: 2, 1, 0>} : tensor<8x6xf32> -> tensor<8x2x3xf32>
  func.return %r : tensor<8x2x3xf32>
}
// CHECK: lamina.layout = [2, 1, 0]: of a reshape

// -----

// An axis that is not there.
func.func @main(%x: tensor<8x6xf32>) -> tensor<8x2x3xf32> {
  %r = loop.reshape %x {lamina.layout = array<i64: 5>} : tensor<8x6xf32> -> tensor<8x2x3xf32>
  func.return %r : tensor<8x2x3xf32>
}
// CHECK: lamina.layout = [5]: of a reshape
