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

// -----

// In regions that are no functions as well, and where sizes are open.
// CHECK-LABEL: @open_regions
// CHECK:         %[[S:.*]] = loop.generic (d0)[s0 = %m] in [s0] reads(%a[d0] : tensor<?xf32>)
// CHECK:         loop.generic (d0)[s0 = %m] in [s0] reads(%[[S]][d0] : tensor<?xf32>, %[[S]][d0] : tensor<?xf32>)
func.func @open_regions(%p: tensor<i1>, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = control.cond if(%p) with(%x, %n) : (tensor<i1>, tensor<?xf32>, index) -> tensor<?xf32> then {
  ^bb0(%a: tensor<?xf32>, %m: index):
    %s = loop.generic (d0)[s0 = %m] in [s0] reads(%a[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
    ^bb0(%v: f32):
      %0 = arith.constant 2.0 : f32
      %1 = arith.addf %0, %0 : f32
      %2 = arith.mulf %v, %1 : f32
      loop.yield %2 : f32
    }
    %t = loop.generic (d0)[s0 = %m] in [s0] reads(%a[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
    ^bb0(%v: f32):
      %0 = arith.constant 2.0 : f32
      %1 = arith.addf %0, %0 : f32
      %2 = arith.mulf %v, %1 : f32
      loop.yield %2 : f32
    }
    %u = loop.generic (d0)[s0 = %m] in [s0] reads(%s[d0] : tensor<?xf32>, %t[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
    ^bb0(%v: f32, %w: f32):
      %2 = arith.mulf %v, %w : f32
      loop.yield %2 : f32
    }
    control.yield %u : tensor<?xf32>
  } else {
  ^bb0(%b: tensor<?xf32>, %m: index):
    control.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
