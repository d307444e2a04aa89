// RUN: lamina-opt %s --split-input-file -p inline-calls | filecheck %s

// What a function calls stands in its place, through several functions and in regions; private
// functions are gone then, and public ones are entries still.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    aten.neg.default(%x)
// CHECK-NEXT:    aten.exp.default
// CHECK-NEXT:    aten.neg.default(%x)
// CHECK-NEXT:    control.cond
// CHECK:           aten.neg.default(%a)
// CHECK-NOT:   @negated
// CHECK:       func.func @entry
// CHECK-NEXT:    aten.neg.default
// CHECK-NEXT:    aten.exp.default
// CHECK-NOT:   func.call
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = func.call @entry(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @negated(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %n = func.call @negated(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %n : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @negated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.neg.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @entry(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @negated(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.exp.default(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// A function that nobody calls, and the bodies of regions, are left alone.
// CHECK-LABEL: func.func private @alone
// CHECK:       func.call @cond0_then
// CHECK:       func.func private @cond0_then
func.func private @alone() {
  func.return
}
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %n = func.call @cond0_then(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %n : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
func.func private @cond0_then(%x: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.region} {
  %0 = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xf32>) writes([d0] store : tensor<4xf32>) {
  ^bb0(%a: f32):
    %1 = arith.negf %a : f32
    loop.yield %1 : f32
  }
  func.return %0 : tensor<4xf32>
}
