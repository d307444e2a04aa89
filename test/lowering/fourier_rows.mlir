// RUN: lamina-opt %s --from prims --to loop | filecheck %s

// Rows behind each other, and with a dimension behind them side by side.
// CHECK: loop.fourier %{{.*}} by %{{.*}} {lamina.op = "prims.fourier", kind = "r2c", scale = 5.000000e-01 : f64} : tensor<4x64xf32>, tensor<64x2xf32> -> tensor<4x33x2xf32>
// CHECK: loop.fourier %{{.*}} by %{{.*}} {lamina.op = "prims.fourier", kind = "c2c", inverse, columns, scale = 1.000000e+00 : f64} : tensor<8x15x2xf64>, tensor<8x2xf64> -> tensor<8x15x2xf64>
func.func @main(%a: tensor<4x64xf32>, %b: tensor<8x5x3xcomplex<f64>>) -> (tensor<4x33xcomplex<f32>>, tensor<8x5x3xcomplex<f64>>) {
  %0 = prims.fourier(%a, kind = "r2c", size = 64, scale = 0.5) : (tensor<4x64xf32>) -> tensor<4x33xcomplex<f32>>
  %1 = prims.fourier(%b, kind = "c2c", size = 8, dim = 0, inverse = true) : (tensor<8x5x3xcomplex<f64>>) -> tensor<8x5x3xcomplex<f64>>
  return %0, %1 : tensor<4x33xcomplex<f32>>, tensor<8x5x3xcomplex<f64>>
}
