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
