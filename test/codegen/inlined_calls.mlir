// RUN: lamina-opt %s -t llvmir{cpu=x86-64-v4} | filecheck %s

// Sixteen calls of vector functions are inlined in a kernel, further ones stay calls; of the sine, what
// large arguments take is a function of its own.

// CHECK-LABEL: define internal <16 x float> @lamina.sin.v16f32(<16 x float> %x0) #1
// CHECK-COUNT-2: call <8 x double> @lamina.sin_for_single.v8f64
// CHECK-LABEL: define internal <8 x double> @lamina.sin_for_single.v8f64(<8 x double> %x0) noinline
// CHECK: call {{.*}} @lamina.reduce_pi.8
// CHECK-LABEL: define internal { double, double, double } @lamina.reduce_pi(double %x) noinline optnone

// CHECK-LABEL: define internal void @exponentials
// CHECK-COUNT-16: call <16 x float> @lamina.exp.v16f32(<16 x float> {{%v[0-9]+}}){{$}}
// CHECK-COUNT-2: call <16 x float> @lamina.exp.v16f32(<16 x float> {{%v[0-9]+}}) noinline
// CHECK-NEXT: call <16 x float> @lamina.sin.v16f32(<16 x float> {{%v[0-9]+}}) noinline
// CHECK-NOT: @lamina.exp
func.func private @exponentials(%x: memref<16xf32>, %y: memref<16xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %e0 = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
  %e1 = math.exp %e0 : vector<16xf32>
  %e2 = math.exp %e1 : vector<16xf32>
  %e3 = math.exp %e2 : vector<16xf32>
  %e4 = math.exp %e3 : vector<16xf32>
  %e5 = math.exp %e4 : vector<16xf32>
  %e6 = math.exp %e5 : vector<16xf32>
  %e7 = math.exp %e6 : vector<16xf32>
  %e8 = math.exp %e7 : vector<16xf32>
  %e9 = math.exp %e8 : vector<16xf32>
  %e10 = math.exp %e9 : vector<16xf32>
  %e11 = math.exp %e10 : vector<16xf32>
  %e12 = math.exp %e11 : vector<16xf32>
  %e13 = math.exp %e12 : vector<16xf32>
  %e14 = math.exp %e13 : vector<16xf32>
  %e15 = math.exp %e14 : vector<16xf32>
  %e16 = math.exp %e15 : vector<16xf32>
  %e17 = math.exp %e16 : vector<16xf32>
  %e18 = math.exp %e17 : vector<16xf32>
  %s = math.sin %e18 : vector<16xf32>
  vector.store %s, %y[%c0] : memref<16xf32>, vector<16xf32>
  func.return
}

// The next function has sixteen of its own.

// CHECK-LABEL: define internal void @another
// CHECK: call <16 x float> @lamina.exp.v16f32(<16 x float> {{%v[0-9]+}}){{$}}
func.func private @another(%x: memref<16xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
  %e = math.exp %v : vector<16xf32>
  vector.store %e, %x[%c0] : memref<16xf32>, vector<16xf32>
  func.return
}

func.func @main(%x: memref<16xf32>, %y: memref<16xf32>) attributes {lamina.entry} {
  func.call @exponentials(%x, %y) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @another(%x) : (memref<16xf32>) -> ()
  func.return
}
