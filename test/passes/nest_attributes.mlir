// RUN: %invalid

// What passes note on a nest is verified: a wrong note is an error, never another result.
func.func @width_is_not_that_of_the_layout(%a: tensor<8x4xf32>, %b: tensor<2x4x16xf32>) -> tensor<8x32xf32> {
  %r = loop.generic (i, j, k) in [8, 32, 4] reads(%a[i, k] : tensor<8x4xf32>, %b[j floordiv 16, k, j mod 16] : tensor<2x4x16xf32>) writes([i, j] add : tensor<8x32xf32>) attributes {lamina.packing = #loop.packing<panel = 8>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x32xf32>
}
// CHECK: lamina.packing: panel = 8, and read 1 is no operand in such panels

// -----

func.func @no_product(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8] reads(%a[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.packing = #loop.packing<panel = 8>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.packing stands on what is no matrix product

// -----

func.func @no_dimension(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8] reads(%a[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.nest: rows = [d1] of a domain of 1, d0 to d0

// -----

func.func @other_rows(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %k = loop.kernel(%x = %a : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
    %s = loop.generic (i, j) in [8, 8] reads(%x[i, j] : tensor<8x8xf32>) writes([i, j] store : tensor<8x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%p: f32):
      loop.yield %p : f32
    }
    %r = loop.generic (i, j) in [8, 8] reads(%s[j, i] : tensor<8x8xf32>) writes([i, j] store : tensor<8x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%p: f32):
      loop.yield %p : f32
    }
    loop.return %r : tensor<8x8xf32>
  }
  func.return %k : tensor<8x8xf32>
}
// CHECK: it touches other rows (d0) of what a nest in front of it touches in the kernel

// -----

func.func @unwritten(%a: tensor<0xf32>) -> tensor<8xf32> {
  %r = loop.generic (i) in [0] reads(%a[i] : tensor<0xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: write 0 reaches 0 places of a result with 8 elements

// -----

func.func @written_twice(%a: tensor<2x2xf32>) -> tensor<4xf32> {
  %r = loop.generic (i, j) in [2, 2] reads(%a[i, j] : tensor<2x2xf32>) writes([i + j] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK: write 0 reaches the same element at several positions

// -----

func.func @not_in_pairs(%a: tensor<20x64xbf16>, %b: tensor<48x64xbf16>) -> tensor<20x48xf32> {
  %r = loop.generic (m, n, k) in [20, 48, 64] reads(%a[m, k] : tensor<20x64xbf16>, %b[n, k] : tensor<48x64xbf16>) writes([m, n] add : tensor<20x48xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pairs = 0>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<20x48xf32>
}
// CHECK: read 0 is not packed in pairs: that would be [(d0 floordiv 16), (d2 floordiv 2), (d0 mod 16), (d2 mod 2)] of shape [2, 32, 16, 2]

// -----

func.func @pairs_of_f32(%a: tensor<20x64xf32>, %b: tensor<64x48xf32>) -> tensor<20x48xf32> {
  %r = loop.generic (m, n, k) in [20, 48, 64] reads(%a[m, k] : tensor<20x64xf32>, %b[k, n] : tensor<64x48xf32>) writes([m, n] add : tensor<20x48xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<20x48xf32>
}
// CHECK: lamina.packing: pairs stand, beside panel = 32, on a matrix product of bf16

// -----

func.func @bounds_of_rows(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i, j) in [8, 8] reads(%a[i, j] : tensor<8x8xf32>) writes([i] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.bounds = #loop.bounds<0, lower affine_map<(i, j) -> ()>, upper affine_map<(i, j) -> (j)>>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.bounds are of d0, no dimension beside its rows

// -----

func.func @bounds_by_other_dimensions(%a: tensor<8x8x8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i, j, k) in [8, 8, 8] reads(%a[i, j, k] : tensor<8x8x8xf32>) writes([i] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.bounds = #loop.bounds<1, lower affine_map<(i, j, k) -> (k)>, upper affine_map<(i, j, k) -> ()>>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.bounds vary with d2, not in its rows

// -----

func.func @bounds_that_no_mask_gives(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %k = loop.kernel(%x = %a : tensor<8x8xf32>) -> (tensor<8xf32>) {
    %r = loop.generic (i, j) in [8, 8] reads(%x[i, j] : tensor<8x8xf32>) writes([i] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.bounds = #loop.bounds<1, lower affine_map<(i, j) -> ()>, upper affine_map<(i, j) -> (i + 1)>>} {
    ^bb0(%p: f32):
      loop.yield %p : f32
    }
    loop.return %r : tensor<8xf32>
  }
  func.return %k : tensor<8xf32>
}
// CHECK: its lamina.bounds do not follow from the kernel: it has none

// -----

func.func @tasks_pack_runs(%a: tensor<8x4xf32>, %b: tensor<4x64xf32>) -> tensor<8x32xf32> {
  %r = loop.generic (i, j, k) in [8, 32, 4] reads(%a[i, k] : tensor<8x4xf32>, %b[k, 2 * j] : tensor<4x64xf32>) writes([i, j] add : tensor<8x32xf32>) attributes {lamina.packing = #loop.packing<panel = 16, pack_at = task>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x32xf32>
}
// CHECK: lamina.packing: pack_at = task stands on read 1, which is not in runs of neighbours

// -----

func.func @tasks_pack_pairs_unasked(%a: tensor<8x4xf32>, %b: tensor<4x32xf32>) -> tensor<8x32xf32> {
  %r = loop.generic (i, j, k) in [8, 32, 4] reads(%a[i, k] : tensor<8x4xf32>, %b[k, j] : tensor<4x32xf32>) writes([i, j] add : tensor<8x32xf32>) attributes {lamina.packing = #loop.packing<panel = 16, pack_at = task, pairs = 1>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x32xf32>
}
// CHECK: #loop.packing: pack_at = task beside pairs; tasks pack these where the columns are neighbours

// -----

func.func @tasks_pack_what_rows_are_of(%a: tensor<8x4xf64>, %b: tensor<4x32xf16>) -> tensor<8x32xf64> {
  %r = loop.generic (i, j, k) in [8, 32, 4] reads(%a[i, k] : tensor<8x4xf64>, %b[k, j] : tensor<4x32xf16>) writes([i, j] add : tensor<8x32xf64>) attributes {lamina.packing = #loop.packing<panel = 16, pack_at = task>} {
  ^bb0(%p: f64, %q: f16):
    %w = arith.extf %q : f16 to f64
    %v = arith.mulf %p, %w : f64
    loop.yield %v : f64
  }
  func.return %r : tensor<8x32xf64>
}
// CHECK: lamina.packing: pack_at = task of f16 by f64, which tasks do not pack

// -----

func.func @stream_of_what_needs_no_product(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %k = loop.kernel(%x = %a : tensor<8x8xf32>) -> (tensor<8xf32>) {
    %r = loop.generic (i, j) in [8, 8] reads(%x[i, j] : tensor<8x8xf32>) writes([i] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.stream = #loop.stream<1, block 4>} {
    ^bb0(%p: f32):
      loop.yield %p : f32
    }
    loop.return %r : tensor<8xf32>
  }
  func.return %k : tensor<8xf32>
}
// CHECK: its lamina.stream does not follow from the kernel: it has none

// -----

func.func @stream_in_blocks_of_nothing(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i, j) in [8, 8] reads(%a[i, j] : tensor<8x8xf32>) writes([i] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.stream = #loop.stream<1, block 0>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.stream has blocks of no positions

// -----

func.func @names_that_are_numbers(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8] reads(%a[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.op = ["exp", 3 : i64]} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.op is a string, or several: not ["exp", 3 : i64]

// -----

func.func @rows_named_twice(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = loop.generic (i, j) in [8, 4] reads(%a[i, j] : tensor<8x4xf32>) writes([i, j] store : tensor<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d1, d1]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK: #loop.nest: rows names one twice

// -----

func.func @rows_that_are_no_dimensions(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = loop.generic (i, j) in [8, 4] reads(%a[i, j] : tensor<8x4xf32>) writes([i, j] store : tensor<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [0]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK: a dimension, such as d0

// -----

func.func @no_such_clause(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = loop.generic (i, j) in [8, 4] reads(%a[i, j] : tensor<8x4xf32>) writes([i, j] store : tensor<8x4xf32>) attributes {lamina.nest = #loop.nest<row = [d0]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK: #loop.nest has no clause 'row'; it has rows, part, live, visited, copied, taken, interleave

// -----

func.func @rows_without_a_type(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = loop.generic (i, j) in [8, 4] reads(%a[i, j] : tensor<8x4xf32>) writes([i, j] store : tensor<8x4xf32>) attributes {lamina.nest = [0]} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK: lamina.nest is a #loop.nest, such as #loop.nest<rows = [d0]>: not [0 : i64]

// -----

func.func @packing_without_a_type(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = loop.generic (i, j) in [8, 4] reads(%a[i, j] : tensor<8x4xf32>) writes([i, j] store : tensor<8x4xf32>) attributes {lamina.packing = 16 : i64} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK: lamina.packing is a #loop.packing, such as #loop.packing<panel = 16>: not 16 : i64

// -----

func.func @panels_of_twelve(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = loop.generic (i, j) in [8, 4] reads(%a[i, j] : tensor<8x4xf32>) writes([i, j] store : tensor<8x4xf32>) attributes {lamina.packing = #loop.packing<panel = 20>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK: #loop.packing: panel = 20; it is a width, a power of 2 or three times one

// -----

func.func @packing_of_no_panels(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = loop.generic (i, j) in [8, 4] reads(%a[i, j] : tensor<8x4xf32>) writes([i, j] store : tensor<8x4xf32>) attributes {lamina.packing = #loop.packing<pack_at = call>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK: #loop.packing: panel is left out; it is a width, a power of 2 or three times one

// -----

func.func @packed_at_no_time(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = loop.generic (i, j) in [8, 4] reads(%a[i, j] : tensor<8x4xf32>) writes([i, j] store : tensor<8x4xf32>) attributes {lamina.packing = #loop.packing<panel = 16, pack_at = noon>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK: #loop.packing: pack_at = noon is none of call, task

// -----

func.func @pairs_of_a_third_read(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = loop.generic (i, j) in [8, 4] reads(%a[i, j] : tensor<8x4xf32>) writes([i, j] store : tensor<8x4xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pairs = 2>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK: #loop.packing: pairs = 2; a product has reads 0 and 1

// -----

func.func @parts_with_a_gap(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %k, %l = loop.kernel(%x = %a : tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %s = loop.generic (i, j) in [8, 8] reads(%x[i, j] : tensor<8x8xf32>) writes([i, j] store : tensor<8x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%p: f32):
      loop.yield %p : f32
    }
    %r = loop.generic (i, j) in [8, 8] reads(%x[j, i] : tensor<8x8xf32>) writes([i, j] store : tensor<8x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], part = 2>} {
    ^bb0(%p: f32):
      loop.yield %p : f32
    }
    loop.return %s, %r : tensor<8x8xf32>, tensor<8x8xf32>
  }
  func.return %k, %l : tensor<8x8xf32>, tensor<8x8xf32>
}
// CHECK: its part = 2 leaves out 1: parts are numbered from 0 on

// -----

func.func @interleaved_with_itself(%a: memref<8xf32>, %b: memref<24xf32>) {
  loop.generic (i) in [8] reads(%a[i] : memref<8xf32>) writes([3 * i] store into %b : memref<24xf32>, [3 * i + 2] store into %b : memref<24xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], interleave>} {
  ^bb0(%p: f32):
    loop.yield %p, %p : f32, f32
  }
  func.return
}
// CHECK: lamina.nest: interleave is for results in pairs, the second of which goes behind the element of the first

// -----

func.func @interleaved_alone(%a: memref<8xf32>, %b: memref<8xf32>) {
  loop.generic (i) in [8] reads(%a[i] : memref<8xf32>) writes([i] store into %b : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], interleave>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK: lamina.nest: interleave is for results in pairs

// -----

func.func @live_digits(%a: tensor<12xf32>, %n: tensor<i64>) -> tensor<12xf32> {
  %r = loop.generic (i) in [12] reads(%a[i] : tensor<12xf32>) writes([i] store : tensor<12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [2, arg1 of 5]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<12xf32>
}
// CHECK: lamina.nest: live = [2, arg1 of 5]: its rows have extents [12]

// -----

func.func @live_without_a_count(%a: tensor<12xf32>) -> tensor<12xf32> {
  %r = loop.generic (i) in [12] reads(%a[i] : tensor<12xf32>) writes([i] store : tensor<12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [2, 6]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<12xf32>
}
// CHECK: lamina.nest: live = [2, 6]: no digit ends at an argument

// -----

func.func private @live_of_no_number(%a: tensor<12xf32>) -> tensor<12xf32> attributes {lamina.kernel} {
  %r = loop.generic (i) in [12] reads(%a[i] : tensor<12xf32>) writes([i] store : tensor<12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg0 of 12]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<12xf32>
}
// CHECK: live: arg0 of its kernel is no tensor or memref of i64

// -----

func.func private @live_of_one_nest(%a: tensor<12xf32>, %n: tensor<i64>) -> (tensor<12xf32>, tensor<12xf32>) attributes {lamina.kernel} {
  %r = loop.generic (i) in [12] reads(%a[i] : tensor<12xf32>) writes([i] store : tensor<12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 12]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %s = loop.generic (i) in [12] reads(%a[i] : tensor<12xf32>) writes([i] store : tensor<12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r, %s : tensor<12xf32>, tensor<12xf32>
}
// CHECK: of its rows all are live, of those of the first nest in its kernel [arg1 of 12]

// -----

func.func private @live_scan_of_no_number(%a: tensor<12xf32>, %n: tensor<f32>) -> tensor<12xf32> attributes {lamina.kernel} {
  %r = loop.scan (d0) in [12] along 0 reads(%a[d0] : tensor<12xf32>) carries(0.0 : f32) gives(tensor<12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 12]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<12xf32>
}
// CHECK: live: arg1 of its kernel is no tensor or memref of i64

// -----

func.func private @copied_of_no_argument(%a: tensor<12xf32>, %i: tensor<5xi64>) -> tensor<12xf32> attributes {lamina.kernel} {
  %r = loop.scatter (d0) in [5] reads(%i[d0] : tensor<5xi64>) into(%a : tensor<12xf32>) attributes {lamina.nest = #loop.nest<copied = [arg7 of 12]>} {
  ^bb0(%p: i64, %old: f32):
    %at = arith.index_cast %p : i64 to index
    %twice = arith.addf %old, %old : f32
    loop.yield %at, %twice : index, f32
  }
  func.return %r : tensor<12xf32>
}
// CHECK: copied: arg7 of its kernel is no tensor or memref of i64

// -----

func.func @ends_are_no_array(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i, j) in [8, 8] reads(%a[i, j] : tensor<8x8xf32>) writes([i] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = #loop.bounds<1, lower affine_map<(i, j)[n] -> ()>, upper affine_map<(i, j)[n] -> (n)>, counts [1]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.ends is an array of #loop.bounds, not #loop.bounds<1

// -----

func.func @end_of_a_row(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i, j) in [8, 8] reads(%a[i, j] : tensor<8x8xf32>) writes([i] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<0, lower affine_map<(i, j)[n] -> ()>, upper affine_map<(i, j)[n] -> (n)>, counts [1]>]} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.ends are of d0, no dimension beside its rows

// -----

func.func @end_of_no_number(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i, j) in [8, 8] reads(%a[i, j] : tensor<8x8xf32>) writes([i] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(i, j) -> ()>, upper affine_map<(i, j) -> (i + 1)>>]} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.ends: of d1 are upper bounds, each of one number of the call, less positions of rows: not #loop.bounds

// -----

func.func @two_ends_of_one_dimension(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i, j) in [8, 8] reads(%a[i, j] : tensor<8x8xf32>) writes([i] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(i, j)[n] -> ()>, upper affine_map<(i, j)[n] -> (n)>, counts [1]>, #loop.bounds<1, lower affine_map<(i, j)[n] -> ()>, upper affine_map<(i, j)[n] -> (n)>, counts [1]>]} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.ends: d1 has one entry, with bounds

// -----

func.func @least_of_no_dimension(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8] reads(%a[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.least_extents = array<i64: 1, 1>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.least_extents has 2 numbers for 1 dimensions

// -----

func.func @least_above_the_extent(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8] reads(%a[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.least_extents = array<i64: 9>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.least_extents: 9 of d0 is not in 0 to 8

// -----

func.func @least_no_numbers(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8] reads(%a[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.least_extents = "one"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.least_extents is an array<i64> of extents, not "one"
