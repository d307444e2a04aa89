// RUN: lamina-opt %s --split-input-file --verify-diagnostics -p bound-dynamic-shapes | filecheck %s

// The size of an operand goes in beside it, and is that of the result.

// CHECK:      %r = control.cond if(%p) with(%x, %size) : (tensor<i1>, tensor<9xf32>, tensor<i64>) -> tensor<9xf32> then {
// CHECK-NEXT: ^{{.*}}(%a: tensor<9xf32>, %{{.*}}: tensor<i64>):
// CHECK:      func.return %{{.*}}, %size : tensor<9xf32>, tensor<i64>
func.func @main(%p: tensor<i1>, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [0, 9]>]}) -> tensor<?xf32> {
  %r = control.cond if(%p) with(%x) : (tensor<i1>, tensor<?xf32>) -> tensor<?xf32> then {
  ^bb0(%a: tensor<?xf32>):
    %s = aten.relu.default(%a) : (tensor<?xf32>) -> tensor<?xf32>
    control.yield %s : tensor<?xf32>
  } else {
  ^bb0(%b: tensor<?xf32>):
    control.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}

// -----

// Branches of sizes of their own: the larger bound, and the size as one more result.

// CHECK: control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> (tensor<4x1xi64>, tensor<i64>) then {
// CHECK: control.yield %{{.*}}, %{{.*}} : tensor<4x1xi64>, tensor<i64>
// CHECK: aten.scalar_tensor.default(s = 3, dtype = i64)
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<?x1xi64> {
  %r = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<?x1xi64> then {
  ^bb0(%a: tensor<4xf32>):
    %s = aten.nonzero.default(%a) : (tensor<4xf32>) -> tensor<?x1xi64>
    control.yield %s : tensor<?x1xi64>
  } else {
  ^bb0(%b: tensor<4xf32>):
    %o = aten.ones.default([3, 1], dtype = i64) : () -> tensor<?x1xi64>
    control.yield %o : tensor<?x1xi64>
  }
  func.return %r : tensor<?x1xi64>
}

// -----

func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [0, 9]>]}, %z: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{the number of steps is not known}}
  %r = control.scan from(%z) over(%x) : (tensor<f32>, tensor<?xf32>) -> tensor<f32> do {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = aten.add.Tensor(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    control.yield %s : tensor<f32>
  }
  func.return %r : tensor<f32>
}
