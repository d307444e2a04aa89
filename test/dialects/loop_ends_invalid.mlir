// RUN: %invalid

// Nothing masks what stands behind the number.
func.func private @end_of_a_whole_sum(%a: memref<8x8xf32>, %n: memref<i64>, %r: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 8] reads(%a[i, j] : memref<8x8xf32>) writes([i] add into %r : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(i, j)[n] -> ()>, upper affine_map<(i, j)[n] -> (n)>, counts [1]>]} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK: its lamina.ends of d1 do not follow from the kernel

// -----

func.func private @end_at_what_is_no_number(%a: memref<8x8xf32>, %n: memref<i32>, %r: memref<8x8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 8] reads(%a[i, j] : memref<8x8xf32>) writes([i, j] store into %r : memref<8x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(i, j)[n] -> ()>, upper affine_map<(i, j)[n] -> (n)>, counts [1]>]} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK: lamina.ends: argument 1 is to be an i64 in memory

// -----

// Rows behind the number are summed as well.
func.func private @live_rows_of_a_whole_sum(%a: memref<8x8xf32>, %n: memref<i64>, %r: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 8] reads(%a[i, j] : memref<8x8xf32>) writes([j] add into %r : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK: of its rows [arg1 of 8] are live: others may add to its sums

// -----

func.func private @no_turns(%n: memref<i64>) -> index {
  %0 = arith.constant 1 : index
  %1 = loop.live_turns %0 of 16 : index(%n) in <[4, arg0 of 8]> : memref<i64>
  func.return %1 : index
}
// CHECK: loop.live_turns: [4, arg0 of 8]: no digit ends the 16 rows of a task

// -----

// What is packed may be infinite behind the number, and 0 times that is no number: `lamina.zeros` does not say otherwise.
func.func private @end_of_a_sum_of_products(%m: tensor<64xi1>, %x: tensor<32x64xf32>, %w: tensor<1x64x32xf32>, %n: tensor<i64>) -> tensor<32x32xf32> attributes {lamina.kernel, lamina.masks = array<i64: 0, 3>} {
  %0 = loop.generic (i, k) in [32, 64] reads(%m[k] : tensor<64xi1>, %x[i, k] : tensor<32x64xf32>) writes([i, k] store : tensor<32x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  %1 = loop.generic (i, j, k) in [32, 32, 64] reads(%0[i, k] : tensor<32x64xf32>, %w[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<2, lower affine_map<(i, j, k)[n] -> ()>, upper affine_map<(i, j, k)[n] -> (n)>, counts [3]>]} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %1 : tensor<32x32xf32>
}
// CHECK: its lamina.ends of d2 do not follow from the kernel
