// RUN: not lamina-run %s --check 2>&1 | filecheck %s
// A result that depends on memory which nothing has written is not compared with what the interpreter finds there.

// CHECK: check failed: result 0 depends on memory that nothing has written: [0] is 0.0 where bytes of new memory are 0, and nan where they are 255
func.func @main(%out: memref<4xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kernel_0(%out) : (memref<4xf32>) -> ()
  func.return
}
func.func private @kernel_0(%out: memref<4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false>]} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  scf.for %i = %0 to %4 step %1 {
    %a = memref.load %out[%i] : memref<4xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %out[%i] : memref<4xf32>
  }
  func.return
}
