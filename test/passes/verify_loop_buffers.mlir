// RUN: lamina-opt %s -p 'verify-loop{buffers=true}' --split-input-file --verify-diagnostics | filecheck %s

// The contract after bufferize: nests write into memrefs, which may be allocated.
func.func @allowed(%x: memref<4xf32>, %out: memref<4xf32>) {
  %t = memref.alloc() : memref<4xf32>
  loop.generic (d0) in [4] reads(%x[d0] : memref<4xf32>) writes([d0] store into %t : memref<4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  loop.generic (d0) in [4] reads(%t[d0] : memref<4xf32>) writes([d0] store into %out : memref<4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK-LABEL: func.func @allowed
// CHECK: memref.alloc
// CHECK: into %out : memref<4xf32>

// -----

// Explicit loops come later.
func.func @scheduled(%x: memref<4xf32>, %i: index) {
  %v = memref.load %x[%i] : memref<4xf32>
  func.return
}
// CHECK: func.func: index is not a tensor or memref of static shape
