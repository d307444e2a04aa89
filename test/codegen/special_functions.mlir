// RUN: lamina-opt %s -t llvmir{cpu=x86-64-v4} | filecheck %s

// A special function is a function of its own, not inlined; in f32 it calls the one in f64.

// CHECK: define internal <16 x float> @lamina.digamma.v16f32(<16 x float> %x0) noinline
// CHECK: call <8 x double> @lamina.digamma.v8f64(<8 x double>
// CHECK: define internal <8 x double> @lamina.digamma.v8f64(<8 x double> %x0) noinline
// CHECK-LABEL: define internal void @apart
// CHECK: call <16 x float> @lamina.digamma.v16f32(<16 x float>
func.func private @apart(%x: memref<16xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
  %e = loop.special "digamma"(%v) : vector<16xf32>
  vector.store %e, %x[%c0] : memref<16xf32>, vector<16xf32>
  func.return
}

func.func @main(%x: memref<16xf32>) attributes {lamina.entry} {
  func.call @apart(%x) : (memref<16xf32>) -> ()
  func.return
}
