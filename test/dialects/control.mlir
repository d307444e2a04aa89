// RUN: lamina-opt %s | lamina-opt | filecheck %s
// RUN: lamina-opt %s --print-op-generic | lamina-opt | filecheck %s

func.func @main(%x: tensor<4xf32>, %i: tensor<i64>, %xs: tensor<5x4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<i64>, tensor<4xf32>, tensor<5x4xf32>, tensor<5x4xf32>) {
  %c = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %s = aten.sin.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  } else {
  ^bb0(%b: tensor<4xf32>):
    control.yield %b : tensor<4xf32>
  }
  %n, %y = control.while from(%i, %x) with(%c) : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) attributes {lamina.note = "two"} test {
  ^bb0(%k: tensor<i64>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %q = aten.lt.Scalar(%k, other = 5) : (tensor<i64>) -> tensor<i1>
    control.yield %q : tensor<i1>
  } do {
  ^bb0(%k: tensor<i64>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %m = aten.add.Scalar(%k, other = 1) : (tensor<i64>) -> tensor<i64>
    %s = aten.mul.Tensor(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %m, %s : tensor<i64>, tensor<4xf32>
  }
  %h, %ys = control.scan from(%x) over(%xs) : (tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) do {
  ^bb0(%sum: tensor<4xf32>, %a: tensor<4xf32>):
    %s = aten.add.Tensor(%sum, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s, %s : tensor<4xf32>, tensor<4xf32>
  }
  %zs = control.scan over(%xs) with(%x) : (tensor<5x4xf32>, tensor<4xf32>) -> tensor<5x4xf32> do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = aten.mul.Tensor(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  }
  return %y, %n, %h, %ys, %zs : tensor<4xf32>, tensor<i64>, tensor<4xf32>, tensor<5x4xf32>, tensor<5x4xf32>
}
// CHECK:       %c = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
// CHECK-NEXT:  ^bb0(%a: tensor<4xf32>):
// CHECK-NEXT:    %s = aten.sin.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    control.yield %s : tensor<4xf32>
// CHECK-NEXT:  } else {
// CHECK-NEXT:  ^bb0(%b: tensor<4xf32>):
// CHECK-NEXT:    control.yield %b : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  %n, %y = control.while from(%i, %x) with(%c) : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) attributes {lamina.note = "two"} test {
// CHECK:       } do {
// CHECK:       %h, %ys = control.scan from(%x) over(%xs) : (tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) do {
// CHECK-NEXT:  ^bb0(%sum: tensor<4xf32>, {{.*}}: tensor<4xf32>):
// CHECK:       %zs = control.scan over(%xs) with(%x) : (tensor<5x4xf32>, tensor<4xf32>) -> tensor<5x4xf32> do {

// Values of sizes are operands as well.
func.func @sizes(%p: tensor<i1>, %x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %r = control.cond if(%p) with(%x, %n) : (tensor<i1>, tensor<?xf32>, index) -> tensor<?xf32> then {
  ^bb0(%a: tensor<?xf32>, %m: index):
    %s = loop.generic (d0)[s0 = %m] in [s0] reads(%a[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    control.yield %s : tensor<?xf32>
  } else {
  ^bb0(%b: tensor<?xf32>, %m: index):
    control.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
// CHECK-LABEL: @sizes
// CHECK:       control.cond if(%p) with(%x, %n) : (tensor<i1>, tensor<?xf32>, index) -> tensor<?xf32> then {
// CHECK-NEXT:  ^bb0(%a: tensor<?xf32>, %m: index):
// CHECK-NEXT:    loop.generic (d0)[s0 = %m] in [s0]

// Each step has a row of its own, the same %b, and gives one result beside what is carried.
func.func @repeat(%x: tensor<4xf32>, %w0: tensor<4xf32>, %w1: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = control.repeat from(%x) each(%w0, %w1) with(%b) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {times = 2 : i64} do {
  ^bb0(%a: tensor<4xf32>, %w: tensor<4xf32>, %c: tensor<4xf32>):
    %m = aten.mul.Tensor(%a, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %s = aten.add.Tensor(%m, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s, %m : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: @repeat
// CHECK-NEXT: control.repeat from(%x) each(%w0, %w1) with(%b) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {times = 2 : i64} do {
// CHECK-NEXT: ^bb0(%a: tensor<4xf32>, %w: tensor<4xf32>, %c: tensor<4xf32>):
