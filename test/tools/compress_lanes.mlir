// RUN: not lamina-run %s --target x86-64-v4 2>&1 | filecheck %s
// LLVM's code for vectors of several registers crashes.

// CHECK: loop.compress: the target x86-64-v4 compresses 16 lanes of 32 bits
func.func @main(%a: memref<64xf32>, %out: memref<64xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @compressed(%a, %out) : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}
func.func private @compressed(%a: memref<64xf32>, %out: memref<64xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64xf32>
  %v = vector.load %a[%c0] : memref<64xf32>, vector<64xf32>
  %m = loop.cmpf %v, %zero {predicate = 2} : vector<64xf32>, vector<64xf32> -> vector<64xi1>
  %c = loop.compress %v, %m : vector<64xf32>, vector<64xi1> -> vector<64xf32>
  vector.store %c, %out[%c0] : memref<64xf32>, vector<64xf32>
  func.return
}
