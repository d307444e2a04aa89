// RUN: not lamina-ops --check %s | filecheck %s
// All that stops a program is listed at once, in its order, where it stands.

func.func @main(%x: tensor<4xf32>, %open: tensor<?xf32>, %m: tensor<4x4xui8>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<?xf32>, tensor<4x4xui8>) {
  %neg = aten.neg.default(%open) : (tensor<?xf32>) -> tensor<?xf32>

  // CHECK:      aten.nope.default: no such op
  // CHECK-NEXT:   at: {{.*}}check.mlir:[[# @LINE + 2]]:3
  // CHECK-NEXT:   nearest supported: aten.neg.default
  %n, %nn = aten.nope.default([%x, %x], "a)(", f = 1) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)

  // CHECK-NEXT: aten.nope2: no such op
  // CHECK-NEXT:   operand types: tensor<4xf32>
  // CHECK-NEXT:   at: {{.*}}check.mlir:[[# @LINE + 1]]:3
  %n2 = "aten.nope2"(%n) : (tensor<4xf32>) -> tensor<4xf32>

  // CHECK-NEXT: aten.zero_.default: writes through aten.unfold.default, whose elements share memory
  // CHECK-NEXT:   operand types: tensor<3x2xf32>
  // CHECK-NEXT:   at: {{.*}}check.mlir:[[# @LINE + 5]]:3
  // CHECK-NEXT:   nearest supported:
  %y = aten.clone.default(%n2) : (tensor<4xf32>) -> tensor<4xf32>
  %u = aten.unfold.default(%y, dimension = 0, size = 2, step = 1) : (tensor<4xf32>) -> tensor<3x2xf32>
  %z = aten.relu.default(%u) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %v = aten.zero_.default(%u) : (tensor<3x2xf32>) -> tensor<3x2xf32>

  // CHECK-NEXT: aten.zero_.default: writes through aten.expand.default, whose elements share memory
  // CHECK-NEXT:   operand types: tensor<3x4xf32>
  // CHECK-NEXT:   at: {{.*}}check.mlir:[[# @LINE + 4]]:3
  // CHECK-NEXT:   nearest supported: repeat
  %c = aten.clone.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %e = aten.expand.default(%c, size = [3, 4]) : (tensor<4xf32>) -> tensor<3x4xf32>
  %f = aten.zero_.default(%e) : (tensor<3x4xf32>) -> tensor<3x4xf32>

  // CHECK-NEXT: aten.set_.source_Tensor: makes a tensor use another's memory
  // CHECK-NEXT:   operand types: tensor<4xf32>, tensor<4xf32>
  // CHECK-NEXT:   at: {{.*}}check.mlir:[[# @LINE + 2]]:3
  // CHECK-NEXT:   nearest supported: copy_
  %s = aten.set_.source_Tensor(%y, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

  // A size without a bound stops no program: it runs in stages.
  %r = aten.repeat_interleave.Tensor(%nn) : (tensor<4xi64>) -> tensor<?xi64>
  %r2 = aten.neg.default(%r) : (tensor<?xi64>) -> tensor<?xi64>

  // CHECK-NEXT: aten.linalg_cholesky.default: the extern kernel 'linalg.cholesky' does not take ui8
  // CHECK-NEXT:   operand types: tensor<4x4xui8>
  // CHECK-NEXT:   at: {{.*}}check.mlir:[[# @LINE + 2]]:3
  // CHECK-NEXT:   nearest supported: f32, f64
  %l = aten.linalg_cholesky.default(%m) : (tensor<4x4xui8>) -> tensor<4x4xui8>

  // A branch that is refused as a whole does not hide what stands in it.
  // CHECK-NEXT: control.cond: a region writes a tensor that it takes from outside
  // CHECK-NEXT:   operand types: tensor<i1>, tensor<4xf32>
  // CHECK-NEXT:   at: {{.*}}check.mlir:[[# @LINE + 2]]:3
  // CHECK-NEXT:   nearest supported: the written value as a result, copied after the op
  %b = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %za = aten.zero_.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %za : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    // CHECK-NEXT: aten.repeat_interleave.Tensor: a size that depends on data has no upper bound
    // CHECK-NEXT:   operand types: tensor<4xi64>
    // CHECK-NEXT:   at: {{.*}}check.mlir:[[# @LINE + 3]]:5
    // CHECK-NEXT:   nearest supported:
    %i = aten._to_copy.default(%a, dtype = i64) : (tensor<4xf32>) -> tensor<4xi64>
    %ri = aten.repeat_interleave.Tensor(%i) : (tensor<4xi64>) -> tensor<?xi64>
    control.yield %a : tensor<4xf32>
  }

  // CHECK-NEXT: func.call: calls @g, which has no body
  // CHECK-NEXT:   operand types: tensor<4xf32>
  // CHECK-NEXT:   at: {{.*}}check.mlir:[[# @LINE + 2]]:3
  // CHECK-NEXT:   nearest supported:
  %g = func.call @g(%b) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %g, %neg, %l : tensor<4xf32>, tensor<?xf32>, tensor<4x4xui8>
}

// CHECK: func.func: @g is declared without a body
// CHECK-NOT: at: {{.*}}:78:
func.func private @g(%a: tensor<4xf32>) -> tensor<4xf32>
