// RUN: not lamina-ops --check %s | filecheck %s
// Programs of lower layers are checked from where they stand.
// CHECK: func.func: memref<4xf32> is not a tensor of static shape
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  func.call @kernel_0(%x) : (memref<4xf32>) -> ()
  func.return %x : memref<4xf32>
}

func.func private @kernel_0(%x: memref<4xf32>) attributes {lamina.kernel} {
  func.return
}
