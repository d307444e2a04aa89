// RUN: %invalid

// CHECK: loop.generic: lamina.cut: argument 2 is to have i64 of 0 dimensions
func.func private @product(%x: tensor<32x64xf32>, %p: tensor<1x64x32xf32>, %n: tensor<i32>) -> tensor<32x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [32, 32, 64] reads(%x[i, k] : tensor<32x64xf32>, %p[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>, lamina.cut = #loop.bounds<2, lower affine_map<(i, j, k)[n] -> ()>, upper affine_map<(i, j, k)[n] -> (n)>, counts [2]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<32x32xf32>
}

// -----

// CHECK: lamina.cut stands on no product, or on one in pairs
func.func private @product(%x: tensor<32x64xf32>, %p: tensor<1x64x32xf32>, %n: tensor<i64>) -> tensor<32x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [32, 32, 64] reads(%x[i, k] : tensor<32x64xf32>, %p[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.cut = #loop.bounds<2, lower affine_map<(i, j, k)[n] -> ()>, upper affine_map<(i, j, k)[n] -> (n)>, counts [2]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<32x32xf32>
}

// -----

// CHECK: lamina.cut is of the dimension that is summed, not of d1
func.func private @product(%x: tensor<32x64xf32>, %p: tensor<1x64x32xf32>, %n: tensor<i64>) -> tensor<32x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [32, 32, 64] reads(%x[i, k] : tensor<32x64xf32>, %p[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>, lamina.cut = #loop.bounds<1, lower affine_map<(i, j, k)[n] -> ()>, upper affine_map<(i, j, k)[n] -> (n)>, counts [2]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<32x32xf32>
}

// -----

// CHECK: lamina.cut is one number of the call, an upper bound
func.func private @product(%x: tensor<32x64xf32>, %p: tensor<1x64x32xf32>, %n: tensor<i64>) -> tensor<32x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [32, 32, 64] reads(%x[i, k] : tensor<32x64xf32>, %p[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>, lamina.cut = #loop.bounds<2, lower affine_map<(i, j, k)[n] -> ()>, upper affine_map<(i, j, k)[n] -> (n + 1)>, counts [2]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<32x32xf32>
}

// -----

// CHECK: lamina.cut is one number of the call, an upper bound
func.func private @product(%x: tensor<32x64xf32>, %p: tensor<1x64x32xf32>, %n: tensor<i64>) -> tensor<32x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [32, 32, 64] reads(%x[i, k] : tensor<32x64xf32>, %p[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>, lamina.cut = #loop.bounds<2, lower affine_map<(i, j, k)[n] -> (n)>, upper affine_map<(i, j, k)[n] -> ()>, counts [2]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<32x32xf32>
}
