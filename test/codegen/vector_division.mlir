// RUN: lamina-opt %s -t llvmir | filecheck %s

// Quotients of vectors of integers by those of floats: of i64 in a function that looks whether they fit.

// CHECK: define internal <8 x i64> @lamina.sdiv.v8i64(<8 x i64> %a, <8 x i64> %b)
// CHECK: llvm.vector.reduce.or.v8i64
// CHECK: fdiv <8 x double>
// CHECK: sdiv <8 x i64> %a, %b
// CHECK-LABEL: define internal void @divide
func.func private @divide(%x: memref<8xi64> {llvm.noalias}, %y: memref<8xi64> {llvm.noalias}, %u: memref<8xi32> {llvm.noalias}, %v: memref<8xi32> {llvm.noalias}, %o: memref<8xi64> {llvm.noalias}, %p: memref<8xi32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<8xi64>, vector<8xi64>
  %b = vector.load %y[%c0] : memref<8xi64>, vector<8xi64>
  %c = vector.load %u[%c0] : memref<8xi32>, vector<8xi32>
  %d = vector.load %v[%c0] : memref<8xi32>, vector<8xi32>
  // CHECK: call <8 x i64> @lamina.sdiv.v8i64
  %q = arith.divsi %a, %b : vector<8xi64>
  // CHECK: sitofp <8 x i32> {{.*}} to <8 x double>
  // CHECK: fdiv <8 x double>
  // CHECK: mul <8 x i32>
  // CHECK-NEXT: sub <8 x i32>
  %r = arith.remsi %c, %d : vector<8xi32>
  // What is divided by a constant is multiplied by LLVM.
  // CHECK: sdiv <8 x i64> {{.*}}, splat (i64 7)
  %seven = arith.constant dense<7> : vector<8xi64>
  %s = arith.divsi %q, %seven : vector<8xi64>
  vector.store %s, %o[%c0] : memref<8xi64>, vector<8xi64>
  vector.store %r, %p[%c0] : memref<8xi32>, vector<8xi32>
  func.return
}

func.func @main(%x: memref<8xi64>, %y: memref<8xi64>, %u: memref<8xi32>, %v: memref<8xi32>, %o: memref<8xi64>, %p: memref<8xi32>) attributes {lamina.entry} {
  func.call @divide(%x, %y, %u, %v, %o, %p) : (memref<8xi64>, memref<8xi64>, memref<8xi32>, memref<8xi32>, memref<8xi64>, memref<8xi32>) -> ()
  func.return
}
