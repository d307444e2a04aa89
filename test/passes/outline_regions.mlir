// RUN: lamina-opt %s -p outline-regions --split-input-file | filecheck %s
// RUN: lamina-opt %s -p outline-regions,outline-regions --split-input-file | filecheck %s

// Each region becomes a function of the region's arguments, inner regions too.
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = control.cond if(%p) with(%x, %p) : (tensor<i1>, tensor<4xf32>, tensor<i1>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>, %b: tensor<i1>):
    %s = aten.sin.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %b: tensor<i1>):
    %w = control.while from(%a) : (tensor<4xf32>) -> tensor<4xf32> test {
    ^bb0(%d: tensor<4xf32>):
      %t = aten.any.default(%d) : (tensor<4xf32>) -> tensor<i1>
      control.yield %t : tensor<i1>
    } do {
    ^bb0(%d: tensor<4xf32>):
      %u = aten.trunc.default(%d) : (tensor<4xf32>) -> tensor<4xf32>
      control.yield %u : tensor<4xf32>
    }
    control.yield %w : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}
// CHECK:         func.func @main
// CHECK-NEXT:    %c = control.cond if(%p) with(%x, %p)
// CHECK-NEXT:    ^bb0(%a: tensor<4xf32>, %b: tensor<i1>):
// CHECK-NEXT:      [[T:%\S+]] = func.call @cond1_then(%a, %b) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32>
// CHECK-NEXT:      control.yield [[T]] : tensor<4xf32>
// CHECK-NEXT:    } else {
// CHECK:           func.call @cond1_else
// CHECK:         func.func private @while0_test(%d: tensor<4xf32>) -> tensor<i1> attributes {lamina.region} {
// CHECK-NEXT:      aten.any.default
// CHECK:         func.func private @while0_do(%d: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.region} {
// CHECK-NEXT:      aten.trunc.default
// CHECK:         func.func private @cond1_then(%a: tensor<4xf32>, %b: tensor<i1>) -> tensor<4xf32> attributes {lamina.region} {
// CHECK-NEXT:      %s = aten.sin.default
// CHECK-NEXT:      func.return %s : tensor<4xf32>
// CHECK:         func.func private @cond1_else
// CHECK-NEXT:      control.while
// CHECK:             func.call @while0_test
// CHECK:             func.call @while0_do

// -----

// Nothing happens without control ops.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// CHECK:         func.func @main
// CHECK-NOT:     private

// -----

// Where sizes are open regions stay, as what is known of their sizes is known of operands.
// CHECK-LABEL: @open
// CHECK:         control.cond if(%p) with(%x)
// CHECK:           aten.sin.default(%a) : (tensor<?xf32>) -> tensor<?xf32>
// CHECK:         func.return %c
// CHECK-NEXT:    }
// CHECK-NEXT:  }
func.func @open(%p: tensor<i1>, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %c = control.cond if(%p) with(%x) : (tensor<i1>, tensor<?xf32>) -> tensor<?xf32> then {
  ^bb0(%a: tensor<?xf32>):
    %s = aten.sin.default(%a) : (tensor<?xf32>) -> tensor<?xf32>
    control.yield %s : tensor<?xf32>
  } else {
  ^bb0(%a: tensor<?xf32>):
    control.yield %a : tensor<?xf32>
  }
  func.return %c : tensor<?xf32>
}

// -----

// A function that is there already keeps its name.
// CHECK-LABEL: @taken
// CHECK:         func.call @cond1_then
// CHECK:         func.call @cond1_else
// CHECK:       func.func private @cond0_then(%x: tensor<4xf32>)
func.func @taken(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %s = aten.sin.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}
func.func private @cond0_then(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
