// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-rows,limit-rows --split-input-file | filecheck %s

// A result that is cut to `%n` rows demands these of what it is made of, through views and kernels; heads in front of
// positions are another digit.
// CHECK-LABEL: @main
// CHECK:         func.call @project(%x, %w, %n) :
// CHECK:         func.call @heads(%{{[0-9]+}}, %n) :
func.func @main(%x: tensor<128x8xf32>, %w: tensor<8x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<128x8xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @project(%x, %w) : (tensor<128x8xf32>, tensor<8x8xf32>) -> tensor<128x8xf32>
  %1 = loop.reshape %0 : tensor<128x8xf32> -> tensor<128x2x4xf32>
  %2 = func.call @heads(%1) : (tensor<128x2x4xf32>) -> tensor<128x8xf32>
  %3 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %2, %3 : tensor<128x8xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @project(
// CHECK-SAME:    %count: tensor<i64>
// CHECK:         lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 128]>
func.func private @project(%x: tensor<128x8xf32>, %w: tensor<8x8xf32>) -> tensor<128x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [128, 8, 8] reads(%x[i, k] : tensor<128x8xf32>, %w[k, j] : tensor<8x8xf32>) writes([i, j] add : tensor<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<128x8xf32>
}
// CHECK-LABEL: func.func private @heads(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [2, arg1 of 128]>
func.func private @heads(%x: tensor<128x2x4xf32>) -> tensor<128x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (h, i, j) in [2, 128, 4] reads(%x[i, h, j] : tensor<128x2x4xf32>) writes([i, h * 4 + j] store : tensor<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %c = arith.negf %a : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<128x8xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// A mask of positions below a size demands no more of what it chooses. Behind a product that has only live rows, what
// needs all of them is a part of its own.
// CHECK-LABEL: @masked
func.func @masked(%x: tensor<128x8xf32>, %w: tensor<8x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<128x8xf32> {lamina.sizes = [0, -1]}, tensor<8xf32>, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<128xi1>
  %0, %1 = func.call @product(%x, %w, %m) : (tensor<128x8xf32>, tensor<8x8xf32>, tensor<128xi1>) -> (tensor<128x8xf32>, tensor<128x8xf32>)
  %2 = func.call @sum(%1) : (tensor<128x8xf32>) -> tensor<8xf32>
  %3 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %2, %3 : tensor<128x8xf32>, tensor<8xf32>, tensor<i64>
}
func.func private @below(%n: tensor<i64>) -> tensor<128xi1> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [128] reads(%n[] : tensor<i64>) writes([i] store : tensor<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  func.return %0 : tensor<128xi1>
}
// CHECK-LABEL: func.func private @product(
// CHECK:         add : tensor<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg3 of 128]>}
// CHECK:         store : tensor<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], part = 1>}
func.func private @product(%x: tensor<128x8xf32>, %w: tensor<8x8xf32>, %m: tensor<128xi1>) -> (tensor<128x8xf32>, tensor<128x8xf32>) attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [128, 8, 8] reads(%x[i, k] : tensor<128x8xf32>, %w[k, j] : tensor<8x8xf32>) writes([i, j] add : tensor<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %1 = loop.generic (i, j) in [128, 8] reads(%m[i] : tensor<128xi1>, %0[i, j] : tensor<128x8xf32>) writes([i, j] store : tensor<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %b = arith.negf %a : f32
    %c = arith.select %p, %b, %z : f32
    loop.yield %c : f32
  }
  func.return %0, %1 : tensor<128x8xf32>, tensor<128x8xf32>
}
// CHECK-LABEL: func.func private @sum(
// CHECK-NOT:     live
func.func private @sum(%x: tensor<128x8xf32>) -> tensor<8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (j, i) in [8, 128] reads(%x[i, j] : tensor<128x8xf32>) writes([j] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<8xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Places to read from are demanded whole, as those behind the live ones may never have been written. A kernel that
// another call needs all of has no limit, nor has one whose rows are read in another order.
// CHECK-LABEL: @whole
func.func @whole(%x: tensor<64x4xf32>, %t: tensor<9x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<64x4xf32>, tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @places(%x) : (tensor<64x4xf32>) -> tensor<64xi64>
  %1 = func.call @rows(%t, %0) : (tensor<9x4xf32>, tensor<64xi64>) -> tensor<64x4xf32>
  %2 = func.call @negated(%x) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %3 = func.call @negated(%1) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %4 = func.call @turned(%3) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %5 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %1, %2, %4, %5 : tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @places(
// CHECK-NOT:     live
func.func private @places(%x: tensor<64x4xf32>) -> tensor<64xi64> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [64] reads(%x[i, 0] : tensor<64x4xf32>) writes([i] store : tensor<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %b = arith.fptosi %a : f32 to i64
    loop.yield %b : i64
  }
  func.return %0 : tensor<64xi64>
}
// CHECK-LABEL: func.func private @rows(
// CHECK-NOT:     live
func.func private @rows(%t: tensor<9x4xf32>, %i: tensor<64xi64>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 4] reads(%i[i] : tensor<64xi64>) sources(%t : tensor<9x4xf32>) writes([i, j] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: i64, %s: tensor<9x4xf32>):
    %r = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    %v = loop.read %s[%r, %c] : tensor<9x4xf32>
    loop.yield %v : f32
  }
  func.return %0 : tensor<64x4xf32>
}
// CHECK-LABEL: func.func private @negated(
// CHECK-NOT:     live
func.func private @negated(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 4] reads(%x[i, j] : tensor<64x4xf32>) writes([i, j] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %c = arith.negf %a : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<64x4xf32>
}
// CHECK-LABEL: func.func private @turned(
// CHECK:         live = [arg1 of 64]
func.func private @turned(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 4] reads(%x[63 - i, j] : tensor<64x4xf32>) writes([i, j] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<64x4xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Pads and panels stand along other axes than the samples do.
// CHECK-LABEL: @windows
func.func @windows(%x: tensor<16x8x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<16x8xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @packed(%x) : (tensor<16x8x32xf32>) -> tensor<16x2x8x16xf32>
  %1 = func.call @padded(%0) : (tensor<16x2x8x16xf32>) -> tensor<16x8xf32>
  %2 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %1, %2 : tensor<16x8xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @packed(
// CHECK:         live = [arg1 of 16, 2, 8, 16]
func.func private @packed(%x: tensor<16x8x32xf32>) -> tensor<16x2x8x16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (n, p, i, j) in [16, 2, 8, 16] reads(%x[n, i, p * 16 + j] : tensor<16x8x32xf32>) writes([n, p, i, j] store : tensor<16x2x8x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2, d3]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<16x2x8x16xf32>
}
// CHECK-LABEL: func.func private @padded(
// CHECK:         live = [arg1 of 16]
func.func private @padded(%x: tensor<16x2x8x16xf32>) -> tensor<16x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (n, i, j) in [16, 8, 33] reads(%x[n, j floordiv 16, i - 1, j mod 16] pad 0.0 : f32 : tensor<16x2x8x16xf32>) writes([n, i] add : tensor<16x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<16x8xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// A mask of the positions below a size is noted on the kernel, and bounds of the keys that follow from it: scores, maxima,
// exponentials and the second product have them.
// CHECK-LABEL: @attention
func.func @attention(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x32xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %0 = func.call @attend(%q, %k, %v, %m) : (tensor<64x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<64xi1>) -> tensor<64x32xf32>
  %1 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1 : tensor<64x32xf32>, tensor<i64>
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
// CHECK-LABEL: func.func private @attend(
// CHECK-SAME:    %count: tensor<i64>
// CHECK-SAME:    lamina.masks = array<i64: 3, 4>
// CHECK:         add : tensor<64x64xf32>) attributes {{.*}}lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>
// CHECK:         max : tensor<64xf32>) attributes {{.*}}lamina.bounds = #loop.bounds<1, {{.*}}counts [4]>
// CHECK:         store : tensor<64x64xf32>) attributes {{.*}}lamina.bounds = #loop.bounds<1, {{.*}}counts [4]>
// CHECK:         add : tensor<64x32xf32>) attributes {{.*}}lamina.bounds = #loop.bounds<2, {{.*}}counts [4]>
func.func private @attend(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %m: tensor<64xi1>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 64, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<2x16x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %l = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %s[i, j] : tensor<64x64xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %x: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  %e = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %s[i, j] : tensor<64x64xf32>, %l[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %x: f32, %t: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    %z = arith.subf %y, %t : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %r = loop.generic (i, f, j) in [64, 32, 64] reads(%e[i, j] : tensor<64x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<64x32xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Where one call has a mask of another kind, nothing is known of it: it has a kernel of its own.
// CHECK-LABEL: @two_masks
// CHECK:         func.call @attend(%q, %k, %v, %{{[0-9a-z]+}}, %n)
// CHECK:         func.call @attend_1(%q, %k, %v, %o)
// CHECK:       func.func private @attend(
// CHECK-SAME:    lamina.masks = array<i64: 3, 4>
// CHECK:       func.func private @attend_1(
// CHECK-NOT:     lamina.masks
// CHECK-NOT:     counts [
// CHECK:       @copy
func.func @two_masks(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %o: tensor<64xi1>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x32xf32> {lamina.sizes = [0, -1]}, tensor<64x32xf32>, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %0 = func.call @attend(%q, %k, %v, %m) : (tensor<64x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<64xi1>) -> tensor<64x32xf32>
  %2 = func.call @attend(%q, %k, %v, %o) : (tensor<64x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<64xi1>) -> tensor<64x32xf32>
  %1 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %2, %1 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<i64>
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
func.func private @attend(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %m: tensor<64xi1>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 64, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<2x16x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %l = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %s[i, j] : tensor<64x64xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %x: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  %e = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %s[i, j] : tensor<64x64xf32>, %l[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %x: f32, %t: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    %z = arith.subf %y, %t : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %r = loop.generic (i, f, j) in [64, 32, 64] reads(%e[i, j] : tensor<64x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<64x32xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Windows reach so far into an image: `2 * %h + 1` of its rows are read, for `%h` outputs. A kernel that computes `%h`
// for a mask returns it. No result is cut.
// CHECK-LABEL: @reaching
// CHECK:         %m, %[[H:[0-9]+]] = func.call @size(%n) : (tensor<i64>) -> (tensor<15xi1>, tensor<i64>)
// CHECK:         %[[END:[0-9]+]] = func.call @reach_0(%[[H]]) :
// CHECK:         func.call @edge(%x, %[[END]]) :
// CHECK:         func.call @window(%{{[0-9]+}}, %w, %[[H]]) :
func.func @reaching(%x: tensor<32x4xf32>, %w: tensor<3x4x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<4xf32> {
  %m = func.call @size(%n) : (tensor<i64>) -> tensor<15xi1>
  %0 = func.call @edge(%x) : (tensor<32x4xf32>) -> tensor<33x4xf32>
  %1 = func.call @window(%0, %w) : (tensor<33x4xf32>, tensor<3x4x4xf32>) -> tensor<15x4xf32>
  %2 = func.call @total(%1, %m) : (tensor<15x4xf32>, tensor<15xi1>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
func.func private @size(%n: tensor<i64>) -> tensor<15xi1> attributes {lamina.kernel} {
  %h = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %one = arith.constant -1 : i64
    %b = arith.addi %a, %one : i64
    loop.yield %b : i64
  }
  %0 = loop.generic (i) in [15] reads(%h[] : tensor<i64>) writes([i] store : tensor<15xi1>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  func.return %0 : tensor<15xi1>
}
// CHECK:         func.func private @edge(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 33, 4]>
func.func private @edge(%x: tensor<32x4xf32>) -> tensor<33x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [33, 4] reads(%x[i - 1, j] pad 0.0 : f32 : tensor<32x4xf32>) writes([i, j] store : tensor<33x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<33x4xf32>
}
// CHECK:         func.func private @window(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg2 of 15, 4]>
func.func private @window(%x: tensor<33x4xf32>, %w: tensor<3x4x4xf32>) -> tensor<15x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, f, k, c) in [15, 4, 3, 4] reads(%x[i * 2 + k, c] : tensor<33x4xf32>, %w[k, c, f] : tensor<3x4x4xf32>) writes([i, f] add : tensor<15x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %b: f32):
    %d = arith.mulf %a, %b : f32
    loop.yield %d : f32
  }
  func.return %0 : tensor<15x4xf32>
}
func.func private @total(%x: tensor<15x4xf32>, %m: tensor<15xi1>) -> tensor<4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (f, i) in [4, 15] reads(%x[i, f] : tensor<15x4xf32>, %m[i] : tensor<15xi1>) writes([f] add : tensor<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %c: i1):
    %z = arith.constant 0.0 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<4xf32>
}
// CHECK:         func.func private @reach_0(%{{[0-9]+}}: tensor<i64>) -> tensor<i64> attributes {lamina.kernel
// CHECK:         arith.constant 2 : i64
// CHECK:         arith.muli
// CHECK:         arith.constant 1 : i64
// CHECK:         arith.addi

// -----

// Places that another kernel looks up at as well are made for all rows, in a part in front of what looks up for rows
// that count. A part that is to stand in front must not need what the other makes.
// CHECK-LABEL: @two_lookups
func.func @two_lookups(%x: tensor<64xi64>, %t: tensor<9x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0, %1 = func.call @first_lookup(%x, %t) : (tensor<64xi64>, tensor<9x4xf32>) -> (tensor<64xi64>, tensor<64x4xf32>)
  %2 = func.call @second_lookup(%t, %0) : (tensor<9x4xf32>, tensor<64xi64>) -> tensor<64x4xf32>
  %3, %4 = func.call @mixed(%x, %t) : (tensor<64xi64>, tensor<9x4xf32>) -> (tensor<64x4xf32>, tensor<64xi64>)
  %5 = func.call @second_lookup(%t, %4) : (tensor<9x4xf32>, tensor<64xi64>) -> tensor<64x4xf32>
  %7, %8 = func.call @third_lookup(%x, %t) : (tensor<64xi64>, tensor<9x4xf32>) -> (tensor<64xi64>, tensor<64x4xf32>)
  %9 = func.call @second_lookup(%t, %7) : (tensor<9x4xf32>, tensor<64xi64>) -> tensor<64x4xf32>
  %6 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %1, %2, %5, %8, %9, %6 : tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<64x4xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @first_lookup(
// CHECK:         store : tensor<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>}
// CHECK:         store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], part = 1, live = [arg2 of 64]>}
func.func private @first_lookup(%x: tensor<64xi64>, %t: tensor<9x4xf32>) -> (tensor<64xi64>, tensor<64x4xf32>) attributes {lamina.kernel} {
  %0 = loop.generic (i) in [64] reads(%x[i] : tensor<64xi64>) writes([i] store : tensor<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %c = arith.constant 7 : i64
    %b = arith.andi %a, %c : i64
    loop.yield %b : i64
  }
  %1 = loop.generic (i, j) in [64, 4] reads(%0[i] : tensor<64xi64>) sources(%t : tensor<9x4xf32>) writes([i, j] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64, %s: tensor<9x4xf32>):
    %p = arith.index_cast %a : i64 to index
    %q = loop.index 1 : index
    %v = loop.read %s[%p, %q] : tensor<9x4xf32>
    loop.yield %v : f32
  }
  func.return %0, %1 : tensor<64xi64>, tensor<64x4xf32>
}
// CHECK-LABEL: func.func private @second_lookup(
// CHECK:         live = [arg2 of 64]
func.func private @second_lookup(%t: tensor<9x4xf32>, %x: tensor<64xi64>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 4] reads(%x[i] : tensor<64xi64>) sources(%t : tensor<9x4xf32>) writes([i, j] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64, %s: tensor<9x4xf32>):
    %p = arith.index_cast %a : i64 to index
    %q = loop.index 1 : index
    %v = loop.read %s[%p, %q] : tensor<9x4xf32>
    loop.yield %v : f32
  }
  func.return %0 : tensor<64x4xf32>
}
// Where they are a number for each row they may be handed on in memory: the kernel returns them.
// CHECK-LABEL: func.func private @third_lookup(
// CHECK:         %[[PLACES:.*]] = loop.generic (d0) in [64] {{.*}} attributes {lamina.nest = #loop.nest<rows = [d0]>}
// CHECK:         %[[SUMS:.*]] = loop.generic (d0) in [64] {{.*}} attributes {lamina.nest = #loop.nest<rows = [d0]>}
// CHECK:         %[[FOUND:.*]] = loop.generic (d0, d1) in [64, 4] {{.*}} attributes {lamina.nest = #loop.nest<rows = [d0], part = 1, live = [arg2 of 64]>}
// CHECK:         func.return %[[SUMS]], %[[FOUND]], %[[PLACES]]
func.func private @third_lookup(%x: tensor<64xi64>, %t: tensor<9x4xf32>) -> (tensor<64xi64>, tensor<64x4xf32>) attributes {lamina.kernel} {
  %0 = loop.generic (i) in [64] reads(%x[i] : tensor<64xi64>) writes([i] store : tensor<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %c = arith.constant 3 : i64
    %b = arith.andi %a, %c : i64
    loop.yield %b : i64
  }
  %1 = loop.generic (i) in [64] reads(%0[i] : tensor<64xi64>) writes([i] store : tensor<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %b = arith.addi %a, %a : i64
    loop.yield %b : i64
  }
  %2 = loop.generic (i, j) in [64, 4] reads(%0[i] : tensor<64xi64>) sources(%t : tensor<9x4xf32>) writes([i, j] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64, %s: tensor<9x4xf32>):
    %p = arith.index_cast %a : i64 to index
    %q = loop.index 1 : index
    %v = loop.read %s[%p, %q] : tensor<9x4xf32>
    loop.yield %v : f32
  }
  func.return %1, %2 : tensor<64xi64>, tensor<64x4xf32>
}
// CHECK-LABEL: func.func private @mixed(
// CHECK-NOT:     live
// CHECK-NOT:     part
func.func private @mixed(%x: tensor<64xi64>, %t: tensor<9x4xf32>) -> (tensor<64x4xf32>, tensor<64xi64>) attributes {lamina.kernel} {
  %0 = loop.generic (i) in [64] reads(%x[i] : tensor<64xi64>) writes([i] store : tensor<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %c = arith.constant 7 : i64
    %b = arith.andi %a, %c : i64
    loop.yield %b : i64
  }
  %1 = loop.generic (i, j) in [64, 4] reads(%0[i] : tensor<64xi64>) sources(%t : tensor<9x4xf32>) writes([i, j] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64, %s: tensor<9x4xf32>):
    %p = arith.index_cast %a : i64 to index
    %q = loop.index 1 : index
    %v = loop.read %s[%p, %q] : tensor<9x4xf32>
    loop.yield %v : f32
  }
  %2 = loop.generic (i) in [64] reads(%1[i, 0] : tensor<64x4xf32>) writes([i] store : tensor<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %b = arith.bitcast %a : f32 to i32
    %c = arith.extui %b : i32 to i64
    %m = arith.constant 7 : i64
    %d = arith.andi %c, %m : i64
    loop.yield %d : i64
  }
  func.return %1, %2 : tensor<64x4xf32>, tensor<64xi64>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// What a product hands to a part behind it is in memory: the kernel returns it, and calls give it.
// CHECK-LABEL: @handed
// CHECK:         %{{[0-9]+}}, %{{[0-9]+}} = func.call @masked_product(%x, %w, %m, %n) :
func.func @handed(%x: tensor<128x8xf32>, %w: tensor<8x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<8xf32>, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<128xi1>
  %0 = func.call @masked_product(%x, %w, %m) : (tensor<128x8xf32>, tensor<8x8xf32>, tensor<128xi1>) -> tensor<128x8xf32>
  %1 = func.call @sum(%0) : (tensor<128x8xf32>) -> tensor<8xf32>
  %2 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %1, %2 : tensor<8xf32>, tensor<i64>
}
func.func private @below(%n: tensor<i64>) -> tensor<128xi1> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [128] reads(%n[] : tensor<i64>) writes([i] store : tensor<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  func.return %0 : tensor<128xi1>
}
// CHECK-LABEL: func.func private @masked_product(
// CHECK-SAME:    -> (tensor<128x8xf32>, tensor<128x8xf32>)
// CHECK:         %[[product:[0-9]+]] = loop.generic
// CHECK-SAME:      add : tensor<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg3 of 128]>}
// CHECK:         %[[masked:[0-9]+]] = loop.generic
// CHECK-SAME:      store : tensor<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], part = 1>}
// CHECK:         func.return %[[masked]], %[[product]]
func.func private @masked_product(%x: tensor<128x8xf32>, %w: tensor<8x8xf32>, %m: tensor<128xi1>) -> tensor<128x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [128, 8, 8] reads(%x[i, k] : tensor<128x8xf32>, %w[k, j] : tensor<8x8xf32>) writes([i, j] add : tensor<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %1 = loop.generic (i, j) in [128, 8] reads(%m[i] : tensor<128xi1>, %0[i, j] : tensor<128x8xf32>) writes([i, j] store : tensor<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %c = arith.select %p, %a, %z : f32
    loop.yield %c : f32
  }
  func.return %1 : tensor<128x8xf32>
}
func.func private @sum(%x: tensor<128x8xf32>) -> tensor<8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (j, i) in [8, 128] reads(%x[i, j] : tensor<128x8xf32>) writes([j] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<8xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// A table is made as far as it is looked up: up to the limit of the reads, where all of them have it.
// CHECK-LABEL: @tables
func.func @tables(%x: tensor<1024x4xf32>, %i: tensor<64xi64>, %n: tensor<i64> {lamina.kind = "input"}, %k: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<64x4xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @table(%x) : (tensor<1024x4xf32>) -> tensor<1024x4xf32>
  %1 = func.call @whole_table(%x) : (tensor<1024x4xf32>) -> tensor<1024x4xf32>
  %2, %3 = func.call @looked_up(%0, %1, %i, %n) : (tensor<1024x4xf32>, tensor<1024x4xf32>, tensor<64xi64>, tensor<i64>) -> (tensor<64x4xf32>, tensor<64x4xf32>)
  %4 = func.call @copy(%k) : (tensor<i64>) -> tensor<i64>
  func.return %2, %3, %4 : tensor<64x4xf32>, tensor<64x4xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @table(
// CHECK:         live = [arg1 of 1024]
func.func private @table(%x: tensor<1024x4xf32>) -> tensor<1024x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [1024, 4] reads(%x[i, j] : tensor<1024x4xf32>) writes([i, j] store : tensor<1024x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<1024x4xf32>
}
// CHECK-LABEL: func.func private @whole_table(
// CHECK-NOT:     live
func.func private @whole_table(%x: tensor<1024x4xf32>) -> tensor<1024x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [1024, 4] reads(%x[i, j] : tensor<1024x4xf32>) writes([i, j] store : tensor<1024x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<1024x4xf32>
}
// CHECK-LABEL: func.func private @looked_up(
// CHECK:         live = [arg4 of 64]
func.func private @looked_up(%t: tensor<1024x4xf32>, %u: tensor<1024x4xf32>, %i: tensor<64xi64>, %n: tensor<i64>) -> (tensor<64x4xf32>, tensor<64x4xf32>) attributes {lamina.kernel} {
  %0, %1 = loop.generic (i, j) in [64, 4] reads(%i[i] : tensor<64xi64>, %n[] : tensor<i64>) sources(%t : tensor<1024x4xf32>, %u : tensor<1024x4xf32>) writes([i, j] store : tensor<64x4xf32>, [i, j] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: i64, %m: i64, %s: tensor<1024x4xf32>, %r: tensor<1024x4xf32>):
    %end = arith.index_cast %m : i64 to index
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    %a = loop.read %s[%row below %end, %column] : tensor<1024x4xf32>
    %b = loop.read %r[%row below %end, %column] : tensor<1024x4xf32>
    %c = loop.read %r[%row, %column] : tensor<1024x4xf32>
    %d = arith.addf %b, %c : f32
    loop.yield %a, %d : f32, f32
  }
  func.return %0, %1 : tensor<64x4xf32>, tensor<64x4xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// What is looked up at rows that follow from the position, as two digits here, is demanded there alone; columns of them are
// chosen by data.
// CHECK-LABEL: @looked_up
func.func @looked_up(%x: tensor<64x8xf32>, %t: tensor<4x16xi64>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<4x16xf32> {lamina.sizes = [-1, 0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @made(%x) : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %1 = func.call @picked(%t, %0) : (tensor<4x16xi64>, tensor<64x8xf32>) -> tensor<4x16xf32>
  %2 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %1, %2 : tensor<4x16xf32>, tensor<i64>
}
// CHECK-LABEL: func.func private @made(
// CHECK:         lamina.nest = #loop.nest<rows = [d0], live = [4, arg1 of 16]>
func.func private @made(%x: tensor<64x8xf32>) -> tensor<64x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 8] reads(%x[i, j] : tensor<64x8xf32>) writes([i, j] store : tensor<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %c = arith.negf %a : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<64x8xf32>
}
func.func private @picked(%t: tensor<4x16xi64>, %x: tensor<64x8xf32>) -> tensor<4x16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (b, i) in [4, 16] reads(%t[b, i] : tensor<4x16xi64>) sources(%x : tensor<64x8xf32>) writes([b, i] store : tensor<4x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: i64, %table: tensor<64x8xf32>):
    %b = loop.index 0 : index
    %i = loop.index 1 : index
    %each = arith.constant 16 : index
    %from = arith.muli %b, %each : index
    %row = arith.addi %from, %i : index
    %column = arith.index_cast %p : i64 to index
    %v = loop.read %table[%row, %column] : tensor<64x8xf32>
    loop.yield %v : f32
  }
  func.return %0 : tensor<4x16xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}
