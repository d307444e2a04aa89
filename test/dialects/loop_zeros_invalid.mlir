// RUN: %invalid

// CHECK: loop.generic: lamina.zeros: argument 2 has no dimension 3
func.func private @attend(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %m: tensor<64xi1>, %count: tensor<i64>) -> tensor<64x32xf32> attributes {lamina.kernel, lamina.masks = array<i64: 3, 4>, lamina.zeros = array<i64: 2, 3, 4>} {
  %s = loop.generic (d0, d1, d2) in [64, 64, 16] reads(%q[d0, d2] : tensor<64x16xf32>, %k[d1 floordiv 32, d2, d1 mod 32] : tensor<2x16x32xf32>) writes([d0, d1] add : tensor<64x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %l = loop.generic (d0, d1) in [64, 64] reads(%m[d1] : tensor<64xi1>, %s[d0, d1] : tensor<64x64xf32>) writes([d0] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%c: i1, %x: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  %e = loop.generic (d0, d1) in [64, 64] reads(%m[d1] : tensor<64xi1>, %s[d0, d1] : tensor<64x64xf32>, %l[d0] : tensor<64xf32>) writes([d0, d1] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%c: i1, %x: f32, %t: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    %z = arith.subf %y, %t : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %r = loop.generic (d0, d1, d2) in [64, 32, 64] reads(%e[d0, d2] : tensor<64x64xf32>, %v[d1 floordiv 32, d2, d1 mod 32] : tensor<1x64x32xf32>) writes([d0, d1] add : tensor<64x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<64x32xf32>
}


// -----

// CHECK: loop.generic: lamina.zeros: argument 3 is to have i64 of 0 dimensions
func.func private @attend(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %m: tensor<64xi1>, %count: tensor<i64>) -> tensor<64x32xf32> attributes {lamina.kernel, lamina.masks = array<i64: 3, 4>, lamina.zeros = array<i64: 2, 1, 3>} {
  %s = loop.generic (d0, d1, d2) in [64, 64, 16] reads(%q[d0, d2] : tensor<64x16xf32>, %k[d1 floordiv 32, d2, d1 mod 32] : tensor<2x16x32xf32>) writes([d0, d1] add : tensor<64x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %l = loop.generic (d0, d1) in [64, 64] reads(%m[d1] : tensor<64xi1>, %s[d0, d1] : tensor<64x64xf32>) writes([d0] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%c: i1, %x: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  %e = loop.generic (d0, d1) in [64, 64] reads(%m[d1] : tensor<64xi1>, %s[d0, d1] : tensor<64x64xf32>, %l[d0] : tensor<64xf32>) writes([d0, d1] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%c: i1, %x: f32, %t: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    %z = arith.subf %y, %t : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %r = loop.generic (d0, d1, d2) in [64, 32, 64] reads(%e[d0, d2] : tensor<64x64xf32>, %v[d1 floordiv 32, d2, d1 mod 32] : tensor<1x64x32xf32>) writes([d0, d1] add : tensor<64x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<64x32xf32>
}


// -----

// CHECK: loop.generic: lamina.zeros is an array<i64> of triples, not array<i64: 2, 1>
func.func private @attend(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %m: tensor<64xi1>, %count: tensor<i64>) -> tensor<64x32xf32> attributes {lamina.kernel, lamina.masks = array<i64: 3, 4>, lamina.zeros = array<i64: 2, 1>} {
  %s = loop.generic (d0, d1, d2) in [64, 64, 16] reads(%q[d0, d2] : tensor<64x16xf32>, %k[d1 floordiv 32, d2, d1 mod 32] : tensor<2x16x32xf32>) writes([d0, d1] add : tensor<64x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %l = loop.generic (d0, d1) in [64, 64] reads(%m[d1] : tensor<64xi1>, %s[d0, d1] : tensor<64x64xf32>) writes([d0] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%c: i1, %x: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  %e = loop.generic (d0, d1) in [64, 64] reads(%m[d1] : tensor<64xi1>, %s[d0, d1] : tensor<64x64xf32>, %l[d0] : tensor<64xf32>) writes([d0, d1] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%c: i1, %x: f32, %t: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    %z = arith.subf %y, %t : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %r = loop.generic (d0, d1, d2) in [64, 32, 64] reads(%e[d0, d2] : tensor<64x64xf32>, %v[d1 floordiv 32, d2, d1 mod 32] : tensor<1x64x32xf32>) writes([d0, d1] add : tensor<64x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 64]>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<64x32xf32>
}

