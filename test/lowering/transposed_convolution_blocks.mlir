// RUN: lamina-opt %s -p convert-core-aten-to-prims --split-input-file | filecheck %s

// 3.2 MB of overlapping windows of 64 elements are made and added up in two blocks of channels.
func.func @main(%x: tensor<1x8x8x10x10xf32>, %w: tensor<8x16x4x4x4xf32>) -> tensor<1x16x16x20x20xf32> {
  %r = core_aten.convolution.default(%x, %w, none, [2, 2, 2], [1, 1, 1], [1, 1, 1], true, [0, 0, 0], 1) : (tensor<1x8x8x10x10xf32>, tensor<8x16x4x4x4xf32>) -> tensor<1x16x16x20x20xf32>
  func.return %r : tensor<1x16x16x20x20xf32>
}
// CHECK-COUNT-2: prims.contract({{.*}} -> tensor<1x8x4x4x4x1x8x10x10xf32>
// CHECK-NOT:     prims.contract
// CHECK:         prims.cat({{.*}}, dim = 1)

// -----

// Those of 4x4 elements are fetched in time wherever they are.
func.func @main(%x: tensor<1x8x40x40xf32>, %w: tensor<8x32x4x4xf32>) -> tensor<1x32x80x80xf32> {
  %r = core_aten.convolution.default(%x, %w, none, [2, 2], [1, 1], [1, 1], true, [0, 0], 1) : (tensor<1x8x40x40xf32>, tensor<8x32x4x4xf32>) -> tensor<1x32x80x80xf32>
  func.return %r : tensor<1x32x80x80xf32>
}
// CHECK:         prims.contract({{.*}} -> tensor<1x32x4x4x1x40x40xf32>
// CHECK-NOT:     prims.cat

// -----

// Windows that do not overlap are not added up.
func.func @main(%x: tensor<1x8x8x10x10xf32>, %w: tensor<8x16x4x4x4xf32>) -> tensor<1x16x32x40x40xf32> {
  %r = core_aten.convolution.default(%x, %w, none, [4, 4, 4], [0, 0, 0], [1, 1, 1], true, [0, 0, 0], 1) : (tensor<1x8x8x10x10xf32>, tensor<8x16x4x4x4xf32>) -> tensor<1x16x32x40x40xf32>
  func.return %r : tensor<1x16x32x40x40xf32>
}
// CHECK:         prims.contract({{.*}} -> tensor<1x16x4x4x4x1x8x10x10xf32>
// CHECK-NOT:     prims.cat

// -----

// Few fit a cache as they are.
func.func @main(%x: tensor<1x8x4x5x5xf32>, %w: tensor<8x16x4x4x4xf32>) -> tensor<1x16x8x10x10xf32> {
  %r = core_aten.convolution.default(%x, %w, none, [2, 2, 2], [1, 1, 1], [1, 1, 1], true, [0, 0, 0], 1) : (tensor<1x8x4x5x5xf32>, tensor<8x16x4x4x4xf32>) -> tensor<1x16x8x10x10xf32>
  func.return %r : tensor<1x16x8x10x10xf32>
}
// CHECK:         prims.contract({{.*}} -> tensor<1x16x4x4x4x1x4x5x5xf32>
// CHECK-NOT:     prims.cat
