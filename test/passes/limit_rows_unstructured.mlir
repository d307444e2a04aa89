// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-rows,limit-rows --split-input-file | filecheck %s

// A scan ends at rows and at positions: none needs those behind it. What it reads is demanded as far.
// CHECK-LABEL: @sums
func.func @sums(%x: tensor<8x64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}, %m: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x64x4xf32> {lamina.sizes = [0, 1, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @negated(%x) : (tensor<8x64x4xf32>) -> tensor<8x64x4xf32>
  %1 = func.call @scan(%0) : (tensor<8x64x4xf32>) -> tensor<8x64x4xf32>
  %2, %3 = func.call @copy(%n, %m) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return %1, %2, %3 : tensor<8x64x4xf32>, tensor<i64>, tensor<i64>
}
// CHECK-LABEL: func.func private @negated(
// CHECK:         live = [arg1 of 8, arg2 of 64, 4]
func.func private @negated(%x: tensor<8x64x4xf32>) -> tensor<8x64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [8, 64, 4] reads(%x[i, j, k] : tensor<8x64x4xf32>) writes([i, j, k] store : tensor<8x64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<8x64x4xf32>
}
// CHECK-LABEL: func.func private @scan(
// CHECK-SAME:    %count: tensor<i64>, %count_1: tensor<i64>
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg1 of 8, arg2 of 64, 4]>
func.func private @scan(%x: tensor<8x64x4xf32>) -> tensor<8x64x4xf32> attributes {lamina.kernel} {
  %0 = loop.scan (d0, d1, d2) in [8, 64, 4] along 1 reads(%x[d0, d1, d2] : tensor<8x64x4xf32>) carries(0.0 : f32) gives(tensor<8x64x4xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %0 : tensor<8x64x4xf32>
}
func.func private @copy(%n: tensor<i64>, %m: tensor<i64>) -> (tensor<i64>, tensor<i64>) attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  %1 = loop.generic () in [] reads(%m[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0, %1 : tensor<i64>, tensor<i64>
}

// -----

// A scan that is read from its end has all positions; so has one of two that is read whole, which has a
// kernel of its own. A scan along positions whose heads stand in front of them has those of each head.
// CHECK-LABEL: @whole
func.func @whole(%x: tensor<64x4xf32>, %y: tensor<2x64xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<64x4xf32>, tensor<64xf32> {lamina.sizes = [0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @back(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %1 = func.call @turned(%0) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %2 = func.call @twice(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %3 = func.call @twice(%1) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %4 = loop.reshape %y : tensor<2x64xf32> -> tensor<128xf32>
  %5 = func.call @heads(%4) : (tensor<128xf32>) -> tensor<128xf32>
  %6 = loop.reshape %5 : tensor<128xf32> -> tensor<2x64xf32>
  %7 = func.call @first(%6) : (tensor<2x64xf32>) -> tensor<64xf32>
  %8 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %2, %3, %7, %8 : tensor<64x4xf32>, tensor<64x4xf32>, tensor<64xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @back(
// CHECK-NOT:     live
func.func private @back(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.scan (d0, d1) in [64, 4] along 0 reads(%x[d0, d1] : tensor<64x4xf32>) carries(0.0 : f32) gives(tensor<64x4xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %0 : tensor<64x4xf32>
}
func.func private @turned(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 4] reads(%x[63 - i, j] : tensor<64x4xf32>) writes([i, j] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<64x4xf32>
}
// CHECK-LABEL: func.func private @twice(
// CHECK:         live = [arg1 of 64, 4]
// CHECK-LABEL: func.func private @twice_1(
// CHECK-NOT:     live
func.func private @twice(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.scan (d0, d1) in [64, 4] along 0 reads(%x[d0, d1] : tensor<64x4xf32>) carries(0.0 : f32) gives(tensor<64x4xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %0 : tensor<64x4xf32>
}
// CHECK-LABEL: func.func private @heads(
// CHECK-NOT:     live
func.func private @heads(%x: tensor<128xf32>) -> tensor<128xf32> attributes {lamina.kernel} {
  %0 = loop.scan (d0) in [128] along 0 reads(%x[d0] : tensor<128xf32>) carries(0.0 : f32) gives(tensor<128xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %0 : tensor<128xf32>
}
// CHECK-LABEL: func.func private @first(
func.func private @first(%x: tensor<2x64xf32>) -> tensor<64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, h) in [64, 2] reads(%x[h, i] : tensor<2x64xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<64xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Sorts, transforms and segments end at rows: not at the elements of these, be they cut as well. Bounds of segments are
// demanded whole, as they may fail.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<8x64xf32>, %y: tensor<8x16xf32>, %t: tensor<16x2xf32>, %o: tensor<9xi64>, %n: tensor<i64> {lamina.kind = "input"}, %m: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x64xf32> {lamina.sizes = [0, 1]}, tensor<8x9x2xf32> {lamina.sizes = [0, 1, -1]}, tensor<8x64xf32> {lamina.sizes = [0, 1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @values(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1, %2, %3, %4 = func.call @sort(%0) : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xi64>, tensor<8x64xf32>, tensor<8x64xi64>)
  %5 = func.call @transforms(%y, %t) : (tensor<8x16xf32>, tensor<16x2xf32>) -> tensor<8x9x2xf32>
  %6 = func.call @ends(%o) : (tensor<9xi64>) -> tensor<9xi64>
  %7 = func.call @segments(%6, %x) : (tensor<9xi64>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %8, %9 = func.call @copy(%n, %m) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return %1, %5, %7, %8, %9 : tensor<8x64xf32>, tensor<8x9x2xf32>, tensor<8x64xf32>, tensor<i64>, tensor<i64>
}
// CHECK-LABEL: func.func private @values(
// CHECK:         live = [arg1 of 8, 64]
func.func private @values(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [8, 64] reads(%x[i, j] : tensor<8x64xf32>) writes([i, j] store : tensor<8x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<8x64xf32>
}
// CHECK-LABEL: func.func private @sort(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 8, 64]>
func.func private @sort(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xi64>, tensor<8x64xf32>, tensor<8x64xi64>) attributes {lamina.kernel} {
  %0, %1, %2, %3 = loop.sort %x : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xi64>, tensor<8x64xf32>, tensor<8x64xi64>
  func.return %0, %1, %2, %3 : tensor<8x64xf32>, tensor<8x64xi64>, tensor<8x64xf32>, tensor<8x64xi64>
}
// CHECK-LABEL: func.func private @transforms(
// CHECK:         lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 8]>
func.func private @transforms(%x: tensor<8x16xf32>, %t: tensor<16x2xf32>) -> tensor<8x9x2xf32> attributes {lamina.kernel} {
  %0 = loop.fourier %x by %t {kind = "r2c", scale = 1.0 : f64} : tensor<8x16xf32>, tensor<16x2xf32> -> tensor<8x9x2xf32>
  func.return %0 : tensor<8x9x2xf32>
}
// CHECK-LABEL: func.func private @ends(
// CHECK-NOT:     live
func.func private @ends(%o: tensor<9xi64>) -> tensor<9xi64> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [9] reads(%o[i] : tensor<9xi64>) writes([i] store : tensor<9xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<9xi64>
}
// CHECK-LABEL: func.func private @segments(
// CHECK:         lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 8]>
func.func private @segments(%o: tensor<9xi64>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {lamina.kernel} {
  %0 = loop.segment_reduce (d0, d1, d2) in [8, 8, 64] offsets(%o : tensor<9xi64>) reads(%x[d1, d2] : tensor<8x64xf32>) carries(0.0 : f32) gives(tensor<8x64xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next : f32
  }
  func.return %0 : tensor<8x64xf32>
}
func.func private @copy(%n: tensor<i64>, %m: tensor<i64>) -> (tensor<i64>, tensor<i64>) attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  %1 = loop.generic () in [] reads(%m[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0, %1 : tensor<i64>, tensor<i64>
}

// -----

// Updates in padding go to row 30, which nothing reads: they are left out, and so are their places. Where it is read, or
// where they go to another place, all count.
// CHECK-LABEL: @updates
func.func @updates(%t: tensor<31x4xf32>, %x: tensor<64x4xf32>, %i: tensor<64xi64>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<30x4xf32>, tensor<31x4xf32>, tensor<30x4xf32>, tensor<i64> {lamina.kind = "size"}) {
  %0, %1 = func.call @places(%i, %n) : (tensor<64xi64>, tensor<i64>) -> (tensor<64xi64>, tensor<64xi64>)
  %2 = func.call @put(%t, %0, %x) : (tensor<31x4xf32>, tensor<64xi64>, tensor<64x4xf32>) -> tensor<31x4xf32>
  %3 = func.call @cut(%2) : (tensor<31x4xf32>) -> tensor<30x4xf32>
  %4 = func.call @put_and_kept(%t, %0, %x) : (tensor<31x4xf32>, tensor<64xi64>, tensor<64x4xf32>) -> tensor<31x4xf32>
  %5 = func.call @put_elsewhere(%t, %1, %x) : (tensor<31x4xf32>, tensor<64xi64>, tensor<64x4xf32>) -> tensor<31x4xf32>
  %6 = func.call @cut(%5) : (tensor<31x4xf32>) -> tensor<30x4xf32>
  %7 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %3, %4, %6, %7 : tensor<30x4xf32>, tensor<31x4xf32>, tensor<30x4xf32>, tensor<i64>
}
func.func private @places(%i: tensor<64xi64>, %n: tensor<i64>) -> (tensor<64xi64>, tensor<64xi64>) attributes {lamina.kernel} {
  %0 = loop.generic (d0) in [64] reads(%i[d0] : tensor<64xi64>, %n[] : tensor<i64>) writes([d0] store : tensor<64xi64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %m: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %m : i64
    %k = arith.constant -1 : i64
    %e = arith.constant 31 : i64
    %z = arith.constant 0 : i64
    %b = arith.select %c, %a, %k : i64
    %l = arith.cmpi slt, %b, %z : i64
    %w = arith.addi %b, %e : i64
    %s = arith.select %l, %w, %b : i64
    loop.yield %s : i64
  }
  %1 = loop.generic (d0) in [64] reads(%i[d0] : tensor<64xi64>, %n[] : tensor<i64>) writes([d0] store : tensor<64xi64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %m: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %m : i64
    %k = arith.constant 29 : i64
    %b = arith.select %c, %a, %k : i64
    loop.yield %b : i64
  }
  func.return %0, %1 : tensor<64xi64>, tensor<64xi64>
}
// CHECK-LABEL: func.func private @put(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 64, 4]>
func.func private @put(%t: tensor<31x4xf32>, %i: tensor<64xi64>, %x: tensor<64x4xf32>) -> tensor<31x4xf32> attributes {lamina.kernel} {
  %0 = loop.scatter (d0, d1) in [64, 4] reads(%i[d0] : tensor<64xi64>, %x[d0, d1] : tensor<64x4xf32>) into(%t : tensor<31x4xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v : index, index, f32
  }
  func.return %0 : tensor<31x4xf32>
}
// CHECK-LABEL: func.func private @put_and_kept(
// CHECK-NOT:     live
func.func private @put_and_kept(%t: tensor<31x4xf32>, %i: tensor<64xi64>, %x: tensor<64x4xf32>) -> tensor<31x4xf32> attributes {lamina.kernel} {
  %0 = loop.scatter (d0, d1) in [64, 4] reads(%i[d0] : tensor<64xi64>, %x[d0, d1] : tensor<64x4xf32>) into(%t : tensor<31x4xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v : index, index, f32
  }
  func.return %0 : tensor<31x4xf32>
}
// CHECK-LABEL: func.func private @put_elsewhere(
// CHECK-NOT:     live
func.func private @put_elsewhere(%t: tensor<31x4xf32>, %i: tensor<64xi64>, %x: tensor<64x4xf32>) -> tensor<31x4xf32> attributes {lamina.kernel} {
  %0 = loop.scatter (d0, d1) in [64, 4] reads(%i[d0] : tensor<64xi64>, %x[d0, d1] : tensor<64x4xf32>) into(%t : tensor<31x4xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v : index, index, f32
  }
  func.return %0 : tensor<31x4xf32>
}
// CHECK-LABEL: func.func private @cut(
func.func private @cut(%x: tensor<31x4xf32>) -> tensor<30x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [30, 4] reads(%x[i, j] : tensor<31x4xf32>) writes([i, j] store : tensor<30x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<30x4xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// A scatter in rows of its own has those that are demanded of it, and copies no others: one more place at the end of each
// row is copied with it.
// CHECK-LABEL: @in_rows
func.func @in_rows(%t: tensor<8x31xf32>, %x: tensor<8x6xf32>, %i: tensor<8x6xi64>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x30xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @put(%t, %i, %x) : (tensor<8x31xf32>, tensor<8x6xi64>, tensor<8x6xf32>) -> tensor<8x31xf32>
  %1 = func.call @cut(%0) : (tensor<8x31xf32>) -> tensor<8x30xf32>
  %2 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %1, %2 : tensor<8x30xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @put(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 8, 6], copied = [arg3 of 8, 31]>
func.func private @put(%t: tensor<8x31xf32>, %i: tensor<8x6xi64>, %x: tensor<8x6xf32>) -> tensor<8x31xf32> attributes {lamina.kernel} {
  %0 = loop.scatter (d0, d1) in [8, 6] reads(%i[d0, d1] : tensor<8x6xi64>, %x[d0, d1] : tensor<8x6xf32>) into(%t : tensor<8x31xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = loop.index 0 : index
    %column = arith.index_cast %p : i64 to index
    loop.yield %row, %column, %v : index, index, f32
  }
  func.return %0 : tensor<8x31xf32>
}
func.func private @cut(%x: tensor<8x31xf32>) -> tensor<8x30xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [8, 30] reads(%x[i, j] : tensor<8x31xf32>) writes([i, j] store : tensor<8x30xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<8x30xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Padding that goes last is not sorted; other padding is, and in the other order it goes first. Of the first elements
// that are taken there may be fewer than are asked for: so many of the padding are looked at. A single one needs all.
// CHECK-LABEL: @sorted
func.func @sorted(%x: tensor<8x64xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x64xf32> {lamina.sizes = [-1, 0]}, tensor<8x64xf32> {lamina.sizes = [-1, 0]}, tensor<8x64xf32> {lamina.sizes = [-1, 0]}, tensor<8x3xf32>, tensor<8x1xf32>, tensor<i64> {lamina.kind = "size"}) {
  // CHECK: [[MORE:%\S+]] = func.call @reach_0(%n)
  // CHECK: func.call @taken({{%\S+}}, [[MORE]])
  %0, %1 = func.call @masked(%x, %n) : (tensor<8x64xf32>, tensor<i64>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
  %2 = func.call @last(%0) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %3 = func.call @first(%0) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %4 = func.call @zeros(%1) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %6 = func.call @taken(%0) : (tensor<8x64xf32>) -> tensor<8x3xf32>
  %7 = func.call @third(%0) : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %5 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %2, %3, %4, %6, %7, %5 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x3xf32>, tensor<8x1xf32>, tensor<i64>
}
func.func private @masked(%x: tensor<8x64xf32>, %n: tensor<i64>) -> (tensor<8x64xf32>, tensor<8x64xf32>) attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [8, 64] reads(%x[i, j] : tensor<8x64xf32>, %n[] : tensor<i64>) writes([i, j] store : tensor<8x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %m: i64):
    %p = loop.index 1 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %m : i64
    %k = arith.constant 0x7fc00000 : f32
    %b = arith.select %c, %a, %k : f32
    loop.yield %b : f32
  }
  %1 = loop.generic (i, j) in [8, 64] reads(%x[i, j] : tensor<8x64xf32>, %n[] : tensor<i64>) writes([i, j] store : tensor<8x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %m: i64):
    %p = loop.index 1 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %m : i64
    %k = arith.constant 0.0 : f32
    %b = arith.select %c, %a, %k : f32
    loop.yield %b : f32
  }
  func.return %0, %1 : tensor<8x64xf32>, tensor<8x64xf32>
}
// CHECK-LABEL: func.func private @last(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [8, arg1 of 64]>
func.func private @last(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {lamina.kernel} {
  %0, %1, %2, %3 = loop.sort %x : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xi64>, tensor<8x64xf32>, tensor<8x64xi64>
  func.return %0 : tensor<8x64xf32>
}
// CHECK-LABEL: func.func private @first(
// CHECK-NOT:     live
func.func private @first(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {lamina.kernel} {
  %0, %1, %2, %3 = loop.sort %x {descending} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xi64>, tensor<8x64xf32>, tensor<8x64xi64>
  func.return %0 : tensor<8x64xf32>
}
// CHECK-LABEL: func.func private @zeros(
// CHECK-NOT:     live
func.func private @zeros(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {lamina.kernel} {
  %0, %1, %2, %3 = loop.sort %x : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xi64>, tensor<8x64xf32>, tensor<8x64xi64>
  func.return %0 : tensor<8x64xf32>
}
// CHECK-LABEL: func.func private @taken(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [8, arg1 of 64]>
func.func private @taken(%x: tensor<8x64xf32>) -> tensor<8x3xf32> attributes {lamina.kernel} {
  %0, %1, %2, %3 = loop.sort %x {taken = array<i64: 0, 3>} : tensor<8x64xf32> -> tensor<8x3xf32>, tensor<8x3xi64>, tensor<8x67xf32>, tensor<8x67xi64>
  func.return %0 : tensor<8x3xf32>
}
// CHECK-LABEL: func.func private @third(
// CHECK-NOT:     live
func.func private @third(%x: tensor<8x64xf32>) -> tensor<8x1xf32> attributes {lamina.kernel} {
  %0, %1, %2, %3 = loop.sort %x {taken = array<i64: 2, 1>} : tensor<8x64xf32> -> tensor<8x1xf32>, tensor<8x1xi64>, tensor<8x65xf32>, tensor<8x65xi64>
  func.return %0 : tensor<8x1xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Updates that a mask leaves out do not run; a mask of something else leaves all of them.
// CHECK-LABEL: @masked
func.func @masked(%t: tensor<30x4xf32>, %x: tensor<64x4xf32>, %i: tensor<64xi64>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<30x4xf32>, tensor<30x4xf32>) {
  %0 = func.call @put(%t, %i, %x, %n) : (tensor<30x4xf32>, tensor<64xi64>, tensor<64x4xf32>, tensor<i64>) -> tensor<30x4xf32>
  %1 = func.call @put_some(%t, %i, %x, %n) : (tensor<30x4xf32>, tensor<64xi64>, tensor<64x4xf32>, tensor<i64>) -> tensor<30x4xf32>
  func.return %0, %1 : tensor<30x4xf32>, tensor<30x4xf32>
}
// CHECK-LABEL: func.func private @put(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg4 of 64, 4]>
func.func private @put(%t: tensor<30x4xf32>, %i: tensor<64xi64>, %x: tensor<64x4xf32>, %n: tensor<i64>) -> tensor<30x4xf32> attributes {lamina.kernel} {
  %0 = loop.scatter (d0, d1) in [64, 4] reads(%i[d0] : tensor<64xi64>, %x[d0, d1] : tensor<64x4xf32>, %n[] : tensor<i64>) into(%t : tensor<30x4xf32>) {
  ^bb0(%p: i64, %v: f32, %m: i64, %old: f32):
    %d = loop.index 0 : index
    %q = arith.index_cast %d : index to i64
    %c = arith.cmpi slt, %q, %m : i64
    %k = arith.constant 30 : i64
    %s = arith.select %c, %p, %k : i64
    %on = arith.cmpi ne, %s, %k : i64
    %row = arith.index_cast %s : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v, %on : index, index, f32, i1
  }
  func.return %0 : tensor<30x4xf32>
}
// CHECK-LABEL: func.func private @put_some(
// CHECK-NOT:     live
func.func private @put_some(%t: tensor<30x4xf32>, %i: tensor<64xi64>, %x: tensor<64x4xf32>, %n: tensor<i64>) -> tensor<30x4xf32> attributes {lamina.kernel} {
  %0 = loop.scatter (d0, d1) in [64, 4] reads(%i[d0] : tensor<64xi64>, %x[d0, d1] : tensor<64x4xf32>, %n[] : tensor<i64>) into(%t : tensor<30x4xf32>) {
  ^bb0(%p: i64, %v: f32, %m: i64, %old: f32):
    %on = arith.cmpi slt, %p, %m : i64
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v, %on : index, index, f32, i1
  }
  func.return %0 : tensor<30x4xf32>
}

// -----

// A mask of the rows that count is noted: a scatter that ends at them need not ask it. Another one is asked.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @scattered(
// CHECK-SAME:    %m: tensor<64xi1>, %k: tensor<64xi1>, %count: tensor<i64>)
// CHECK-SAME:    lamina.masks = array<i64: 3, 5>}
// CHECK:         live = [arg5 of 64, 8]
func.func @main(%x: tensor<64x8xf32>, %u: tensor<64x8xf32>, %i: tensor<64x8xi64>, %k: tensor<64xi1>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x8xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %0 = func.call @scattered(%x, %u, %i, %m, %k) : (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xi64>, tensor<64xi1>, tensor<64xi1>) -> tensor<64x8xf32>
  %1 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1 : tensor<64x8xf32>, tensor<i64>
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
func.func private @scattered(%x: tensor<64x8xf32>, %u: tensor<64x8xf32>, %i: tensor<64x8xi64>, %m: tensor<64xi1>, %k: tensor<64xi1>) -> tensor<64x8xf32> attributes {lamina.kernel} {
  %0 = loop.scatter (i, j) in [64, 8] reads(%u[i, j] : tensor<64x8xf32>, %i[i, j] : tensor<64x8xi64>, %m[i] : tensor<64xi1>, %k[i] : tensor<64xi1>) into(%x : tensor<64x8xf32>) {
  ^bb0(%v: f32, %at: i64, %on: i1, %own: i1, %old: f32):
    %row = loop.index 0 : index
    %place = arith.index_cast %at : i64 to index
    %both = arith.andi %on, %own : i1
    loop.yield %row, %place, %v, %both : index, index, f32, i1
  }
  func.return %0 : tensor<64x8xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Of the first elements that a sort is asked for, results are cut to %k of each row: no more are taken. Those from element
// 3 on are any that stand behind others.
// CHECK-LABEL: @first
func.func @first(%x: tensor<8x64xf32>, %n: tensor<i64> {lamina.kind = "input"}, %k: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x50xf32> {lamina.sizes = [0, 1]}, tensor<8x1xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %1, %2, %3, %4 = func.call @top(%x) : (tensor<8x64xf32>) -> (tensor<8x50xf32>, tensor<8x50xi64>, tensor<8x114xf32>, tensor<8x114xi64>)
  %5, %6, %7, %8 = func.call @third(%x) : (tensor<8x64xf32>) -> (tensor<8x1xf32>, tensor<8x1xi64>, tensor<8x65xf32>, tensor<8x65xi64>)
  %9, %10 = func.call @copy(%n, %k) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return %1, %5, %9, %10 : tensor<8x50xf32>, tensor<8x1xf32>, tensor<i64>, tensor<i64>
}
// CHECK-LABEL: func.func private @top(
// CHECK-SAME:    %count: tensor<i64>, %count_1: tensor<i64>
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 8, 64], taken = [arg2 of 50]>
func.func private @top(%x: tensor<8x64xf32>) -> (tensor<8x50xf32>, tensor<8x50xi64>, tensor<8x114xf32>, tensor<8x114xi64>) attributes {lamina.kernel} {
  %0, %1, %2, %3 = loop.sort %x {taken = array<i64: 0, 50>} : tensor<8x64xf32> -> tensor<8x50xf32>, tensor<8x50xi64>, tensor<8x114xf32>, tensor<8x114xi64>
  func.return %0, %1, %2, %3 : tensor<8x50xf32>, tensor<8x50xi64>, tensor<8x114xf32>, tensor<8x114xi64>
}
// CHECK-LABEL: func.func private @third(
// CHECK-NOT:     taken = [
func.func private @third(%x: tensor<8x64xf32>) -> (tensor<8x1xf32>, tensor<8x1xi64>, tensor<8x65xf32>, tensor<8x65xi64>) attributes {lamina.kernel} {
  %0, %1, %2, %3 = loop.sort %x {taken = array<i64: 3, 1>} : tensor<8x64xf32> -> tensor<8x1xf32>, tensor<8x1xi64>, tensor<8x65xf32>, tensor<8x65xi64>
  func.return %0, %1, %2, %3 : tensor<8x1xf32>, tensor<8x1xi64>, tensor<8x65xf32>, tensor<8x65xi64>
}
func.func private @copy(%n: tensor<i64>, %m: tensor<i64>) -> (tensor<i64>, tensor<i64>) attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  %1 = loop.generic () in [] reads(%m[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0, %1 : tensor<i64>, tensor<i64>
}

// -----

// Rows whose padding goes last end behind it where all that is asked for may be padding; at their own number where calls
// check that no more is taken than there is.
// CHECK-LABEL: @checked
func.func @checked(%x: tensor<8x64xf32>, %n: tensor<i64> {lamina.kind = "input"}, %k: tensor<i64> {lamina.kind = "input"}, %m: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x50xf32> {lamina.sizes = [-1, 0]}, tensor<8x50xf32> {lamina.sizes = [-1, 1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}, tensor<i1> {lamina.kind = "check", lamina.message = "k is more than there are"}) {
  %0 = func.call @filled(%x, %n) : (tensor<8x64xf32>, tensor<i64>) -> tensor<8x64xf32>
  %c = func.call @fits(%k, %n) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %1, %2, %3, %4 = func.call @top(%0) : (tensor<8x64xf32>) -> (tensor<8x50xf32>, tensor<8x50xi64>, tensor<8x114xf32>, tensor<8x114xi64>)
  %5, %6, %7, %8 = func.call @top(%0) : (tensor<8x64xf32>) -> (tensor<8x50xf32>, tensor<8x50xi64>, tensor<8x114xf32>, tensor<8x114xi64>)
  %9, %10 = func.call @copy(%k, %m) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return %1, %5, %9, %10, %c : tensor<8x50xf32>, tensor<8x50xf32>, tensor<i64>, tensor<i64>, tensor<i1>
}
// CHECK:         [[MORE:%\S+]] = func.call @reach_0(%n)
// CHECK:         func.call @top({{%\S+}}, %n, %k)
// CHECK:         func.call @top_1({{%\S+}}, [[MORE]], %m)
func.func private @filled(%x: tensor<8x64xf32>, %n: tensor<i64>) -> tensor<8x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [8, 64] reads(%x[i, j] : tensor<8x64xf32>, %n[] : tensor<i64>) writes([i, j] store : tensor<8x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %m: i64):
    %p = loop.index 1 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %m : i64
    %nan = arith.constant 0x7fc00000 : f32
    %r = arith.select %c, %v, %nan : f32
    loop.yield %r : f32
  }
  func.return %0 : tensor<8x64xf32>
}
func.func private @fits(%k: tensor<i64>, %n: tensor<i64>) -> tensor<i1> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%k[] : tensor<i64>, %n[] : tensor<i64>) writes([] store : tensor<i1>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %b: i64):
    %c = arith.cmpi sle, %a, %b : i64
    loop.yield %c : i1
  }
  func.return %0 : tensor<i1>
}
// CHECK-LABEL: func.func private @top(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [8, arg1 of 64], taken = [arg2 of 50]>
// CHECK-LABEL: func.func private @top_1(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [8, arg1 of 64], taken = [arg2 of 50]>
func.func private @top(%x: tensor<8x64xf32>) -> (tensor<8x50xf32>, tensor<8x50xi64>, tensor<8x114xf32>, tensor<8x114xi64>) attributes {lamina.kernel} {
  %0, %1, %2, %3 = loop.sort %x {taken = array<i64: 0, 50>} : tensor<8x64xf32> -> tensor<8x50xf32>, tensor<8x50xi64>, tensor<8x114xf32>, tensor<8x114xi64>
  func.return %0, %1, %2, %3 : tensor<8x50xf32>, tensor<8x50xi64>, tensor<8x114xf32>, tensor<8x114xi64>
}
func.func private @copy(%n: tensor<i64>, %m: tensor<i64>) -> (tensor<i64>, tensor<i64>) attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  %1 = loop.generic () in [] reads(%m[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0, %1 : tensor<i64>, tensor<i64>
}
