// RUN: lamina-opt %s -p loop-cse --split-input-file | filecheck %s

// Equal nests on equal operands are computed once, whatever their values are called.
func.func @merged(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %b = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%other: f32):
    %w = math.exp %other : f32
    loop.yield %w : f32
  }
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @merged
// CHECK: %a = loop.generic
// CHECK-NOT: loop.generic
// CHECK: func.return %a, %a

// -----

// Another operand, map, pad or body is another value.
func.func @different(%x: tensor<8xf32>, %z: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %b = loop.generic (d0) in [8] reads(%z[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %c = loop.generic (d0) in [8] reads(%x[-d0 + 7] : tensor<8xf32>)
      writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @different
// CHECK-COUNT-3: loop.generic
// CHECK: func.return %a, %b, %c
