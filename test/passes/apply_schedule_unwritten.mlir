// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v3"},apply-schedule' --verify-diagnostics

// What a kernel reads of its own memory, it has written before.
func.func private @unwritten(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  %z = memref.alloc() {alignment = 64 : i64} : memref<45xf32>
  // expected-error@below {{it reads a buffer of the kernel that nothing has written}}
  loop.generic (d0) in [45] reads(%z[d0] : memref<45xf32>) writes([d0] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (d0) in [45] reads(%x[d0] : memref<45xf32>) writes([d0] store into %z : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
