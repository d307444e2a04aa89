// RUN: lamina-opt %s -p convert-core-aten-to-prims --split-input-file | filecheck %s

// Windows that overlap in 49 pieces: a convolution for each phase of steps of two, of the image without zeros between its elements.
func.func @phases(%x: tensor<1x4x9x9xf32>, %w: tensor<4x6x13x13xf32>) -> tensor<1x6x17x17xf32> {
  %r = core_aten.convolution.default(%x, %w, none, [2, 2], [6, 6], [1, 1], true, [0, 0], 1) : (tensor<1x4x9x9xf32>, tensor<4x6x13x13xf32>) -> tensor<1x6x17x17xf32>
  func.return %r : tensor<1x6x17x17xf32>
}
// CHECK-LABEL:   @phases
// CHECK:         control.cond
// CHECK:         prims.convolution({{.*}} -> tensor<1x6x15x15xf32>
// CHECK:         prims.convolution({{.*}} -> tensor<1x6x15x15xf32>
// CHECK:         prims.convolution({{.*}} -> tensor<1x6x15x15xf32>
// CHECK:         prims.convolution({{.*}} -> tensor<1x6x15x15xf32>
// CHECK-NOT:     prims.convolution
// CHECK:         prims.cat

// -----

// Of windows with gaps of two one phase meets all elements, and the others none.
func.func @gaps(%x: tensor<1x4x5x5x5xf32>, %w: tensor<4x6x4x4x4xf32>) -> tensor<1x6x15x15x15xf32> {
  %r = core_aten.convolution.default(%x, %w, none, [2, 2, 2], [0, 0, 0], [2, 2, 2], true, [0, 0, 0], 1) : (tensor<1x4x5x5x5xf32>, tensor<4x6x4x4x4xf32>) -> tensor<1x6x15x15x15xf32>
  func.return %r : tensor<1x6x15x15x15xf32>
}
// CHECK-LABEL:   @gaps
// CHECK:         prims.convolution({{.*}} -> tensor<1x6x8x8x8xf32>
// CHECK-NOT:     prims.convolution

// -----

// Of 100 phases zeros are put between the elements instead.
func.func @many(%x: tensor<1x4x9x9xf32>, %w: tensor<4x6x61x61xf32>) -> tensor<1x6x141x141xf32> {
  %r = core_aten.convolution.default(%x, %w, none, [10, 10], [0, 0], [1, 1], true, [0, 0], 1) : (tensor<1x4x9x9xf32>, tensor<4x6x61x61xf32>) -> tensor<1x6x141x141xf32>
  func.return %r : tensor<1x6x141x141xf32>
}
// CHECK-LABEL:   @many
// CHECK:         prims.convolution({{.*}} -> tensor<1x6x141x141xf32>
// CHECK-NOT:     prims.convolution
