// RUN: lamina-opt %s --split-input-file -p inline-calls,outline-callees | filecheck %s

// A function that stays is a program beside its callers, behind those that it calls itself; its
// calls are calls of an extern kernel. Others are inlined, marks of single calls count as well.
// CHECK:       func.func @main
// CHECK-NEXT:    prims.extern([%x], kernel = "call.outer")
// CHECK-NEXT:    prims.extern([%x], kernel = "call.negated")
// CHECK-NEXT:    aten.neg.default(%x)
// CHECK-NOT:   func.func private
// CHECK:       builtin.module @negated {
// CHECK-NEXT:    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:      aten.neg.default(%x)
// CHECK:       builtin.module @outer {
// CHECK-NEXT:    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:      prims.extern([%x], kernel = "call.negated")
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = func.call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @negated(%x) {no_inline} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @negated(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> attributes {no_inline} {
  %0 = func.call @negated(%x) {no_inline} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.exp.default(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @negated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.neg.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// What it writes to an argument is a result, which the caller copies.
// CHECK:       func.func @main
// CHECK-NEXT:    %0, %1 = prims.extern([%x, %y], kernel = "call.bump") : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT:    aten.copy_.default(%y, %1)
// CHECK:       builtin.module @bump {
// CHECK-NEXT:    func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// CHECK-NEXT:      %[[SUM:.*]] = aten.add.Tensor(%y, %x)
// CHECK-NEXT:      %[[EXP:.*]] = aten.exp.default(%x)
// CHECK-NEXT:      func.return %[[EXP]], %[[SUM]]
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @bump(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func private @bump(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> attributes {no_inline} {
  %0 = aten.add_.Tensor(%y, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = aten.exp.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// Programs of nests call by `loop.extern`; nothing happens where nothing is called.
// CHECK:       func.func @main
// CHECK-NEXT:    loop.extern "call.flat" {}(%x : tensor<2x2xf32>) : tensor<4xf32>
// CHECK:       builtin.module @flat {
func.func @main(%x: tensor<2x2xf32>) -> tensor<4xf32> {
  %0 = func.call @flat(%x) : (tensor<2x2xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @flat(%x: tensor<2x2xf32>) -> tensor<4xf32> attributes {no_inline} {
  %0 = loop.reshape %x : tensor<2x2xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK:       func.func private @alone() attributes {no_inline}
func.func private @alone() attributes {no_inline} {
  func.return
}
