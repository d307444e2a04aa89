// RUN: lamina-opt %s -t llvmir{cpu=x86-64-v4} | filecheck %s

// A sigmoid of sixteen numbers has no division: an estimate of the reciprocal and its error. Of a
// scalar it has one.
// CHECK-LABEL: define internal <16 x float> @lamina.sigmoid.v16f32(<16 x float> %x0) #1
// CHECK: call <16 x float> @llvm.x86.avx512.permvar.sf.512
// CHECK-NOT: fdiv
// CHECK: call <16 x float> @llvm.x86.avx512.rcp14.ps.512
// CHECK-LABEL: define internal float @lamina.sigmoid.f32(float %x0) #1
// CHECK: fdiv float
// CHECK-LABEL: define internal void @sigmoids
func.func private @sigmoids(%x: memref<17xf32> {llvm.noalias}, %y: memref<17xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %last = arith.constant 16 : index
  %v = vector.load %x[%c0] : memref<17xf32>, vector<16xf32>
  %e = loop.special "sigmoid"(%v) : vector<16xf32>
  vector.store %e, %y[%c0] : memref<17xf32>, vector<16xf32>
  %s = memref.load %x[%last] : memref<17xf32>
  %t = loop.special "sigmoid"(%s) : f32
  memref.store %t, %y[%last] : memref<17xf32>
  func.return
}

func.func @main(%x: memref<17xf32>, %y: memref<17xf32>) attributes {lamina.entry} {
  func.call @sigmoids(%x, %y) : (memref<17xf32>, memref<17xf32>) -> ()
  func.return
}
