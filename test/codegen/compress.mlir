// RUN: lamina-opt %s -t llvmir{cpu=x86-64-v4} | filecheck %s
// RUN: lamina-opt %s -t asm{cpu=x86-64-v4} | filecheck %s --check-prefix=ASM

// Lanes are moved together in a register.

// CHECK-LABEL: define internal void @compressed
// CHECK: call <16 x float> @llvm.experimental.vector.compress.v16f32(<16 x float> {{.*}}, <16 x i1> {{.*}}, <16 x float> zeroinitializer)

// ASM: vcompressps %zmm
func.func private @compressed(%a: memref<16xf32> {llvm.noalias}, %out: memref<16xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %v = vector.load %a[%c0] : memref<16xf32>, vector<16xf32>
  %m = loop.cmpf %v, %zero {predicate = 2} : vector<16xf32>, vector<16xf32> -> vector<16xi1>
  %c = loop.compress %v, %m : vector<16xf32>, vector<16xi1> -> vector<16xf32>
  vector.store %c, %out[%c0] : memref<16xf32>, vector<16xf32>
  func.return
}

// One lane: LLVM has no code for it.
// CHECK-LABEL: define internal void @one
// CHECK: select <1 x i1> {{.*}}, <1 x float> {{.*}}, <1 x float> zeroinitializer
func.func private @one(%a: memref<16xf32> {llvm.noalias}, %out: memref<16xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %v = vector.load %a[%c0] : memref<16xf32>, vector<1xf32>
  %m = loop.cmpf %v, %zero {predicate = 2} : vector<1xf32>, vector<1xf32> -> vector<1xi1>
  %c = loop.compress %v, %m : vector<1xf32>, vector<1xi1> -> vector<1xf32>
  vector.store %c, %out[%c0] : memref<16xf32>, vector<1xf32>
  func.return
}

func.func @main(%a: memref<16xf32>, %out: memref<16xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @compressed(%a, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @one(%a, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}
