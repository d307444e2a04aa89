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
