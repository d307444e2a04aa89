// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// Columns of a product that are no rows end at the number to which its result is cut.
// CHECK-LABEL: func.func @columns(
// CHECK:         func.call @product(%x, %w, %n)
// CHECK-LABEL: func.func private @product(
// CHECK-SAME:    %count: tensor<i64>
// CHECK:         add : tensor<64x128xf32>) attributes {{.*}}lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [2]>]
func.func @columns(%x: tensor<64x32xf32>, %w: tensor<4x32x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x128xf32> {lamina.sizes = [-1, 0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @product(%x, %w) : (tensor<64x32xf32>, tensor<4x32x32xf32>) -> tensor<64x128xf32>
  %1 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1 : tensor<64x128xf32>, tensor<i64>
}
func.func private @product(%x: tensor<64x32xf32>, %w: tensor<4x32x32xf32>) -> tensor<64x128xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 32] reads(%x[i, j] : tensor<64x32xf32>) writes([i, j] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    loop.yield %b : f32
  }
  %1 = loop.generic (i, j, k) in [64, 128, 32] reads(%0[i, k] : tensor<64x32xf32>, %w[j floordiv 32, k, j mod 32] : tensor<4x32x32xf32>) writes([i, j] add : tensor<64x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %1 : tensor<64x128xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// They do not where something in the kernel reads them, or somebody all of them.
// CHECK-LABEL: func.func @sums(
// CHECK-NOT:     lamina.ends
func.func @sums(%x: tensor<64x32xf32>, %w: tensor<4x32x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x128xf32> {lamina.sizes = [-1, 0]}, tensor<64xf32>, tensor<64x128xf32>, tensor<i64> {lamina.kind = "size"}) {
  %0, %1 = func.call @product(%x, %w) : (tensor<64x32xf32>, tensor<4x32x32xf32>) -> (tensor<64x128xf32>, tensor<64xf32>)
  %2 = func.call @whole(%x, %w) : (tensor<64x32xf32>, tensor<4x32x32xf32>) -> tensor<64x128xf32>
  %3 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1, %2, %3 : tensor<64x128xf32>, tensor<64xf32>, tensor<64x128xf32>, tensor<i64>
}
func.func private @product(%x: tensor<64x32xf32>, %w: tensor<4x32x32xf32>) -> (tensor<64x128xf32>, tensor<64xf32>) attributes {lamina.kernel} {
  %1 = loop.generic (i, j, k) in [64, 128, 32] reads(%x[i, k] : tensor<64x32xf32>, %w[j floordiv 32, k, j mod 32] : tensor<4x32x32xf32>) writes([i, j] add : tensor<64x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %2 = loop.generic (i, j) in [64, 128] reads(%1[i, j] : tensor<64x128xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %1, %2 : tensor<64x128xf32>, tensor<64xf32>
}
func.func private @whole(%x: tensor<64x32xf32>, %w: tensor<4x32x32xf32>) -> tensor<64x128xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 32] reads(%x[i, j] : tensor<64x32xf32>) writes([i, j] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    loop.yield %b : f32
  }
  %1 = loop.generic (i, j, k) in [64, 128, 32] reads(%0[i, k] : tensor<64x32xf32>, %w[j floordiv 32, k, j mod 32] : tensor<4x32x32xf32>) writes([i, j] add : tensor<64x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %1 : tensor<64x128xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// What follows a product column by column ends with them, and so does the product; none does where what follows is read on.
// CHECK-LABEL: func.func @followed(
// CHECK-LABEL: func.func private @sum(
// CHECK:         add : tensor<64x128xf32>) attributes {{.*}}lamina.ends = [#loop.bounds<1, {{.*}}counts [3]>]
// CHECK:         store : tensor<64x128xf32>) attributes {{.*}}lamina.ends = [#loop.bounds<1, {{.*}}counts [3]>]
// CHECK-LABEL: func.func private @norm(
// CHECK-NOT:     lamina.ends
func.func @followed(%x: tensor<64x32xf32>, %w: tensor<4x32x32xf32>, %y: tensor<64x128xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x128xf32> {lamina.sizes = [-1, 0]}, tensor<64x128xf32> {lamina.sizes = [-1, 0]}, tensor<64xf32>, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @sum(%x, %w, %y) : (tensor<64x32xf32>, tensor<4x32x32xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %1, %2 = func.call @norm(%x, %w, %y) : (tensor<64x32xf32>, tensor<4x32x32xf32>, tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64xf32>)
  %3 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1, %2, %3 : tensor<64x128xf32>, tensor<64x128xf32>, tensor<64xf32>, tensor<i64>
}
func.func private @sum(%x: tensor<64x32xf32>, %w: tensor<4x32x32xf32>, %y: tensor<64x128xf32>) -> tensor<64x128xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [64, 128, 32] reads(%x[i, k] : tensor<64x32xf32>, %w[j floordiv 32, k, j mod 32] : tensor<4x32x32xf32>) writes([i, j] add : tensor<64x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %1 = loop.generic (i, j) in [64, 128] reads(%0[i, j] : tensor<64x128xf32>, %y[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %1 : tensor<64x128xf32>
}
func.func private @norm(%x: tensor<64x32xf32>, %w: tensor<4x32x32xf32>, %y: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64xf32>) attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [64, 128, 32] reads(%x[i, k] : tensor<64x32xf32>, %w[j floordiv 32, k, j mod 32] : tensor<4x32x32xf32>) writes([i, j] add : tensor<64x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %1 = loop.generic (i, j) in [64, 128] reads(%0[i, j] : tensor<64x128xf32>, %y[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    loop.yield %c : f32
  }
  %2 = loop.generic (i, j) in [64, 128] reads(%1[i, j] : tensor<64x128xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %1, %2 : tensor<64x128xf32>, tensor<64xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Columns that a kernel reduces end where a mask leaves them out, be it the largest or the least of them: in the product, in
// what stands between, and in both reductions. Where one of these takes all columns, the product makes them all.
// CHECK-LABEL: func.func private @extremes(
// CHECK:         add : tensor<16x64xf32>) {{.*}}lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [3]>]
// CHECK:         store : tensor<16x64xf32>) {{.*}}lamina.ends = [#loop.bounds<1,
// CHECK:         max : tensor<16xf32>) {{.*}}lamina.ends = [#loop.bounds<1,
// CHECK:         min : tensor<16xf32>) {{.*}}lamina.ends = [#loop.bounds<1,
// CHECK-LABEL: func.func private @whole(
// CHECK-NOT:     lamina.ends
// CHECK:         func.return
func.func @masked(%p: tensor<2x8x32xf32>, %w: tensor<16x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %0, %1 = func.call @extremes(%p, %w, %m) : (tensor<2x8x32xf32>, tensor<16x8xf32>, tensor<64xi1>) -> (tensor<16xf32>, tensor<16xf32>)
  %2, %3 = func.call @whole(%p, %w, %m) : (tensor<2x8x32xf32>, tensor<16x8xf32>, tensor<64xi1>) -> (tensor<16xf32>, tensor<16xf32>)
  func.return %0, %1, %2, %3 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
func.func private @below(%n: tensor<i64>) -> tensor<64xi1> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [64] reads(%n[] : tensor<i64>) writes([i] store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  func.return %0 : tensor<64xi1>
}
func.func private @extremes(%p: tensor<2x8x32xf32>, %w: tensor<16x8xf32>, %m: tensor<64xi1>) -> (tensor<16xf32>, tensor<16xf32>) attributes {lamina.kernel} {
  %0 = loop.generic (m, n, k) in [16, 64, 8] reads(%p[n floordiv 32, k, n mod 32] : tensor<2x8x32xf32>, %w[m, k] : tensor<16x8xf32>) writes([m, n] add : tensor<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %1 = loop.generic (m, n) in [16, 64] reads(%0[m, n] : tensor<16x64xf32>) writes([m, n] store : tensor<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %c = math.sqrt %a : f32
    loop.yield %c : f32
  }
  %2 = loop.generic (m, n) in [16, 64] reads(%m[n] : tensor<64xi1>, %1[m, n] : tensor<16x64xf32>) writes([m] max : tensor<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0xff800000 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  %3 = loop.generic (m, n) in [16, 64] reads(%m[n] : tensor<64xi1>, %1[m, n] : tensor<16x64xf32>) writes([m] min : tensor<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0x7f800000 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return %2, %3 : tensor<16xf32>, tensor<16xf32>
}
func.func private @whole(%p: tensor<2x8x32xf32>, %w: tensor<16x8xf32>, %m: tensor<64xi1>) -> (tensor<16xf32>, tensor<16xf32>) attributes {lamina.kernel} {
  %0 = loop.generic (m, n, k) in [16, 64, 8] reads(%p[n floordiv 32, k, n mod 32] : tensor<2x8x32xf32>, %w[m, k] : tensor<16x8xf32>) writes([m, n] add : tensor<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %2 = loop.generic (m, n) in [16, 64] reads(%m[n] : tensor<64xi1>, %0[m, n] : tensor<16x64xf32>) writes([m] max : tensor<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0xff800000 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  %3 = loop.generic (m, n) in [16, 64] reads(%0[m, n] : tensor<16x64xf32>) writes([m] min : tensor<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %2, %3 : tensor<16xf32>, tensor<16xf32>
}
