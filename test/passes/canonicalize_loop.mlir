// RUN: lamina-opt %s -p canonicalize-loop --split-input-file | filecheck %s

// A constant nest moves into the body that reads it, and a square is a product.
func.func @square(%x: tensor<8xf32>) -> tensor<8xf32> {
  %two = loop.generic (d0) in [8] writes([d0] store : tensor<8xf32>) {
    %c = arith.constant 2.0 : f32
    loop.yield %c : f32
  }
  %y = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>, %two[d0] : tensor<8xf32>)
      writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32, %e: f32):
    %v = math.powf %p, %e : f32
    loop.yield %v : f32
  }
  func.return %y : tensor<8xf32>
}
// CHECK-LABEL: func.func @square
// CHECK-NEXT: %y = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes
// CHECK-NEXT: ^bb0(%p: f32):
// CHECK-NEXT: %[[V:.*]] = arith.mulf %p, %p : f32
// CHECK-NEXT: loop.yield %[[V]] : f32

// -----

// Any other exponent stays a power: no product of it is exact.
func.func @power(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = loop.generic (d0) in [8] writes([d0] store : tensor<8xf32>) {
    %c = arith.constant 2.5 : f32
    loop.yield %c : f32
  }
  %y = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>, %e[d0] : tensor<8xf32>)
      writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = math.powf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %y : tensor<8xf32>
}
// CHECK-LABEL: func.func @power
// CHECK: math.powf

// -----

// A padded read of a constant keeps its edges: the constant is not folded.
func.func @padded() -> tensor<10xf32> {
  %one = loop.generic (d0) in [8] writes([d0] store : tensor<8xf32>) {
    %c = arith.constant 1.0 : f32
    loop.yield %c : f32
  }
  %y = loop.generic (d0) in [10] reads(%one[d0 - 1] pad 0.0 : f32 : tensor<8xf32>)
      writes([d0] store : tensor<10xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %y : tensor<10xf32>
}
// CHECK-LABEL: func.func @padded
// CHECK: loop.generic (d0) in [8]
// CHECK: loop.generic (d0) in [10] reads(%{{.*}}[d0 + -1] pad 0.000000e+00

// -----

// What nobody reads goes, with what only it reads; an identity reshape goes too.
func.func @dead(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %b = loop.reshape %a : tensor<8xf32> -> tensor<2x4xf32>
  %c = loop.reshape %x : tensor<8xf32> -> tensor<8xf32>
  func.return %c : tensor<8xf32>
}
// CHECK-LABEL: func.func @dead
// CHECK-NEXT: func.return %x : tensor<8xf32>
