// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s
// Rows in the lanes of vectors, and a step for each factor.

// CHECK-LABEL: @kernel
// CHECK:         memref.alloca() {alignment = 64 : i64} : memref<528xf32>
// CHECK-NOT:     loop.fourier
func.func private @kernel(%x: memref<5x64xf32>, %t: memref<64x2xf32>, %y: memref<5x33x2xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false, lanes = 8, factors = [4, 8]>]} {
  loop.fourier %x by %t outs(%y : memref<5x33x2xf32>) {kind = "r2c", scale = 1.0 : f64} : memref<5x64xf32>, memref<64x2xf32>
  func.return
}

// -----

func.func private @kernel(%x: memref<5x64xf32>, %t: memref<64x2xf32>, %y: memref<5x33x2xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false, lanes = 3>]} {
  // expected-error@below {{lanes = 3: a power of 2, and 8 at most}}
  loop.fourier %x by %t outs(%y : memref<5x33x2xf32>) {kind = "r2c", scale = 1.0 : f64} : memref<5x64xf32>, memref<64x2xf32>
  func.return
}

// -----

func.func private @kernel(%x: memref<5x64xf32>, %t: memref<64x2xf32>, %y: memref<5x33x2xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false, lanes = 64>]} {
  // expected-error@below {{lanes = 64: a power of 2, and 8 at most}}
  loop.fourier %x by %t outs(%y : memref<5x33x2xf32>) {kind = "r2c", scale = 1.0 : f64} : memref<5x64xf32>, memref<64x2xf32>
  func.return
}

// -----

func.func private @kernel(%x: memref<5x64xf32>, %t: memref<64x2xf32>, %y: memref<5x33x2xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false, factors = [4, 4]>]} {
  // expected-error@below {{factors = [4, 4]: their product is 32, and none is 1}}
  loop.fourier %x by %t outs(%y : memref<5x33x2xf32>) {kind = "r2c", scale = 1.0 : f64} : memref<5x64xf32>, memref<64x2xf32>
  func.return
}

// -----

func.func private @kernel(%x: memref<5x64xf32>, %t: memref<64x2xf32>, %y: memref<5x33x2xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false, jam = 2>]} {
  // expected-error@below {{jam: loop.fourier here may have parallel, lanes, factors}}
  loop.fourier %x by %t outs(%y : memref<5x33x2xf32>) {kind = "r2c", scale = 1.0 : f64} : memref<5x64xf32>, memref<64x2xf32>
  func.return
}

// -----

// expected-error@below {{#loop.unstructured: factors: 64 is not between 1 and 32}}
func.func private @kernel(%x: memref<5x64xf32>, %t: memref<64x2xf32>, %y: memref<5x33x2xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false, factors = [64]>]} {
  loop.fourier %x by %t outs(%y : memref<5x33x2xf32>) {kind = "r2c", scale = 1.0 : f64} : memref<5x64xf32>, memref<64x2xf32>
  func.return
}
