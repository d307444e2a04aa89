// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// Calls that differ in nothing but the sizes at which they end share a kernel: the number is an argument.
// CHECK-LABEL: @two_sizes
// CHECK:         %0 = func.call @double(%x, %n)
// CHECK:         %1 = func.call @double(%y, %m)
// CHECK:       func.func private @double(%a: tensor<64x16xf32>, %count: tensor<i64>)
// CHECK:         live = [arg1 of 64]
// CHECK-NOT:   @double_1
func.func @two_sizes(%x: tensor<64x16xf32>, %y: tensor<64x16xf32>, %n: tensor<i64> {lamina.kind = "input"}, %m: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x16xf32> {lamina.sizes = [0, -1]}, tensor<64x16xf32> {lamina.sizes = [1, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @double(%x) : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %1 = func.call @double(%y) : (tensor<64x16xf32>) -> tensor<64x16xf32>
  func.return %0, %1, %n, %m : tensor<64x16xf32>, tensor<64x16xf32>, tensor<i64>, tensor<i64>
}
func.func private @double(%a: tensor<64x16xf32>) -> tensor<64x16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 16] reads(%a[i, j] : tensor<64x16xf32>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %w = arith.addf %v, %v : f32
    loop.yield %w : f32
  }
  func.return %0 : tensor<64x16xf32>
}

// -----

// One that has a size as an argument of its own, which the other call has not, does not end at that.
// CHECK-LABEL: @own_argument
// CHECK:         %0 = func.call @scaled(%x, %n, %n)
// CHECK:         %1 = func.call @scaled(%y, %n, %m)
// CHECK:       func.func private @scaled(%a: tensor<64x16xf32>, %s: tensor<i64>, %count: tensor<i64>)
// CHECK:         live = [arg2 of 64]
func.func @own_argument(%x: tensor<64x16xf32>, %y: tensor<64x16xf32>, %n: tensor<i64> {lamina.kind = "input"}, %m: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x16xf32> {lamina.sizes = [0, -1]}, tensor<64x16xf32> {lamina.sizes = [1, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @scaled(%x, %n) : (tensor<64x16xf32>, tensor<i64>) -> tensor<64x16xf32>
  %1 = func.call @scaled(%y, %n) : (tensor<64x16xf32>, tensor<i64>) -> tensor<64x16xf32>
  func.return %0, %1, %n, %m : tensor<64x16xf32>, tensor<64x16xf32>, tensor<i64>, tensor<i64>
}
func.func private @scaled(%a: tensor<64x16xf32>, %s: tensor<i64>) -> tensor<64x16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 16] reads(%a[i, j] : tensor<64x16xf32>, %s[] : tensor<i64>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %n: i64):
    %f = arith.sitofp %n : i64 to f32
    %w = arith.mulf %v, %f : f32
    loop.yield %w : f32
  }
  func.return %0 : tensor<64x16xf32>
}

// -----

// A call that ends at one size twice is not like one that ends at two.
// CHECK-LABEL: @one_and_two
// CHECK:         func.call @blocks(%x, %n)
// CHECK:         func.call @blocks_1(%y, %n, %m)
func.func @one_and_two(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>, %n: tensor<i64> {lamina.kind = "input"}, %m: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x16xf32> {lamina.sizes = [0, 0]}, tensor<8x16xf32> {lamina.sizes = [0, 1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @blocks(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = func.call @blocks(%y) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  func.return %0, %1, %n, %m : tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>, tensor<i64>
}
func.func private @blocks(%a: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [8, 16] reads(%a[i, j] : tensor<8x16xf32>) writes([i, j] store : tensor<8x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32):
    %w = arith.addf %v, %v : f32
    loop.yield %w : f32
  }
  func.return %0 : tensor<8x16xf32>
}

// -----

// A number that a kernel adds up, and compares with positions, is returned: the rows of another end there.
// CHECK-LABEL: @added_up
// CHECK:         %{{.*}}, [[N:%\S+]] = func.call @marks(%m)
// CHECK:         func.call @double(%x, [[N]])
// CHECK:       func.func private @double
// CHECK:         live = [arg1 of 64]
func.func @added_up(%m: tensor<64xi1>, %x: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %0 = func.call @marks(%m) : (tensor<64xi1>) -> tensor<64xi1>
  %2 = func.call @double(%x) : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %1 = func.call @masked(%2, %0) : (tensor<64x16xf32>, tensor<64xi1>) -> tensor<64x16xf32>
  func.return %1 : tensor<64x16xf32>
}
func.func private @marks(%m: tensor<64xi1>) -> tensor<64xi1> attributes {lamina.kernel} {
  %n = loop.generic (i) in [64] reads(%m[i] : tensor<64xi1>) writes([] add : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i1):
    %b = arith.extui %a : i1 to i64
    loop.yield %b : i64
  }
  %0 = loop.generic (i) in [64] reads(%n[] : tensor<i64>) writes([i] store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = [d0], part = 1>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  func.return %0 : tensor<64xi1>
}
func.func private @double(%a: tensor<64x16xf32>) -> tensor<64x16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 16] reads(%a[i, j] : tensor<64x16xf32>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %w = arith.addf %v, %v : f32
    loop.yield %w : f32
  }
  func.return %0 : tensor<64x16xf32>
}
func.func private @masked(%a: tensor<64x16xf32>, %m: tensor<64xi1>) -> tensor<64x16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 16] reads(%a[i, j] : tensor<64x16xf32>, %m[i] : tensor<64xi1>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %c: i1):
    %z = arith.constant 0.0 : f32
    %w = arith.select %c, %v, %z : f32
    loop.yield %w : f32
  }
  func.return %0 : tensor<64x16xf32>
}
