// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-rows,limit-rows --split-input-file | filecheck %s

// A size that follows from others alone is computed in front of what ends at it.
// CHECK-LABEL: @main
// CHECK-NEXT:    [[N:%\S+]] = func.call @twice(%n) : (tensor<i64>) -> tensor<i64>
// CHECK-NEXT:    [[X:%\S+]] = func.call @kernel(%x, [[N]])
// CHECK-NEXT:    func.return [[X]], [[N]]
func.func @main(%x: tensor<64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @kernel(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %1 = func.call @twice(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1 : tensor<64x4xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @kernel(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 4]>
func.func private @kernel(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 4] reads(%x[d0, d1] : tensor<64x4xf32>) writes([d0, d1] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x4xf32>
}
func.func private @twice(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %b = arith.addi %a, %a : i64
    loop.yield %b : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// One that depends on data stays behind them, and rows do not end at it.
// CHECK-LABEL: @main
// CHECK-NEXT:    [[X:%\S+]] = func.call @kernel(%x)
// CHECK-NEXT:    [[N:%\S+]] = func.call @count([[X]])
// CHECK-NEXT:    func.return [[X]], [[N]]
func.func @main(%x: tensor<64xi64>) -> (tensor<64xi64> {lamina.sizes = [0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @kernel(%x) : (tensor<64xi64>) -> tensor<64xi64>
  %1 = func.call @count(%0) : (tensor<64xi64>) -> tensor<i64>
  func.return %0, %1 : tensor<64xi64>, tensor<i64>
}
// CHECK-LABEL: func.func private @kernel(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @count(
func.func private @kernel(%x: tensor<64xi64>) -> tensor<64xi64> attributes {lamina.kernel} {
  %0 = loop.generic (d0) in [64] reads(%x[d0] : tensor<64xi64>) writes([d0] store : tensor<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %b = arith.muli %a, %a : i64
    loop.yield %b : i64
  }
  func.return %0 : tensor<64xi64>
}
func.func private @count(%x: tensor<64xi64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic (d0) in [64] reads(%x[d0] : tensor<64xi64>) writes([] max : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// A result that is cut to a multiple of a number demands as many groups of rows as the number is; one that is cut to what
// is no multiple, or has groups of another size, demands the groups up to the last that it reaches.
// CHECK-LABEL: @main
// CHECK:         [[N:%\S+]], [[M:%\S+]] = func.call @sizes(%n)
// CHECK:         [[GROUPS:%\S+]] = func.call @reach_0([[M]])
// CHECK:         func.call @twice(%x, %n)
// CHECK:         func.call @thrice(%x, [[GROUPS]])
// CHECK-LABEL: func.func private @twice(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 2]>
// CHECK-LABEL: func.func private @thrice(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 3]>
// CHECK-LABEL: func.func private @reach_0(
// CHECK:         [[UP:%\S+]] = arith.addi
// CHECK:         arith.divsi [[UP]], {{%\S+}} : i64
func.func @main(%x: tensor<64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<128x4xf32> {lamina.sizes = [0, -1]}, tensor<192x4xf32> {lamina.sizes = [1, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @twice(%x) : (tensor<64x4xf32>) -> tensor<64x2x4xf32>
  %1 = loop.reshape %0 : tensor<64x2x4xf32> -> tensor<128x4xf32>
  %2 = func.call @thrice(%x) : (tensor<64x4xf32>) -> tensor<64x3x4xf32>
  %3 = loop.reshape %2 : tensor<64x3x4xf32> -> tensor<192x4xf32>
  %4, %5 = func.call @sizes(%n) : (tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return %1, %3, %4, %5 : tensor<128x4xf32>, tensor<192x4xf32>, tensor<i64>, tensor<i64>
}
func.func private @twice(%x: tensor<64x4xf32>) -> tensor<64x2x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, r, j) in [64, 2, 4] reads(%x[i, j] : tensor<64x4xf32>) writes([i, r, j] store : tensor<64x2x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<64x2x4xf32>
}
func.func private @thrice(%x: tensor<64x4xf32>) -> tensor<64x3x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, r, j) in [64, 3, 4] reads(%x[i, j] : tensor<64x4xf32>) writes([i, r, j] store : tensor<64x3x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<64x3x4xf32>
}
func.func private @sizes(%n: tensor<i64>) -> (tensor<i64>, tensor<i64>) attributes {lamina.kernel} {
  %0, %1 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>, [] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %two = arith.constant 2 : i64
    %b = arith.muli %a, %two : i64
    %c = arith.addi %b, %two : i64
    loop.yield %b, %c : i64, i64
  }
  func.return %0, %1 : tensor<i64>, tensor<i64>
}

// -----

// So is a mask of the positions below a size, by the kernel that computes the size: what stands in front of it ends there.
// CHECK-LABEL: @mask_of_number
// CHECK-NEXT:    [[N:%\S+]], [[M:%\S+]] = func.call @half(%n)
// CHECK-NEXT:    [[X:%\S+]] = func.call @kernel(%x, [[N]])
func.func @mask_of_number(%x: tensor<64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<64xi1>, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @kernel(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %1, %2 = func.call @half(%n) : (tensor<i64>) -> (tensor<i64>, tensor<64xi1>)
  func.return %0, %2, %1 : tensor<64x4xf32>, tensor<64xi1>, tensor<i64>
}
// CHECK-LABEL: func.func private @kernel(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 4]>
func.func private @kernel(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 4] reads(%x[d0, d1] : tensor<64x4xf32>) writes([d0, d1] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x4xf32>
}
func.func private @half(%n: tensor<i64>) -> (tensor<i64>, tensor<64xi1>) attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %two = arith.constant 2 : i64
    %b = arith.divsi %a, %two : i64
    loop.yield %b : i64
  }
  %1 = loop.generic (d0) in [64] reads(%0[] : tensor<i64>) writes([d0] store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %p, %a : i64
    loop.yield %c : i1
  }
  func.return %0, %1 : tensor<i64>, tensor<64xi1>
}

// -----

// A mask that is made of a size alone stays where it is.
// CHECK-LABEL: @mask_alone
// CHECK-NEXT:    [[X:%\S+]] = func.call @kernel(%x
// CHECK-NEXT:    [[M:%\S+]] = func.call @mask(%n)
func.func @mask_alone(%x: tensor<64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x4xf32>, tensor<64xi1>) {
  %0 = func.call @kernel(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %1 = func.call @mask(%n) : (tensor<i64>) -> tensor<64xi1>
  func.return %0, %1 : tensor<64x4xf32>, tensor<64xi1>
}
func.func private @kernel(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 4] reads(%x[d0, d1] : tensor<64x4xf32>) writes([d0, d1] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x4xf32>
}
func.func private @mask(%n: tensor<i64>) -> tensor<64xi1> attributes {lamina.kernel} {
  %0 = loop.generic (d0) in [64] reads(%n[] : tensor<i64>) writes([d0] store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %p, %a : i64
    loop.yield %c : i1
  }
  func.return %0 : tensor<64xi1>
}

// -----

// Rows of five columns whose elements another kernel adds up, those below five times a number, count up to the number.
// CHECK-LABEL: @joined_rows
// CHECK-LABEL: func.func private @make(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 5]>
func.func @joined_rows(%x: tensor<64x5xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<f32> {
  %0 = func.call @five(%n) : (tensor<i64>) -> tensor<i64>
  %1 = func.call @make(%x) : (tensor<64x5xf32>) -> tensor<64x5xf32>
  %2 = loop.reshape %1 : tensor<64x5xf32> -> tensor<320xf32>
  %3 = func.call @add(%2, %0) : (tensor<320xf32>, tensor<i64>) -> tensor<f32>
  func.return %3 : tensor<f32>
}
func.func private @make(%x: tensor<64x5xf32>) -> tensor<64x5xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 5] reads(%x[i, j] : tensor<64x5xf32>) writes([i, j] store : tensor<64x5xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x5xf32>
}
func.func private @add(%x: tensor<320xf32>, %m: tensor<i64>) -> tensor<f32> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [320] reads(%x[i] : tensor<320xf32>, %m[] : tensor<i64>) writes([] add : tensor<f32>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: f32, %n: i64):
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %p, %n : i64
    %zero = arith.constant 0.0 : f32
    %b = arith.select %c, %a, %zero : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<f32>
}
func.func private @five(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %five = arith.constant 5 : i64
    %b = arith.muli %a, %five : i64
    loop.yield %b : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// A slice of rows in groups that ends at a number demands as many of each group of what it is taken from.
// CHECK-LABEL: @main
// CHECK-LABEL: func.func private @rows(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [16, arg1 of 64, 8]>
// CHECK-LABEL: func.func private @slice(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [16, arg1 of 63, 8]>
func.func @main(%x: tensor<1024x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<16x63x8xf32> {lamina.sizes = [-1, 0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @rows(%x) : (tensor<1024x8xf32>) -> tensor<1024x8xf32>
  %1 = func.call @slice(%0) : (tensor<1024x8xf32>) -> tensor<16x63x8xf32>
  func.return %1, %n : tensor<16x63x8xf32>, tensor<i64>
}
func.func private @rows(%x: tensor<1024x8xf32>) -> tensor<1024x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [1024, 8] reads(%x[d0, d1] : tensor<1024x8xf32>) writes([d0, d1] store : tensor<1024x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<1024x8xf32>
}
func.func private @slice(%x: tensor<1024x8xf32>) -> tensor<16x63x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [16, 63, 8] reads(%x[(d0 * 64) + d1, d2] : tensor<1024x8xf32>) writes([d0, d1, d2] store : tensor<16x63x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<16x63x8xf32>
}

// -----

// One that does not begin at the first row of each group demands whole groups.
// CHECK-LABEL: @main
// CHECK-LABEL: func.func private @rows(
// CHECK-NOT:     arg1 of 64
// CHECK-LABEL: func.func private @slice(
func.func @main(%x: tensor<1024x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<16x63x8xf32> {lamina.sizes = [-1, 0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @rows(%x) : (tensor<1024x8xf32>) -> tensor<1024x8xf32>
  %1 = func.call @slice(%0) : (tensor<1024x8xf32>) -> tensor<16x63x8xf32>
  func.return %1, %n : tensor<16x63x8xf32>, tensor<i64>
}
func.func private @rows(%x: tensor<1024x8xf32>) -> tensor<1024x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [1024, 8] reads(%x[d0, d1] : tensor<1024x8xf32>) writes([d0, d1] store : tensor<1024x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<1024x8xf32>
}
func.func private @slice(%x: tensor<1024x8xf32>) -> tensor<16x63x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [16, 63, 8] reads(%x[((d0 * 64) + d1) + 1, d2] : tensor<1024x8xf32>) writes([d0, d1, d2] store : tensor<16x63x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<16x63x8xf32>
}

// -----

// The first row of each batch is read beside those that count: rows end at their number, but behind that row at least.
// CHECK-LABEL: @main
// CHECK:         [[N:%\S+]] = func.call @reach_0(%n)
// CHECK:         func.call @rows(%x, {{.*}}[[N]]
func.func @main(%x: tensor<8x64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x64x4xf32> {lamina.sizes = [-1, 0, -1]}, tensor<8x4xf32>, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @rows(%x) : (tensor<8x64x4xf32>) -> tensor<512x4xf32>
  %1 = loop.reshape %0 : tensor<512x4xf32> -> tensor<8x64x4xf32>
  %2 = func.call @first(%0) : (tensor<512x4xf32>) -> tensor<8x4xf32>
  %3 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %1, %2, %3 : tensor<8x64x4xf32>, tensor<8x4xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @rows(
// CHECK:         live = [8, arg1 of 64, 4]
func.func private @rows(%x: tensor<8x64x4xf32>) -> tensor<512x4xf32> attributes {lamina.kernel} {
  %0 = loop.reshape %x : tensor<8x64x4xf32> -> tensor<512x4xf32>
  %1 = loop.generic (d0, d1) in [512, 4] reads(%0[d0, d1] : tensor<512x4xf32>) writes([d0, d1] store : tensor<512x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %1 : tensor<512x4xf32>
}
func.func private @first(%x: tensor<512x4xf32>) -> tensor<8x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [8, 4] reads(%x[d0 * 64, d1] : tensor<512x4xf32>) writes([d0, d1] store : tensor<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<8x4xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}
// CHECK-LABEL: func.func private @reach_0(
// CHECK:         arith.maxsi

// -----

// Another reader takes all rows: nothing ends.
// CHECK-LABEL: @main
func.func @main(%x: tensor<8x64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x64x4xf32> {lamina.sizes = [-1, 0, -1]}, tensor<8x64x4xf32>, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @both(%x) : (tensor<8x64x4xf32>) -> tensor<8x64x4xf32>
  %1 = func.call @more(%0) : (tensor<8x64x4xf32>) -> tensor<8x64x4xf32>
  %2 = func.call @number(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1, %2 : tensor<8x64x4xf32>, tensor<8x64x4xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @both(
// CHECK-NOT:     live
// CHECK:       func.func private @more(
func.func private @both(%x: tensor<8x64x4xf32>) -> tensor<8x64x4xf32> attributes {lamina.kernel} {
  %1 = loop.generic (d0, d1, d2) in [8, 64, 4] reads(%x[d0, d1, d2] : tensor<8x64x4xf32>) writes([d0, d1, d2] store : tensor<8x64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %1 : tensor<8x64x4xf32>
}
func.func private @more(%x: tensor<8x64x4xf32>) -> tensor<8x64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [8, 64, 4] reads(%x[d0, d1, d2] : tensor<8x64x4xf32>) writes([d0, d1, d2] store : tensor<8x64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<8x64x4xf32>
}
func.func private @number(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Readers that end at two sizes agree on either of them where calls check that they are equal, on that which the caller
// passes: an image that is halved and doubled again beside the image itself.
// CHECK-LABEL: @checked
func.func @checked(%x: tensor<64x4xf32>, %n: tensor<i64> {lamina.kind = "input"})
    -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<64x4xf32> {lamina.sizes = [1, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}, tensor<i1> {lamina.kind = "check"}) {
  %m, %c = func.call @even(%n) : (tensor<i64>) -> (tensor<i64>, tensor<i1>)
  // CHECK: call @equal(%x, %n) : (tensor<64x4xf32>, tensor<i64>)
  %0 = func.call @equal(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  func.return %0, %0, %n, %m, %c : tensor<64x4xf32>, tensor<64x4xf32>, tensor<i64>, tensor<i64>, tensor<i1>
}
// CHECK-LABEL: @unchecked
func.func @unchecked(%x: tensor<64x4xf32>, %n: tensor<i64> {lamina.kind = "input"})
    -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<64x4xf32> {lamina.sizes = [1, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}, tensor<i1>) {
  %m, %c = func.call @even(%n) : (tensor<i64>) -> (tensor<i64>, tensor<i1>)
  // CHECK: call @whole(%x) : (tensor<64x4xf32>)
  %0 = func.call @whole(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  func.return %0, %0, %n, %m, %c : tensor<64x4xf32>, tensor<64x4xf32>, tensor<i64>, tensor<i64>, tensor<i1>
}
// CHECK-LABEL: func.func private @equal(
// CHECK:         live = [arg1 of 64]>
func.func private @equal(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 4] reads(%x[d0, d1] : tensor<64x4xf32>) writes([d0, d1] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x4xf32>
}
// CHECK-LABEL: func.func private @whole(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @even(
func.func private @whole(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 4] reads(%x[d0, d1] : tensor<64x4xf32>) writes([d0, d1] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x4xf32>
}
func.func private @even(%n: tensor<i64>) -> (tensor<i64>, tensor<i1>) attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %two = arith.constant 2 : i64
    %half = arith.divsi %a, %two : i64
    %b = arith.muli %half, %two : i64
    loop.yield %b : i64
  }
  %1 = loop.generic () in [] reads(%0[] : tensor<i64>, %n[] : tensor<i64>) writes([] store : tensor<i1>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %b: i64):
    %same = arith.cmpi eq, %a, %b : i64
    loop.yield %same : i1
  }
  func.return %0, %1 : tensor<i64>, tensor<i1>
}

// -----

// Panels of vectors do not end here: `limit-panels` ends them where their last one does, and knows the size itself, so that the argument is
// read no further.
// CHECK-LABEL: func.func private @panels(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @rows_of(
// CHECK:         live = [arg1 of 64]
func.func @main(%x: tensor<8x64xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x8xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @panels(%x) : (tensor<8x64xf32>) -> tensor<2x8x32xf32>
  %1 = func.call @rows_of(%0) : (tensor<2x8x32xf32>) -> tensor<64x8xf32>
  func.return %1, %n : tensor<64x8xf32>, tensor<i64>
}
func.func private @panels(%x: tensor<8x64xf32>) -> tensor<2x8x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [2, 8, 32] reads(%x[d1, (d0 * 32) + d2] : tensor<8x64xf32>) writes([d0, d1, d2] store : tensor<2x8x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<2x8x32xf32>
}
func.func private @rows_of(%x: tensor<2x8x32xf32>) -> tensor<64x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 8] reads(%x[d0 floordiv 32, d1, d0 mod 32] : tensor<2x8x32xf32>) writes([d0, d1] store : tensor<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<64x8xf32>
}
