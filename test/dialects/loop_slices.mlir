// RUN: lamina-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s
// RUN: lamina-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics --print-op-generic | filecheck %s --check-prefix=GENERIC

// Positions, parts and steps; dimensions that are walked as one.
func.func private @kernel(%x: memref<4x6x45xf32>, %y: memref<4x6xf32>, %i: index, %j: index) {
  loop.generic (a, b, c) in [4, 6, 45] slice([a, b] = %i, c = %j x 15) reads(%x[a, b, c] : memref<4x6x45xf32>) writes([a, b] add into %y : memref<4x6xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (a, b, c) in [4, 6, 45] slice(a = %i x 2 step 2, b = %j x 1) reads(%x[a, b, c] : memref<4x6x45xf32>) writes([a, b] add into %y : memref<4x6xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @kernel
// CHECK:         loop.generic (d0, d1, d2) in [4, 6, 45] slice([d0, d1] = %i, d2 = %j x 15) reads(%x[d0, d1, d2]
// CHECK:         loop.generic (d0, d1, d2) in [4, 6, 45] slice(d0 = %i x 2 step 2, d1 = %j x 1) reads(
// GENERIC:       slices = [#loop.slice<[0, 1]>, #loop.slice<[2] x 15>]
// GENERIC:       slices = [#loop.slice<[0] x 2 step 2>, #loop.slice<[1] x 1>]

// -----

func.func @tensors(%x: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  %r = loop.generic (a) in [8] slice(a = %i) reads(%x[a] : tensor<8xf32>) writes([a] store : tensor<8xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: loop.generic: only nests that write into memrefs run slices

// -----

func.func private @twice(%x: memref<8xf32>, %i: index) {
  loop.generic (a) in [8] slice(a = %i, a = %i x 2) writes([a] store into %x : memref<8xf32>) {
    %v = arith.constant 0.0 : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK: loop.generic: d0 is sliced twice

// -----

func.func private @many(%x: memref<8xf32>, %i: index) {
  loop.generic (a) in [8] slice(a = %i x 9) writes([a] store into %x : memref<8xf32>) {
    %v = arith.constant 0.0 : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK: loop.generic: slice of d0: 9 of 8 positions

// -----

func.func private @none(%x: memref<8xf32>, %i: index) {
  loop.generic (a) in [8] slice(a = %i x 2 step 0) writes([a] store into %x : memref<8xf32>) {
    %v = arith.constant 0.0 : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK: loop.generic: slice of d0: its size and step are at least 1

// -----

func.func private @unknown(%x: memref<8xf32>, %i: index) {
  loop.generic (a) in [8] slice(b = %i) writes([a] store into %x : memref<8xf32>) {
    %v = arith.constant 0.0 : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK: 'b' is not a dimension of this domain (a)

// -----

func.func private @kept(%x: memref<8x4xf32>, %y: memref<8xf32>, %i: index) {
  loop.generic (a, b) in [8, 4] slice([a, b] = %i x 4) reads(%x[a, b] : memref<8x4xf32>) writes([a] add into %y : memref<8xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: loop.generic: slice of [d0, d1]: a result keeps some of these dimensions and reduces others

// -----

func.func private @type(%x: memref<8xf32>, %i: i64) {
  loop.generic (a) in [8] slice(a = %i) writes([a] store into %x : memref<8xf32>) {
    %v = arith.constant 0.0 : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK: index
