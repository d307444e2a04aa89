// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-rows,limit-rows --split-input-file | filecheck %s

// Loops over rows that a mask leaves out of sums end at the number below which the mask is true; that becomes an
// argument of the kernel.
// CHECK-LABEL: @main
// CHECK:         func.call @columns(%m, %x, %n) :
func.func @main(%x: tensor<128x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<8xf32>, tensor<8xf32>) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<128xi1>
  %0, %1 = func.call @columns(%m, %x) : (tensor<128xi1>, tensor<128x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  func.return %0, %1 : tensor<8xf32>, tensor<8xf32>
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
// CHECK-LABEL: func.func private @columns(
// CHECK-SAME:    %count: tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-SAME:    lamina.masks = array<i64: 0, 2>
// CHECK:         add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.ends = [#loop.bounds<0, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [2]>]}
// CHECK:         max : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.ends = [#loop.bounds<0,
func.func private @columns(%m: tensor<128xi1>, %x: tensor<128x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [128, 8] reads(%m[i] : tensor<128xi1>, %x[i, j] : tensor<128x8xf32>) writes([j] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (i, j) in [128, 8] reads(%m[i] : tensor<128xi1>, %x[i, j] : tensor<128x8xf32>) writes([j] max : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0xff800000 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Positions that are compared in the body, in parts: each ends where its part does. The number is an argument already.
// CHECK-LABEL: @parts_of_all
func.func @parts_of_all(%x: tensor<1024xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<8xf32> {
  %0 = func.call @parts(%x, %n) : (tensor<1024xf32>, tensor<i64>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
// CHECK-LABEL: func.func private @parts(
// CHECK-NOT:     %count
// CHECK:         lamina.ends = [#loop.bounds<0, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (((d1 * -128) + s0))>, counts [1]>]
func.func private @parts(%x: tensor<1024xf32>, %n: tensor<i64>) -> tensor<8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, p) in [128, 8] reads(%x[i + p * 128] : tensor<1024xf32>, %n[] : tensor<i64>) writes([p] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32, %e: i64):
    %i = loop.index 0 : index
    %p = loop.index 1 : index
    %s = arith.constant 128 : index
    %t = arith.muli %p, %s : index
    %q = arith.addi %i, %t : index
    %r = arith.index_cast %q : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return %0 : tensor<8xf32>
}

// -----

// A softmax: what is kept of a row has the end of what reads it, and of the result that is cut there.
// CHECK-LABEL: @cut
func.func @cut(%x: tensor<4x128xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<4x128xf32> {lamina.sizes = [-1, 0]}, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<128xi1>
  %0 = func.call @softmax(%m, %x) : (tensor<128xi1>, tensor<4x128xf32>) -> tensor<4x128xf32>
  %1 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1 : tensor<4x128xf32>, tensor<i64>
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
// CHECK-LABEL: func.func private @softmax(
// CHECK:         max : {{.*}}lamina.ends = [#loop.bounds<1,
// CHECK:         store : tensor<4x128xf32>{{.*}}lamina.ends = [#loop.bounds<1,
// CHECK:         add : {{.*}}lamina.ends = [#loop.bounds<1,
// CHECK:         store : tensor<4x128xf32>{{.*}}lamina.ends = [#loop.bounds<1,
func.func private @softmax(%m: tensor<128xi1>, %x: tensor<4x128xf32>) -> tensor<4x128xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [4, 128] reads(%m[j] : tensor<128xi1>, %x[i, j] : tensor<4x128xf32>) writes([i] max : tensor<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0xff800000 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (i, j) in [4, 128] reads(%m[j] : tensor<128xi1>, %x[i, j] : tensor<4x128xf32>, %0[i] : tensor<4xf32>) writes([i, j] store : tensor<4x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %a: f32, %t: f32):
    %z = arith.constant 0xff800000 : f32
    %v = arith.select %c, %a, %z : f32
    %w = arith.subf %v, %t : f32
    %e = math.exp %w : f32
    loop.yield %e : f32
  }
  %2 = loop.generic (i, j) in [4, 128] reads(%1[i, j] : tensor<4x128xf32>) writes([i] add : tensor<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %3 = loop.generic (i, j) in [4, 128] reads(%1[i, j] : tensor<4x128xf32>, %2[i] : tensor<4xf32>) writes([i, j] store : tensor<4x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %d = arith.divf %a, %b : f32
    loop.yield %d : f32
  }
  func.return %3 : tensor<4x128xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Not so: sums of what no mask makes 0, maxima of what it makes 0, what a caller reads whole, and what a nest without an
// end reads.
// CHECK-LABEL: @whole
// CHECK-NOT:     lamina.ends
func.func @whole(%x: tensor<64x4xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<64x4xf32>) {
  %0, %1, %2, %3 = func.call @sums(%x, %n) : (tensor<64x4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<64x4xf32>)
  func.return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<64x4xf32>
}
func.func private @sums(%x: tensor<64x4xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<64x4xf32>) attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 4] reads(%x[i, j] : tensor<64x4xf32>, %n[] : tensor<i64>) writes([j] add : tensor<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32, %e: i64):
    %i = loop.index 0 : index
    %r = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    %z = arith.constant 1.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (i, j) in [64, 4] reads(%x[i, j] : tensor<64x4xf32>, %n[] : tensor<i64>) writes([j] max : tensor<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32, %e: i64):
    %i = loop.index 0 : index
    %r = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  %3 = loop.generic (i, j) in [64, 4] reads(%x[i, j] : tensor<64x4xf32>, %n[] : tensor<i64>) writes([i, j] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32, %e: i64):
    %i = loop.index 0 : index
    %r = arith.index_cast %i : index to i64
    %c = arith.cmpi sle, %r, %e : i64
    %z = arith.constant 1.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  %2 = loop.generic (i, j) in [64, 4] reads(%3[i, j] : tensor<64x4xf32>) writes([j] add : tensor<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<64x4xf32>
}

// -----

// Labels of rows that do not count are ignored: losses end there, and so do rows of what they are looked up in.
// CHECK-LABEL: @labels
func.func @labels(%x: tensor<64x8xf32>, %l: tensor<64xi64>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<f32> {
  %0 = func.call @logs(%x) : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %1 = func.call @losses(%0, %l, %n) : (tensor<64x8xf32>, tensor<64xi64>, tensor<i64>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
// CHECK-LABEL: func.func private @logs(
// CHECK:         live = [arg1 of 64]
func.func private @logs(%x: tensor<64x8xf32>) -> tensor<64x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 8] reads(%x[i, j] : tensor<64x8xf32>) writes([i, j] store : tensor<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %v = math.log %a : f32
    loop.yield %v : f32
  }
  func.return %0 : tensor<64x8xf32>
}
// CHECK-LABEL: func.func private @losses(
// CHECK:         lamina.ends = [#loop.bounds<0, lower affine_map<(d0)[s0] -> ()>, upper affine_map<(d0)[s0] -> (s0)>, counts [2]>]
func.func private @losses(%x: tensor<64x8xf32>, %l: tensor<64xi64>, %n: tensor<i64>) -> tensor<f32> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [64] reads(%l[i] : tensor<64xi64>, %n[] : tensor<i64>) sources(%x : tensor<64x8xf32>) writes([] add : tensor<f32>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %e: i64, %s: tensor<64x8xf32>):
    %i = loop.index 0 : index
    %r = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    %k = arith.constant -100 : i64
    %t = arith.select %c, %a, %k : i64
    %h = arith.cmpi ne, %t, %k : i64
    %o = arith.constant 0 : i64
    %u = arith.select %h, %t, %o : i64
    %p = arith.index_cast %u : i64 to index
    %y = loop.read %s[%i, %p] : tensor<64x8xf32>
    %z = arith.constant 0.0 : f32
    %v = arith.select %h, %y, %z : f32
    loop.yield %v : f32
  }
  func.return %0 : tensor<f32>
}

// -----

// Nobody reads an image behind the windows of the lines that count: it ends two lines behind those, and in steps of
// two at twice as many and one. A mask that is read beyond its edge is noted with its number.
// CHECK-LABEL: @main
func.func @main(%x: tensor<4x64x64xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<4x62x64xf32> {lamina.sizes = [-1, 0, -1]}, tensor<4x31x64xf32> {lamina.sizes = [-1, 0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %0 = func.call @windows(%m, %x) : (tensor<64xi1>, tensor<4x64x64xf32>) -> tensor<4x62x64xf32>
  %1 = func.call @in_steps(%x) : (tensor<4x64x64xf32>) -> tensor<4x31x64xf32>
  func.return %0, %1, %n : tensor<4x62x64xf32>, tensor<4x31x64xf32>, tensor<i64>
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
// CHECK-LABEL: func.func private @windows(
// CHECK-SAME:    lamina.masks = array<i64: 0, 2>
// CHECK:         store : tensor<4x64x64xf32>) attributes {{.*}}#loop.bounds<1, lower {{.*}} upper affine_map<(d0, d1, d2)[s0] -> ((s0 + 2))>
// CHECK:         add : tensor<4x62x64xf32>) attributes {{.*}}#loop.bounds<1, lower {{.*}} upper affine_map<(d0, d1, d2, d3)[s0] -> (s0)>
func.func private @windows(%m: tensor<64xi1>, %x: tensor<4x64x64xf32>) -> tensor<4x62x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (c, i, j) in [4, 64, 64] reads(%m[i - 1] pad false : tensor<64xi1>, %x[c, i - 1, j] pad 0.0 : f32 : tensor<4x64x64xf32>) writes([c, i, j] store : tensor<4x64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%b: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %v = arith.select %b, %a, %z : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (c, i, j, k) in [4, 62, 64, 3] reads(%0[c, i + k, j] : tensor<4x64x64xf32>) writes([c, i, j] add : tensor<4x62x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %1 : tensor<4x62x64xf32>
}
// CHECK-LABEL: func.func private @in_steps(
// CHECK:         store : tensor<4x64x64xf32>) attributes {{.*}}#loop.bounds<1, lower {{.*}} upper affine_map<(d0, d1, d2)[s0] -> (((s0 * 2) + 1))>
func.func private @in_steps(%x: tensor<4x64x64xf32>) -> tensor<4x31x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (c, i, j) in [4, 64, 64] reads(%x[c, i, j] : tensor<4x64x64xf32>) writes([c, i, j] store : tensor<4x64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %v = arith.negf %a : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (c, i, j, k) in [4, 31, 64, 3] reads(%0[c, 2 * i + k, j] : tensor<4x64x64xf32>) writes([c, i, j] add : tensor<4x31x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %1 : tensor<4x31x64xf32>
}

// -----

// A mask that may be false below the number as well is asked at each position.
// CHECK-LABEL: @main
// CHECK:         func.call @columns(%m, %x) :
// CHECK-LABEL: func.func private @columns(
// CHECK-NOT:     lamina.masks
// CHECK-NOT:     lamina.ends
func.func @main(%x: tensor<128x8xf32>, %k: tensor<128xi1>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<8xf32> {
  %m = func.call @some_below(%n, %k) : (tensor<i64>, tensor<128xi1>) -> tensor<128xi1>
  %0 = func.call @columns(%m, %x) : (tensor<128xi1>, tensor<128x8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
func.func private @some_below(%n: tensor<i64>, %k: tensor<128xi1>) -> tensor<128xi1> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [128] reads(%n[] : tensor<i64>, %k[i] : tensor<128xi1>) writes([i] store : tensor<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64, %own: i1):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    %both = arith.andi %c, %own : i1
    loop.yield %both : i1
  }
  func.return %0 : tensor<128xi1>
}
func.func private @columns(%m: tensor<128xi1>, %x: tensor<128x8xf32>) -> tensor<8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [128, 8] reads(%m[i] : tensor<128xi1>, %x[i, j] : tensor<128x8xf32>) writes([j] add : tensor<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return %0 : tensor<8xf32>
}

// -----

// What is masked stands behind all that counts, and is never the first of the largest. So it may be of the last,
// where places are counted from the end: that one runs on.
// CHECK-LABEL: @largest_of_all
func.func @largest_of_all(%x: tensor<8x128xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<8xi32>, tensor<8xi32>) {
  %0, %1 = func.call @largest(%x, %n) : (tensor<8x128xf32>, tensor<i64>) -> (tensor<8xi32>, tensor<8xi32>)
  func.return %0, %1 : tensor<8xi32>, tensor<8xi32>
}
// CHECK-LABEL: func.func private @largest(
// CHECK:         combine : tensor<8xi32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1,
// CHECK:         combine : tensor<8xi32>) attributes {lamina.nest = #loop.nest<rows = [d0], part = 1>} {
func.func private @largest(%x: tensor<8x128xf32>, %n: tensor<i64>) -> (tensor<8xi32>, tensor<8xi32>) attributes {lamina.kernel} {
  %v, %p = loop.generic (i, j) in [8, 128] reads(%x[i, j] : tensor<8x128xf32>, %n[] : tensor<i64>) writes([i] combine : tensor<8xf32>, [i] combine : tensor<8xi32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %e: i64):
    %j = loop.index 1 : index
    %q = arith.index_cast %j : index to i64
    %c = arith.cmpi slt, %q, %e : i64
    %z = arith.constant 0xff800000 : f32
    %s = arith.select %c, %a, %z : f32
    %t = arith.index_cast %j : index to i32
    loop.yield %s, %t : f32, i32
  } combine(0xff800000 : f32, 2147483647 : i32) {
  ^bb0(%b: f32, %k: i32, %d: f32, %l: i32):
    %0 = arith.cmpf ogt, %b, %d : f32
    %1 = arith.cmpf oeq, %b, %d : f32
    %2 = arith.cmpi slt, %k, %l : i32
    %3 = arith.andi %1, %2 : i1
    %4 = arith.ori %0, %3 : i1
    %5 = arith.select %4, %b, %d : f32
    %6 = arith.select %4, %k, %l : i32
    loop.yield %5, %6 : f32, i32
  }
  %w, %r = loop.generic (i, j) in [8, 128] reads(%x[i, j] : tensor<8x128xf32>, %n[] : tensor<i64>) writes([i] combine : tensor<8xf32>, [i] combine : tensor<8xi32>) attributes {lamina.nest = #loop.nest<rows = [d0], part = 1>} {
  ^bb0(%a: f32, %e: i64):
    %j = loop.index 1 : index
    %q = arith.index_cast %j : index to i64
    %c = arith.cmpi slt, %q, %e : i64
    %z = arith.constant 0xff800000 : f32
    %s = arith.select %c, %a, %z : f32
    %u = arith.index_cast %j : index to i32
    %m = arith.constant 127 : i32
    %t = arith.subi %m, %u : i32
    loop.yield %s, %t : f32, i32
  } combine(0xff800000 : f32, 2147483647 : i32) {
  ^bb0(%b: f32, %k: i32, %d: f32, %l: i32):
    %0 = arith.cmpf ogt, %b, %d : f32
    %1 = arith.cmpf oeq, %b, %d : f32
    %2 = arith.cmpi slt, %k, %l : i32
    %3 = arith.andi %1, %2 : i1
    %4 = arith.ori %0, %3 : i1
    %5 = arith.select %4, %b, %d : f32
    %6 = arith.select %4, %k, %l : i32
    loop.yield %5, %6 : f32, i32
  }
  func.return %p, %r : tensor<8xi32>, tensor<8xi32>
}
