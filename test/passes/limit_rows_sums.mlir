// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-rows,limit-rows --split-input-file | filecheck %s

// Rows that a task takes in turn are those that count, where the others add nothing to sums and nobody reads what else
// they give.
// CHECK-LABEL: @main
func.func @main(%x: tensor<64x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x8xf32> {lamina.sizes = [0, -1]}, tensor<4x8xf32>, tensor<i64> {lamina.kind = "size"}) {
  %0, %1 = func.call @sums(%x, %n) : (tensor<64x8xf32>, tensor<i64>) -> (tensor<64x8xf32>, tensor<4x8xf32>)
  %2 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1, %2 : tensor<64x8xf32>, tensor<4x8xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @sums(
// CHECK:         store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64]>}
// CHECK:         store : tensor<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64]>}
// CHECK:         add : tensor<4x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64]>}
func.func private @sums(%x: tensor<64x8xf32>, %n: tensor<i64>) -> (tensor<64x8xf32>, tensor<4x8xf32>) attributes {lamina.kernel} {
  %m = loop.generic (p, i) in [4, 16] reads(%n[] : tensor<i64>) writes([p * 16 + i] store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%e: i64):
    %p = loop.index 0 : index
    %i = loop.index 1 : index
    %s = arith.constant 16 : index
    %t = arith.muli %p, %s : index
    %q = arith.addi %t, %i : index
    %r = arith.index_cast %q : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    loop.yield %c : i1
  }
  %0 = loop.generic (p, i, j) in [4, 16, 8] reads(%x[p * 16 + i, j] : tensor<64x8xf32>) writes([p * 16 + i, j] store : tensor<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  %1 = loop.generic (p, i, j) in [4, 16, 8] reads(%m[p * 16 + i] : tensor<64xi1>, %0[p * 16 + i, j] : tensor<64x8xf32>) writes([p, j] add : tensor<4x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return %0, %1 : tensor<64x8xf32>, tensor<4x8xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Not so where all rows of a result are read, nor where no mask makes 0 of what is summed.
// CHECK-LABEL: @whole
// CHECK-NOT:     live
func.func @whole(%x: tensor<64x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0, %1 = func.call @read(%x, %n) : (tensor<64x8xf32>, tensor<i64>) -> (tensor<64x8xf32>, tensor<8xf32>)
  %2 = func.call @unmasked(%x, %n) : (tensor<64x8xf32>, tensor<i64>) -> tensor<8xf32>
  func.return %0, %1, %2 : tensor<64x8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func private @read(%x: tensor<64x8xf32>, %n: tensor<i64>) -> (tensor<64x8xf32>, tensor<8xf32>) attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 8] reads(%x[i, j] : tensor<64x8xf32>) writes([i, j] store : tensor<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  %1 = loop.generic (i, j) in [64, 8] reads(%x[i, j] : tensor<64x8xf32>, %n[] : tensor<i64>) writes([j] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %e: i64):
    %i = loop.index 0 : index
    %r = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return %0, %1 : tensor<64x8xf32>, tensor<8xf32>
}
func.func private @unmasked(%x: tensor<64x8xf32>, %n: tensor<i64>) -> tensor<8xf32> attributes {lamina.kernel} {
  %1 = loop.generic (i, j) in [64, 8] reads(%x[i, j] : tensor<64x8xf32>, %n[] : tensor<i64>) writes([j] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %e: i64):
    %i = loop.index 0 : index
    %r = arith.index_cast %i : index to i64
    %c = arith.cmpi sle, %r, %e : i64
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return %1 : tensor<8xf32>
}
