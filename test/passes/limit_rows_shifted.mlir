// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// What is joined behind one row more, and cut to `n + 1`, ends in front of that row where `n` is: both readers agree on `n`.
// CHECK-LABEL: @main
// CHECK:         func.call @make(%x, %n)
// CHECK-LABEL: func.func private @make(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 4]>
func.func @main(%x: tensor<64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<65x4xf32> {lamina.sizes = [1, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @make(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %1 = func.call @join(%0) : (tensor<64x4xf32>) -> tensor<65x4xf32>
  %2 = func.call @more(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1, %n, %2 : tensor<64x4xf32>, tensor<65x4xf32>, tensor<i64>, tensor<i64>
}
func.func private @make(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 4] reads(%x[d0, d1] : tensor<64x4xf32>) writes([d0, d1] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x4xf32>
}
func.func private @join(%x: tensor<64x4xf32>) -> tensor<65x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [65, 4] reads(%x[d0 + -1, d1] pad 1.0 : f32 : tensor<64x4xf32>) writes([d0, d1] store : tensor<65x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<65x4xf32>
}
func.func private @more(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %one = arith.constant 1 : i64
    %b = arith.addi %a, %one : i64
    loop.yield %b : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// So does a number from which one is taken: what is read from the second row on, up to `n - 1`, ends at `n`.
// CHECK-LABEL: @main
// CHECK:         func.call @make(%x, %n)
// CHECK-LABEL: func.func private @make(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 4]>
func.func @main(%x: tensor<64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<63x4xf32> {lamina.sizes = [1, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @make(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %1 = func.call @rest(%0) : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %2 = func.call @less(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1, %n, %2 : tensor<64x4xf32>, tensor<63x4xf32>, tensor<i64>, tensor<i64>
}
func.func private @make(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 4] reads(%x[d0, d1] : tensor<64x4xf32>) writes([d0, d1] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x4xf32>
}
func.func private @rest(%x: tensor<64x4xf32>) -> tensor<63x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [63, 4] reads(%x[d0 + 1, d1] : tensor<64x4xf32>) writes([d0, d1] store : tensor<63x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<63x4xf32>
}
func.func private @less(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %one = arith.constant 1 : i64
    %b = arith.subi %a, %one : i64
    loop.yield %b : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// What a number is taken from (`8 - n`) says nothing of where the other reader ends.
// CHECK-LABEL: @main
// CHECK:         func.call @make(%x)
// CHECK-LABEL: func.func private @make(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @join(
func.func @main(%x: tensor<64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<65x4xf32> {lamina.sizes = [1, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @make(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %1 = func.call @join(%0) : (tensor<64x4xf32>) -> tensor<65x4xf32>
  %2 = func.call @left(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1, %n, %2 : tensor<64x4xf32>, tensor<65x4xf32>, tensor<i64>, tensor<i64>
}
func.func private @make(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 4] reads(%x[d0, d1] : tensor<64x4xf32>) writes([d0, d1] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x4xf32>
}
func.func private @join(%x: tensor<64x4xf32>) -> tensor<65x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [65, 4] reads(%x[d0 + -1, d1] pad 1.0 : f32 : tensor<64x4xf32>) writes([d0, d1] store : tensor<65x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<65x4xf32>
}
func.func private @left(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %eight = arith.constant 8 : i64
    %b = arith.subi %eight, %a : i64
    loop.yield %b : i64
  }
  func.return %0 : tensor<i64>
}
