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
