// RUN: lamina-opt %s -t llvmir | filecheck %s

// Gather with a mask, i1 vectors in memory, shuffle, extract and insert, non-temporal store.

// CHECK-LABEL: define internal void @vectors
// CHECK: call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4
// CHECK: !nontemporal !0
// CHECK: zext <8 x i1> {{.*}} to <8 x i8>
func.func private @vectors(%m: memref<4x8xf32> {llvm.noalias}, %offsets: memref<8xi32> {llvm.noalias},
    %bits: memref<8xi1> {llvm.noalias}, %out: memref<5x8xf32> {llvm.noalias}, %more: memref<8xi1> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %pass = arith.constant dense<-1.0> : vector<8xf32>
  %half = arith.constant dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]> : vector<8xf32>
  %off = vector.load %offsets[%c0] : memref<8xi32>, vector<8xi32>
  %mask = vector.load %bits[%c0] : memref<8xi1>, vector<8xi1>
  %g = loop.gather %m[%c1, %c0][%off], %mask, %pass : memref<4x8xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> -> vector<8xf32>
  vector.store %g, %out[%c0, %c0] : memref<5x8xf32>, vector<8xf32>
  %a = vector.load %m[%c0, %c0] : memref<4x8xf32>, vector<8xf32>
  %b = vector.load %m[%c1, %c0] : memref<4x8xf32>, vector<8xf32>
  %s = vector.shuffle %a, %b [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
  vector.store %s, %out[%c1, %c0] {nontemporal = true} : memref<5x8xf32>, vector<8xf32>
  %e = vector.extract %a[2] : f32 from vector<8xf32>
  %d = vector.extract %a[%c3] : f32 from vector<8xf32>
  %sum = arith.addf %e, %d : f32
  %i = vector.insert %sum, %a[5] : f32 into vector<8xf32>
  vector.store %i, %out[%c2, %c0] : memref<5x8xf32>, vector<8xf32>
  %f = vector.fma %a, %b, %half : vector<8xf32>
  vector.store %f, %out[%c3, %c0] : memref<5x8xf32>, vector<8xf32>
  loop.prefetch %m[%c3, %c0] : memref<4x8xf32>
  loop.prefetch %m[%c2, %c0] {locality = 2 : i64} : memref<4x8xf32>
  %n = arith.constant 3 : index
  %first = vector.create_mask %n : vector<8xi1>
  %x = arith.xori %mask, %first : vector<8xi1>
  vector.store %x, %more[%c0] : memref<8xi1>, vector<8xi1>
  vector.maskedstore %out[%c4, %c0], %mask, %a : memref<5x8xf32>, vector<8xi1>, vector<8xf32>
  func.return
}

func.func @main(%m: memref<4x8xf32>, %offsets: memref<8xi32>, %bits: memref<8xi1>, %out: memref<5x8xf32>, %more: memref<8xi1>) attributes {lamina.entry} {
  func.call @vectors(%m, %offsets, %bits, %out, %more) : (memref<4x8xf32>, memref<8xi32>, memref<8xi1>, memref<5x8xf32>, memref<8xi1>) -> ()
  func.return
}
