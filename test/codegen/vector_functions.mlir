// RUN: lamina-opt %s -t llvmir{cpu=x86-64-v4} | filecheck %s

// Functions of our own come in as internal functions, once for each type they are used in; a parallel
// region has its own lines but shares them.

// CHECK-LABEL: define internal <16 x float> @lamina.exp.v16f32(<16 x float> %x0) #1
// CHECK: call <16 x float> @llvm.x86.avx512.permvar.sf.512
// CHECK: call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512
// CHECK-LABEL: define internal float @lamina.exp.f32(float %x0) #1
// CHECK-LABEL: define internal void @exponentials
// CHECK: call <16 x float> @lamina.exp.v16f32(<16 x float>
// CHECK: call float @lamina.exp.f32(float
func.func private @exponentials(%x: memref<17xf32> {llvm.noalias}, %y: memref<17xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %last = arith.constant 16 : index
  %v = vector.load %x[%c0] : memref<17xf32>, vector<16xf32>
  %e = math.exp %v : vector<16xf32>
  %f = math.exp %e : vector<16xf32>
  vector.store %f, %y[%c0] : memref<17xf32>, vector<16xf32>
  %s = memref.load %x[%last] : memref<17xf32>
  %t = math.exp %s : f32
  %u = math.sqrt %t : f32
  memref.store %u, %y[%last] : memref<17xf32>
  func.return
}

func.func @main(%x: memref<17xf32>, %y: memref<17xf32>) attributes {lamina.entry} {
  func.call @exponentials(%x, %y) : (memref<17xf32>, memref<17xf32>) -> ()
  func.return
}
