// RUN: lamina-opt %s -p unroll-layers | filecheck %s

// Each step stands there with its own operand; also in a region of another op. What is the same in all steps stands there
// once, but for random numbers.
func.func @main(%x: tensor<4xf32>, %w0: tensor<4xf32>, %w1: tensor<4xf32>, %b: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = control.repeat from(%x) each(%w0, %w1) with(%b) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {times = 2 : i64} do {
  ^bb0(%a: tensor<4xf32>, %w: tensor<4xf32>, %c: tensor<4xf32>):
    %m = aten.mul.Tensor(%a, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %l = core_aten.neg.default(%c) : (tensor<4xf32>) -> tensor<4xf32>
    %k = core_aten.rand.default(size = [4]) : () -> tensor<4xf32>
    %j = core_aten.mul.Tensor(%l, %k) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %s = aten.add.Tensor(%m, %j) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s, %m : tensor<4xf32>, tensor<4xf32>
  }
  %q = control.cond if(%p) with(%b) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%d: tensor<4xf32>):
    %t = control.repeat from(%d) : (tensor<4xf32>) -> tensor<4xf32> attributes {times = 2 : i64} do {
    ^bb0(%e: tensor<4xf32>):
      %f = aten.exp.default(%e) : (tensor<4xf32>) -> tensor<4xf32>
      control.yield %f : tensor<4xf32>
    }
    control.yield %t : tensor<4xf32>
  } else {
  ^bb0(%d: tensor<4xf32>):
    control.yield %d : tensor<4xf32>
  }
  func.return %r#0, %r#1, %r#2, %q : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: @main
// CHECK-NEXT:    [[M:%\S+]] = aten.mul.Tensor(%x, %w0)
// CHECK-NEXT:    [[L:%\S+]] = core_aten.neg.default(%b)
// CHECK-NEXT:    [[K:%\S+]] = core_aten.rand.default(
// CHECK-NEXT:    [[J:%\S+]] = core_aten.mul.Tensor([[L]], [[K]])
// CHECK-NEXT:    [[S:%\S+]] = aten.add.Tensor([[M]], [[J]])
// CHECK-NEXT:    [[N:%\S+]] = aten.mul.Tensor([[S]], %w1)
// CHECK-NEXT:    [[K:%\S+]] = core_aten.rand.default(
// CHECK-NEXT:    [[J:%\S+]] = core_aten.mul.Tensor([[L]], [[K]])
// CHECK-NEXT:    [[T:%\S+]] = aten.add.Tensor([[N]], [[J]])
// CHECK-NEXT:    [[Q:%\S+]] = control.cond
// CHECK-NEXT:    ^bb0([[D:%\S+]]: tensor<4xf32>):
// CHECK-NEXT:      [[E:%\S+]] = aten.exp.default([[D]])
// CHECK-NEXT:      [[F:%\S+]] = aten.exp.default([[E]])
// CHECK-NEXT:      control.yield [[F]]
// CHECK:         func.return [[T]], [[M]], [[N]], [[Q]]

// A check of sizes that each step makes is one result; what is no check stays, though it is the same.
func.func @checks(%x: tensor<4xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<i1>, tensor<i1> {lamina.kind = "check", lamina.target = "first"}, tensor<i1> {lamina.kind = "check", lamina.target = "second"}, tensor<i64> {lamina.kind = "size"}) {
  %r:3 = control.repeat from(%x) with(%n) : (tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<i1>, tensor<i1>) attributes {times = 2 : i64} do {
  ^bb0(%a: tensor<4xf32>, %m: tensor<i64>):
    %c = core_aten.eq.Scalar(%m, other = 4) : (tensor<i64>) -> tensor<i1>
    %s = aten.exp.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %s, %c : tensor<4xf32>, tensor<i1>
  }
  func.return %r#0, %r#1, %r#1, %r#2, %n : tensor<4xf32>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i64>
}
// CHECK-LABEL: @checks
// CHECK-SAME:    -> (tensor<4xf32>, tensor<i1>, tensor<i1> {lamina.kind = "check", lamina.target = "first"}, tensor<i64> {lamina.kind = "size"})
// CHECK-COUNT-1: core_aten.eq.Scalar(%n
// CHECK:         func.return [[Y:%\S+]], [[C:%\S+]], [[C]], %n
