// RUN: lamina-opt %s -t llvmir{cpu=x86-64-v4} | filecheck %s

// Relu of a sum, 37 elements: two full vectors and a masked tail of 5.

// CHECK-LABEL: define internal void @add_relu(ptr noalias nonnull %a0
// CHECK: fadd contract <16 x float>
// CHECK: call nsz <16 x float> @llvm.maximum.v16f32
// CHECK: call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4
// CHECK: call void @llvm.masked.store.v16f32.p0
// CHECK-LABEL: define i32 @lamina_main(ptr
func.func private @add_relu(
    %a: memref<37xf32> {llvm.noalias}, %b: memref<37xf32> {llvm.noalias},
    %o: memref<37xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %full = arith.constant 32 : index
  %lanes = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.for %i = %c0 to %full step %lanes {
    %x = vector.load %a[%i] : memref<37xf32>, vector<16xf32>
    %y = vector.load %b[%i] : memref<37xf32>, vector<16xf32>
    %s = arith.addf %x, %y fastmath<contract> : vector<16xf32>
    %r = arith.maximumf %s, %zero : vector<16xf32>
    vector.store %r, %o[%i] : memref<37xf32>, vector<16xf32>
  }
  %tail = arith.constant 5 : index
  %m = vector.create_mask %tail : vector<16xi1>
  %x = vector.maskedload %a[%full], %m, %zero : memref<37xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  %y = vector.maskedload %b[%full], %m, %zero : memref<37xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  %s = arith.addf %x, %y : vector<16xf32>
  %r = arith.maximumf %s, %zero : vector<16xf32>
  vector.maskedstore %o[%full], %m, %r : memref<37xf32>, vector<16xi1>, vector<16xf32>
  func.return
}

func.func @main(%a: memref<37xf32>, %b: memref<37xf32>, %o: memref<37xf32>) attributes {lamina.entry} {
  func.call @add_relu(%a, %b, %o) : (memref<37xf32>, memref<37xf32>, memref<37xf32>) -> ()
  func.return
}
