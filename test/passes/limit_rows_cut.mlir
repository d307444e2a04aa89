// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// Both operands of a product are 0 from a number on: its sum is cut there, and who masks them need not make zeros.
// CHECK-LABEL: @both
// CHECK:         func.func private @mask(%x: tensor<16x64xf32>, %m: tensor<64xi1>, %count: tensor<i64>)
// CHECK:           live = [16, arg2 of 64]>
// CHECK:         func.func private @pack(%v: tensor<64x32xf32>, %m: tensor<64xi1>, %count: tensor<i64>)
// CHECK:           live = [arg2 of 64, 32]>
// CHECK:         func.func private @product(%x: tensor<16x64xf32>, %v: tensor<1x64x32xf32>, %count: tensor<i64>)
// CHECK:           lamina.cut = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [2]>
func.func @both(%x: tensor<16x64xf32>, %w: tensor<64x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<16x32xf32> {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %0 = func.call @mask(%x, %m) : (tensor<16x64xf32>, tensor<64xi1>) -> tensor<16x64xf32>
  %1 = func.call @pack(%w, %m) : (tensor<64x32xf32>, tensor<64xi1>) -> tensor<1x64x32xf32>
  %2 = func.call @product(%0, %1) : (tensor<16x64xf32>, tensor<1x64x32xf32>) -> tensor<16x32xf32>
  func.return %2 : tensor<16x32xf32>
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
func.func private @mask(%x: tensor<16x64xf32>, %m: tensor<64xi1>) -> tensor<16x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [16, 64] reads(%x[d0, d1] : tensor<16x64xf32>, %m[d1] : tensor<64xi1>) writes([d0, d1] store : tensor<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %c: i1):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<16x64xf32>
}
func.func private @pack(%v: tensor<64x32xf32>, %m: tensor<64xi1>) -> tensor<1x64x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [1, 64, 32] reads(%v[d1, (d0 * 32) + d2] : tensor<64x32xf32>, %m[d1] : tensor<64xi1>) writes([d0, d1, d2] store : tensor<1x64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%x: f32, %c: i1):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %x, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<1x64x32xf32>
}
func.func private @product(%x: tensor<16x64xf32>, %v: tensor<1x64x32xf32>) -> tensor<16x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, f, j) in [16, 32, 64] reads(%x[i, j] : tensor<16x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<16x32xf32>
}

// -----

// Where one operand is not known to be 0, an infinite element of it counts.
// CHECK-LABEL: @one
// CHECK:         func.func private @pack(%v: tensor<64x32xf32>, %m: tensor<64xi1>
// CHECK-NOT:       live
// CHECK:         func.func private @product(%x: tensor<16x64xf32>, %v: tensor<1x64x32xf32>)
// CHECK-NOT:       lamina.cut
func.func @one(%x: tensor<16x64xf32>, %w: tensor<64x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<16x32xf32> {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %1 = func.call @pack(%w, %m) : (tensor<64x32xf32>, tensor<64xi1>) -> tensor<1x64x32xf32>
  %2 = func.call @product(%x, %1) : (tensor<16x64xf32>, tensor<1x64x32xf32>) -> tensor<16x32xf32>
  func.return %2 : tensor<16x32xf32>
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
func.func private @pack(%v: tensor<64x32xf32>, %m: tensor<64xi1>) -> tensor<1x64x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [1, 64, 32] reads(%v[d1, (d0 * 32) + d2] : tensor<64x32xf32>, %m[d1] : tensor<64xi1>) writes([d0, d1, d2] store : tensor<1x64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%x: f32, %c: i1):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %x, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<1x64x32xf32>
}
func.func private @product(%x: tensor<16x64xf32>, %v: tensor<1x64x32xf32>) -> tensor<16x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, f, j) in [16, 32, 64] reads(%x[i, j] : tensor<16x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<16x32xf32>
}

// -----

// So it is where tasks pack the panels, unless they read an argument of the program in panels.
// CHECK-LABEL: @tasks
// CHECK:         func.func private @product(%x: tensor<16x64xf32>, %v: tensor<64x32xf32>, %count: tensor<i64>)
// CHECK:           lamina.cut = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [2]>
func.func @tasks(%x: tensor<16x64xf32>, %w: tensor<64x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<16x32xf32> {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %0 = func.call @mask(%x, %m) : (tensor<16x64xf32>, tensor<64xi1>) -> tensor<16x64xf32>
  %1 = func.call @pack(%w, %m) : (tensor<64x32xf32>, tensor<64xi1>) -> tensor<64x32xf32>
  %2 = func.call @product(%0, %1) : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  func.return %2 : tensor<16x32xf32>
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
func.func private @mask(%x: tensor<16x64xf32>, %m: tensor<64xi1>) -> tensor<16x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [16, 64] reads(%x[d0, d1] : tensor<16x64xf32>, %m[d1] : tensor<64xi1>) writes([d0, d1] store : tensor<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %c: i1):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<16x64xf32>
}
func.func private @pack(%v: tensor<64x32xf32>, %m: tensor<64xi1>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 32] reads(%v[d0, d1] : tensor<64x32xf32>, %m[d0] : tensor<64xi1>) writes([d0, d1] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%x: f32, %c: i1):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %x, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<64x32xf32>
}
func.func private @product(%x: tensor<16x64xf32>, %v: tensor<64x32xf32>) -> tensor<16x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, f, j) in [16, 32, 64] reads(%x[i, j] : tensor<16x64xf32>, %v[j, f] : tensor<64x32xf32>) writes([i, f] add : tensor<16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pack_at = task>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<16x32xf32>
}

// -----

// So is that of a product that is not of panels; what is not 0 behind the number is added up to the end.
// CHECK-LABEL: @few
// CHECK-LABEL: func.func private @cut(
// CHECK-SAME:    %count: tensor<i64>
// CHECK:           lamina.cut = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [2]>
// CHECK-LABEL: func.func private @whole(
// CHECK-NOT:     lamina.cut
func.func @few(%x: tensor<2x64xf32>, %w: tensor<64x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<2x32xf32>, tensor<2x32xf32>) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %0 = func.call @left(%x, %m) : (tensor<2x64xf32>, tensor<64xi1>) -> tensor<2x64xf32>
  %1 = func.call @right(%w, %m) : (tensor<64x32xf32>, tensor<64xi1>) -> tensor<64x32xf32>
  %2 = func.call @cut(%0, %1) : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
  %3 = func.call @whole(%0, %w) : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
  func.return %2, %3 : tensor<2x32xf32>, tensor<2x32xf32>
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
func.func private @left(%x: tensor<2x64xf32>, %m: tensor<64xi1>) -> tensor<2x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [2, 64] reads(%x[d0, d1] : tensor<2x64xf32>, %m[d1] : tensor<64xi1>) writes([d0, d1] store : tensor<2x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %c: i1):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<2x64xf32>
}
func.func private @right(%w: tensor<64x32xf32>, %m: tensor<64xi1>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 32] reads(%w[d0, d1] : tensor<64x32xf32>, %m[d0] : tensor<64xi1>) writes([d0, d1] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %c: i1):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<64x32xf32>
}
func.func private @cut(%x: tensor<2x64xf32>, %v: tensor<64x32xf32>) -> tensor<2x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, f, j) in [2, 32, 64] reads(%x[i, j] : tensor<2x64xf32>, %v[j, f] : tensor<64x32xf32>) writes([i, f] add : tensor<2x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<2x32xf32>
}
func.func private @whole(%x: tensor<2x64xf32>, %v: tensor<64x32xf32>) -> tensor<2x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, f, j) in [2, 32, 64] reads(%x[i, j] : tensor<2x64xf32>, %v[j, f] : tensor<64x32xf32>) writes([i, f] add : tensor<2x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<2x32xf32>
}
