// RUN: lamina-opt %s -t llvmir | filecheck %s

// Lanes that may be neighbours are compared: one load of them, one of them in reverse, or each for itself.
// CHECK-LABEL: define internal void @runs
// CHECK:         [[WIDE:%\S+]] = sext <8 x i32> {{%\S+}} to <8 x i64>
// CHECK:         [[FIRST:%\S+]] = extractelement <8 x i64> [[WIDE]], i64 0
// CHECK:         [[STEPS:%\S+]] = sub <8 x i64> [[WIDE]],
// CHECK:         icmp ne <8 x i64> [[STEPS]], <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
// CHECK:         br i1 {{%\S+}}, label {{%\S+}}, label {{%\S+}}
// CHECK:       {{^run}}
// CHECK:         call <8 x float> @llvm.masked.load.v8f32.p0(
// CHECK:       {{^norun}}
// CHECK:         icmp ne <8 x i64> [[STEPS]], <i64 0, i64 -1, i64 -2, i64 -3, i64 -4, i64 -5, i64 -6, i64 -7>
// CHECK:         sub i64 [[FIRST]], 7
// CHECK:         call <8 x float> @llvm.masked.load.v8f32.p0(
// CHECK:         shufflevector
// CHECK:         call <8 x float> @llvm.masked.gather.v8f32.v8p0(
// CHECK:         phi <8 x float>
func.func private @runs(%m: memref<4x8xf32> {llvm.noalias}, %offsets: memref<8xi32> {llvm.noalias}, %bits: memref<8xi1> {llvm.noalias}, %out: memref<8xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %pass = arith.constant dense<-1.0> : vector<8xf32>
  %off = vector.load %offsets[%c0] : memref<8xi32>, vector<8xi32>
  %mask = vector.load %bits[%c0] : memref<8xi1>, vector<8xi1>
  %g = loop.gather %m[%c0, %c0][%off], %mask, %pass {runs} : memref<4x8xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> -> vector<8xf32>
  vector.store %g, %out[%c0] : memref<8xf32>, vector<8xf32>
  func.return
}

// Where none are expected nothing is compared.
// CHECK-LABEL: define internal void @lanes
// CHECK-NOT:     icmp
// CHECK:         call <8 x float> @llvm.masked.gather.v8f32.v8p0(
// CHECK-NOT:     phi
func.func private @lanes(%m: memref<4x8xf32> {llvm.noalias}, %offsets: memref<8xi64> {llvm.noalias}, %out: memref<8xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %pass = arith.constant dense<-1.0> : vector<8xf32>
  %mask = arith.constant dense<true> : vector<8xi1>
  %off = vector.load %offsets[%c0] : memref<8xi64>, vector<8xi64>
  %g = loop.gather %m[%c0, %c0][%off], %mask, %pass : memref<4x8xf32>, vector<8xi64>, vector<8xi1>, vector<8xf32> -> vector<8xf32>
  vector.store %g, %out[%c0] : memref<8xf32>, vector<8xf32>
  func.return
}

func.func @main(%m: memref<4x8xf32>, %offsets: memref<8xi32>, %bits: memref<8xi1>, %wide: memref<8xi64>, %out: memref<8xf32>) attributes {lamina.entry} {
  func.call @runs(%m, %offsets, %bits, %out) : (memref<4x8xf32>, memref<8xi32>, memref<8xi1>, memref<8xf32>) -> ()
  func.call @lanes(%m, %wide, %out) : (memref<4x8xf32>, memref<8xi64>, memref<8xf32>) -> ()
  func.return
}
