// RUN: lamina-opt %s --from prims --to loop --split-input-file --verify-diagnostics | filecheck %s
// Sizes whose steps would be too long are said, with what takes them.

// CHECK: loop.extern
func.func @main(%a: tensor<3x74xf32>) -> tensor<3x38xcomplex<f32>> {
  %0 = prims.fft_r2c(%a, dim = [1], onesided = true) : (tensor<3x74xf32>) -> tensor<3x38xcomplex<f32>>
  return %0 : tensor<3x38xcomplex<f32>>
}

// -----

func.func @main(%a: tensor<3x74xf32>) -> tensor<3x38xcomplex<f32>> {
  // expected-error@below {{74 numbers have the prime factor 37; steps are of 32 at most}}
  %0 = prims.fourier(%a, kind = "r2c", size = 74) : (tensor<3x74xf32>) -> tensor<3x38xcomplex<f32>>
  return %0 : tensor<3x38xcomplex<f32>>
}
