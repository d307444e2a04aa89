// RUN: %invalid

func.func private @no_note(%x: tensor<8x6xf32>, %n: tensor<i64>) -> tensor<8x6xf32> {
  %r = loop.scan (d0, d1) in [8, 6] along 1 reads(%x[d0, d1] : tensor<8x6xf32>) carries(0.0 : f32) gives(tensor<8x6xf32>) attributes {lamina.nest = 3 : i64} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<8x6xf32>
}
// CHECK: loop.scan: lamina.nest is a #loop.nest, such as #loop.nest<rows = [d0], live = [arg1 of 64]>: not 3 : i64

// -----

func.func private @part(%x: tensor<8x6xf32>, %n: tensor<i64>) -> tensor<8x6xf32> {
  %r = loop.scan (d0, d1) in [8, 6] along 1 reads(%x[d0, d1] : tensor<8x6xf32>) carries(0.0 : f32) gives(tensor<8x6xf32>) attributes {lamina.nest = #loop.nest<part = 1>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<8x6xf32>
}
// CHECK: loop.scan: lamina.nest: part: the op is a kernel of its own

// -----

func.func private @rows_alone(%x: tensor<8x6xf32>, %n: tensor<i64>) -> tensor<8x6xf32> {
  %r = loop.scan (d0, d1) in [8, 6] along 1 reads(%x[d0, d1] : tensor<8x6xf32>) carries(0.0 : f32) gives(tensor<8x6xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<8x6xf32>
}
// CHECK: loop.scan: lamina.nest: rows and live are said together, or neither

// -----

func.func private @no_such_row(%x: tensor<8x6xf32>, %n: tensor<i64>) -> tensor<8x6xf32> {
  %r = loop.scan (d0, d1) in [8, 6] along 1 reads(%x[d0, d1] : tensor<8x6xf32>) carries(0.0 : f32) gives(tensor<8x6xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d2], live = [arg1 of 8]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<8x6xf32>
}
// CHECK: loop.scan: lamina.nest: rows = [d0, d2]: of [d0, d1], in order

// -----

func.func private @order(%x: tensor<8x6xf32>, %n: tensor<i64>) -> tensor<8x6xf32> {
  %r = loop.scan (d0, d1) in [8, 6] along 1 reads(%x[d0, d1] : tensor<8x6xf32>) carries(0.0 : f32) gives(tensor<8x6xf32>) attributes {lamina.nest = #loop.nest<rows = [d1, d0], live = [6, arg1 of 8]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<8x6xf32>
}
// CHECK: loop.scan: lamina.nest: rows = [d1, d0]: of [d0, d1], in order

// -----

func.func private @extents(%x: tensor<8x6xf32>, %n: tensor<i64>) -> tensor<8x6xf32> {
  %r = loop.scan (d0, d1) in [8, 6] along 1 reads(%x[d0, d1] : tensor<8x6xf32>) carries(0.0 : f32) gives(tensor<8x6xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 16]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<8x6xf32>
}
// CHECK: loop.scan: lamina.nest: live = [arg1 of 16]: its dimensions have extents [8]

// -----

func.func private @nothing_left_out(%x: tensor<8x6xf32>, %n: tensor<i64>) -> tensor<8x6xf32> {
  %r = loop.scan (d0, d1) in [8, 6] along 1 reads(%x[d0, d1] : tensor<8x6xf32>) carries(0.0 : f32) gives(tensor<8x6xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [8]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<8x6xf32>
}
// CHECK: loop.scan: lamina.nest: live = [8]: no digit ends at an argument

// -----

func.func private @along(%x: tensor<8x6xf32>, %n: tensor<i64>) -> tensor<8x6xf32> {
  %r = loop.scan (d0, d1) in [8, 6] along 1 reads(%x[d0, d1] : tensor<8x6xf32>) carries(0.0 : f32) gives(tensor<8x6xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [8, 2, arg1 of 3]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<8x6xf32>
}
// CHECK: loop.scan: lamina.nest: live = [8, 2, arg1 of 3]: the op runs along d1, which ends at its first digit

// -----

func.func private @copied(%x: tensor<8x6xf32>, %n: tensor<i64>) -> tensor<8x6xf32> {
  %r = loop.scan (d0, d1) in [8, 6] along 1 reads(%x[d0, d1] : tensor<8x6xf32>) carries(0.0 : f32) gives(tensor<8x6xf32>) attributes {lamina.nest = #loop.nest<copied = [arg1 of 8, 6]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<8x6xf32>
}
// CHECK: loop.scan: lamina.nest: copied: only loop.scatter copies a tensor

// -----

func.func private @length(%x: tensor<4x10xf32>, %n: tensor<i64>) -> tensor<4x1xf32> {
  %v, %i, %w, %j = loop.sort %x {lamina.nest = #loop.nest<rows = [d0, d1], live = [4, arg1 of 10]>, taken = array<i64: 3, 1>} : tensor<4x10xf32> -> tensor<4x1xf32>, tensor<4x1xi64>, tensor<4x11xf32>, tensor<4x11xi64>
  func.return %v : tensor<4x1xf32>
}
// CHECK: loop.sort: lamina.nest: rows = [d0, d1]: of [d0], in order

// -----

func.func private @positions(%o: tensor<5xi64>, %x: tensor<10x8xf32>, %n: tensor<i64>) -> tensor<4x8xf32> {
  %r = loop.segment_reduce (d0, d1, d2) in [4, 10, 8] offsets(%o : tensor<5xi64>) reads(%x[d1, d2] : tensor<10x8xf32>) carries(0.0 : f32) gives(tensor<4x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d1], live = [arg2 of 10]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next : f32
  }
  func.return %r : tensor<4x8xf32>
}
// CHECK: loop.segment_reduce: lamina.nest: rows = [d1]: of [d0], in order

// -----

func.func private @columns(%x: tensor<4x16x8xf32>, %turns: tensor<16x2xf32>, %n: tensor<i64>) -> tensor<4x9x8x2xf32> {
  %y = loop.fourier %x by %turns {lamina.nest = #loop.nest<rows = [d0, d2], live = [4, arg2 of 8]>, kind = "r2c", scale = 1.0 : f64, columns} : tensor<4x16x8xf32>, tensor<16x2xf32> -> tensor<4x9x8x2xf32>
  func.return %y : tensor<4x9x8x2xf32>
}
// CHECK: loop.fourier: lamina.nest: rows = [d0, d2]: of [d0], in order

// -----

func.func private @elements(%i: tensor<5xi64>, %t: tensor<10xf32>, %n: tensor<i64>) -> tensor<10xf32> {
  %r = loop.scatter (d0) in [5] reads(%i[d0] : tensor<5xi64>) into(%t : tensor<10xf32>) attributes {lamina.nest = #loop.nest<copied = [arg2 of 5]>} {
  ^bb0(%p: i64, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %sum = arith.addf %old, %old : f32
    loop.yield %row, %sum : index, f32
  }
  func.return %r : tensor<10xf32>
}
// CHECK: loop.scatter: lamina.nest: copied = [arg2 of 5]: its dimensions have extents [10]

// -----

func.func private @nest(%x: tensor<8xf32>, %n: tensor<i64>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8] reads(%x[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], copied = [arg1 of 8]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: loop.generic: lamina.nest: copied: only loop.scatter copies a tensor

// -----

func.func private @digits(%x: tensor<4x10xf32>, %n: tensor<i64>) -> tensor<4x10xf32> {
  %v, %i, %w, %j = loop.sort %x {lamina.nest = #loop.nest<rows = [d0, d1], live = [4, arg1 of 2, 5]>} : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
  func.return %v : tensor<4x10xf32>
}
// CHECK: loop.sort: lamina.nest: live = [4, arg1 of 2, 5]: the op runs along d1, which is one digit

// -----

func.func private @panels(%x: tensor<4x10xf32>, %n: tensor<i64>) -> tensor<4x10xf32> {
  %v, %i, %w, %j = loop.sort %x {lamina.nest = #loop.nest<rows = [d0, d1], live = [4, arg1 ceildiv 2 of 10]>} : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
  func.return %v : tensor<4x10xf32>
}
// CHECK: loop.sort: lamina.nest: live = [4, arg1 ceildiv 2 of 10]: only of loop.generic there are panels

// -----

func.func private @taken_of_all(%x: tensor<4x10xf32>, %n: tensor<i64>) -> tensor<4x10xf32> {
  %v, %i, %w, %j = loop.sort %x {lamina.nest = #loop.nest<taken = [arg1 of 10]>} : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
  func.return %v : tensor<4x10xf32>
}
// CHECK: loop.sort: lamina.nest: taken: only where loop.sort takes the first elements

// -----

func.func private @taken_digits(%x: tensor<4x10xf32>, %n: tensor<i64>) -> tensor<4x6xf32> {
  %v, %i, %w, %j = loop.sort %x {lamina.nest = #loop.nest<taken = [2, arg1 of 3]>, taken = array<i64: 0, 6>} : tensor<4x10xf32> -> tensor<4x6xf32>, tensor<4x6xi64>, tensor<4x16xf32>, tensor<4x16xi64>
  func.return %v : tensor<4x6xf32>
}
// CHECK: loop.sort: lamina.nest: taken = [2, arg1 of 3]: the first elements, one digit

// -----

func.func private @taken_of_a_nest(%x: tensor<8xf32>, %n: tensor<i64>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8] reads(%x[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], taken = [arg1 of 8]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: loop.generic: lamina.nest: taken: only of loop.sort elements are taken
