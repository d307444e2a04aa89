// RUN: lamina-opt %s -p align-dims --split-input-file | filecheck %s

// What pads the image of groups and what adds a bias walk the channels as the convolution does.
func.func @groups(%x: tensor<1x8x6x6xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<8xf32>) -> tensor<1x8x6x6xf32> {
  %p = loop.generic (d0, d1, d2) in [8, 8, 8] reads(%x[0, d0, d1 - 1, d2 - 1] pad 0.0 : f32 : tensor<1x8x6x6xf32>)
      writes([0, d0, d1, d2] store : tensor<1x8x8x8xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %c = loop.generic (d0, d1, d2, d3, d4, d5, d6) in [2, 4, 6, 6, 4, 3, 3]
      reads(%p[0, d0 * 4 + d4, d2 + d5, d3 + d6] : tensor<1x8x8x8xf32>, %w[d0 * 4 + d1, d4, d5, d6] : tensor<8x4x3x3xf32>)
      writes([0, d0 * 4 + d1, d2, d3] add : tensor<1x8x6x6xf32>) {
  ^bb0(%a: f32, %k: f32):
    %m = arith.mulf %a, %k : f32
    loop.yield %m : f32
  }
  %r = loop.generic (d0, d1, d2) in [8, 6, 6] reads(%c[0, d0, d1, d2] : tensor<1x8x6x6xf32>, %b[d0] : tensor<8xf32>)
      writes([0, d0, d1, d2] store : tensor<1x8x6x6xf32>) {
  ^bb0(%a: f32, %k: f32):
    %m = arith.addf %a, %k : f32
    loop.yield %m : f32
  }
  func.return %r : tensor<1x8x6x6xf32>
}
// CHECK-LABEL: func.func @groups
// CHECK: %[[P:[^ ]*]] = loop.generic (d0, d1, d2, d3) in [2, 4, 8, 8] reads(%x[0, (d0 * 4) + d1, d2 + -1, d3 + -1] pad
// CHECK-SAME: writes([0, d0, d1, d2, d3] store : tensor<1x2x4x8x8xf32>)
// CHECK: %[[C:[^ ]*]] = loop.generic (d0, d1, d2, d3, d4, d5, d6) in [2, 4, 6, 6, 4, 3, 3]
// CHECK-SAME: reads(%[[P]][0, d0, d4, d2 + d5, d3 + d6] : tensor<1x2x4x8x8xf32>, %w[(d0 * 4) + d1, d4, d5, d6]
// CHECK-SAME: writes([0, d0, d1, d2, d3] add : tensor<1x2x4x6x6xf32>)
// CHECK: %[[R:[^ ]*]] = loop.generic (d0, d1, d2, d3) in [2, 4, 6, 6]
// CHECK-SAME: reads(%[[C]][0, d0, d1, d2, d3] : tensor<1x2x4x6x6xf32>, %b[(d0 * 4) + d1] : tensor<8xf32>)
// CHECK-SAME: writes([0, (d0 * 4) + d1, d2, d3] store : tensor<1x8x6x6xf32>)
// CHECK: func.return %[[R]]

// -----

// What is split asks the next reader; who reads otherwise gets a free reshape.
func.func @chain(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<8xf32>, tensor<8x6xf32>) {
  %c = loop.generic (d0, d1, d2, d3) in [2, 4, 6, 4]
      reads(%x[d0 * 4 + d3, d2] : tensor<8x6xf32>, %y[d0 * 4 + d1, d2] : tensor<8x6xf32>)
      writes([d0 * 4 + d1, d2] max : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    loop.yield %m : f32
  }
  %r = loop.generic (d0, d1) in [8, 6] reads(%c[d0, d1] : tensor<8x6xf32>) writes([d0, d1] store : tensor<8x6xf32>) {
  ^bb0(%a: f32):
    %m = arith.negf %a : f32
    loop.yield %m : f32
  }
  %s = loop.generic (d0, d1) in [8, 6] reads(%r[d0, d1] : tensor<8x6xf32>) writes([d0] add : tensor<8xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %c, %s, %r : tensor<8x6xf32>, tensor<8xf32>, tensor<8x6xf32>
}
// CHECK-LABEL: func.func @chain
// CHECK: %[[C:[^ ]*]] = loop.generic {{.*}} writes([d0, d1, d2] max : tensor<2x4x6xf32>)
// CHECK: %[[VC:[^ ]*]] = loop.reshape %[[C]] : tensor<2x4x6xf32> -> tensor<8x6xf32>
// CHECK: %[[R:[^ ]*]] = loop.generic (d0, d1, d2) in [2, 4, 6] reads(%[[C]][d0, d1, d2]
// CHECK-SAME: writes([d0, d1, d2] store : tensor<2x4x6xf32>)
// CHECK: %[[VR:[^ ]*]] = loop.reshape %[[R]] : tensor<2x4x6xf32> -> tensor<8x6xf32>
// CHECK: %[[S:[^ ]*]] = loop.generic (d0, d1, d2) in [2, 4, 6] reads(%[[R]][d0, d1, d2]
// CHECK-SAME: writes([(d0 * 4) + d1] add : tensor<8xf32>)
// CHECK: func.return %[[VC]], %[[S]], %[[VR]]

// -----

// A product whose lines lie between those of another shares its operand with them: no groups.
func.func @shared(%x: tensor<6x4xf32>, %y: tensor<6x2x4xf32>, %b: tensor<8xf32>) -> tensor<8x4xf32> {
  %c = loop.generic (d0, d1, d2, d3) in [4, 2, 4, 6]
      reads(%x[d3, d0] : tensor<6x4xf32>, %y[d3, d1, d2] : tensor<6x2x4xf32>)
      writes([d0 * 2 + d1, d2] add : tensor<8x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    loop.yield %m : f32
  }
  %r = loop.generic (d0, d1) in [8, 4] reads(%c[d0, d1] : tensor<8x4xf32>, %b[d0] : tensor<8xf32>)
      writes([d0, d1] store : tensor<8x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %m = arith.addf %p, %q : f32
    loop.yield %m : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK-LABEL: func.func @shared
// CHECK: writes([(d0 * 2) + d1, d2] add : tensor<8x4xf32>)
// CHECK: loop.generic (d0, d1) in [8, 4]

// -----

// A reader of some of the channels keeps all as it is.
func.func @parts(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>) -> (tensor<7x6xf32>, tensor<8x6xf32>) {
  %c = loop.generic (d0, d1, d2, d3) in [2, 4, 6, 4]
      reads(%x[d0 * 4 + d3, d2] : tensor<8x6xf32>, %y[d0 * 4 + d1, d2] : tensor<8x6xf32>)
      writes([d0 * 4 + d1, d2] max : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    loop.yield %m : f32
  }
  %r = loop.generic (d0, d1) in [7, 6] reads(%c[d0 + 1, d1] : tensor<8x6xf32>) writes([d0, d1] store : tensor<7x6xf32>) {
  ^bb0(%a: f32):
    %m = arith.negf %a : f32
    loop.yield %m : f32
  }
  %s = loop.generic (d0, d1) in [8, 6] reads(%c[d0, d1] : tensor<8x6xf32>) writes([d0, d1] store : tensor<8x6xf32>) {
  ^bb0(%a: f32):
    %m = math.absf %a : f32
    loop.yield %m : f32
  }
  func.return %r, %s : tensor<7x6xf32>, tensor<8x6xf32>
}
// CHECK-LABEL: func.func @parts
// CHECK: writes([(d0 * 4) + d1, d2] max : tensor<8x6xf32>)
// CHECK: loop.generic (d0, d1) in [7, 6]
// CHECK: loop.generic (d0, d1) in [8, 6]
