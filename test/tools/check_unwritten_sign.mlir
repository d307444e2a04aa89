// RUN: not lamina-run %s --check 2>&1 | filecheck %s
// Zeros and NaN compare alike: whether unwritten memory is above zero shows with other bytes.

// CHECK: check failed: result 0 depends on memory that nothing has written: [0] is 0.0 where bytes of new memory are 0, and 1.0 where they are 63
func.func @main(%out: memref<4xf32> {lamina.kind = "output"}, %arena: memref<64xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  %0 = arith.constant 0 : index
  %m = memref.view %arena[%0][] : memref<64xi8> to memref<4xf32>
  func.call @kernel_0(%m, %out) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
func.func private @kernel_0(%m: memref<4xf32>, %out: memref<4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false>]} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  scf.for %i = %0 to %4 step %1 {
    %a = memref.load %m[%i] : memref<4xf32>
    %p = arith.cmpf ogt, %a, %zero : f32
    %b = arith.select %p, %one, %zero : f32
    memref.store %b, %out[%i] : memref<4xf32>
  }
  func.return
}
