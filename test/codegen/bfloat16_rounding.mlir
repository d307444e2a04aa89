// RUN: lamina-opt %s -t llvmir{cpu=znver4} | filecheck %s

// Sixteen f32 are rounded to bf16 by the instruction, which takes subnormal numbers for zeros: vectors that have some are rounded in integers.

// CHECK-LABEL: define internal void @sixteen
// CHECK:       [[K:%\S+]] = call <16 x i1> @llvm.x86.avx512.fpclass.ps.512(<16 x float> [[V:%\S+]], i32 32)
// CHECK:       [[B:%\S+]] = bitcast <16 x i1> [[K]] to i16
// CHECK:       [[N:%\S+]] = icmp eq i16 [[B]], 0
// CHECK:       call <16 x bfloat> @llvm.x86.avx512bf16.cvtneps2bf16.512(<16 x float> [[V]])
// CHECK:       [[Q:%\S+]] = bitcast <16 x bfloat>
// CHECK:       br i1 [[N]], label %[[DONE:\S+]], label %[[RARE:\S+]], !prof !1
// CHECK:       [[RARE]]:
// CHECK:       fcmp uno <16 x float>
// CHECK:       [[E:%\S+]] = trunc <16 x i32> {{.*}} to <16 x i16>
// CHECK:       [[DONE]]:
// CHECK-NEXT:  phi <16 x i16> [ [[Q]], {{.*}} ], [ [[E]], %[[RARE]] ]
func.func private @sixteen(%x: memref<64xf32> {llvm.noalias}, %b: memref<64xbf16> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  %s = arith.constant 16 : index
  scf.for %i = %c0 to %n step %s {
    %v = vector.load %x[%i] : memref<64xf32>, vector<16xf32>
    %p = arith.truncf %v : vector<16xf32> to vector<16xbf16>
    vector.store %p, %b[%i] : memref<64xbf16>, vector<16xbf16>
  }
  func.return
}

// Others always are.
// CHECK-LABEL: define internal void @eight
// CHECK-NOT:   bfloat
// CHECK:       fcmp uno <8 x float>
func.func private @eight(%x: memref<64xf32> {llvm.noalias}, %b: memref<64xbf16> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  %s = arith.constant 8 : index
  scf.for %i = %c0 to %n step %s {
    %v = vector.load %x[%i] : memref<64xf32>, vector<8xf32>
    %p = arith.truncf %v : vector<8xf32> to vector<8xbf16>
    vector.store %p, %b[%i] : memref<64xbf16>, vector<8xbf16>
  }
  func.return
}

func.func @main(%x: memref<64xf32>, %b: memref<64xbf16>) attributes {lamina.entry} {
  func.call @sixteen(%x, %b) : (memref<64xf32>, memref<64xbf16>) -> ()
  func.call @eight(%x, %b) : (memref<64xf32>, memref<64xbf16>) -> ()
  func.return
}
