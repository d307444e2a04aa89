// RUN: not lamina-ops --check %s | filecheck %s
// Programs of lower layers are checked from where they stand.
// CHECK: bufferize: only tensors can be put in memory, not memref<4xf32>
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  func.call @kernel_0(%x) : (memref<4xf32>) -> ()
  func.return %x : memref<4xf32>
}

func.func private @kernel_0(%x: memref<4xf32>) attributes {lamina.kernel} {
  func.return
}
