// RUN: lamina-opt %s -p inline-regions | filecheck %s
// RUN: lamina-opt %s -p inline-regions,outline-regions,inline-regions | filecheck %s

// Calls of regions become their bodies, also within one another; calls of kernels stay.
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = control.cond if(%p) with(%p, %x) : (tensor<i1>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%q: tensor<i1>, %a: tensor<4xf32>):
    %s = func.call @outer(%q, %a) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  } else {
  ^bb0(%q: tensor<i1>, %a: tensor<4xf32>):
    %s = func.call @same(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}
func.func private @outer(%q: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.region} {
  %k = func.call @kernel_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %c = control.cond if(%q) with(%k) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %s = func.call @kernel_0(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    %s = func.call @same(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}
func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.region} {
  func.return %x : tensor<4xf32>
}
func.func private @kernel_0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel} {
  %r = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK:         func.func @main
// CHECK:         ^bb0(%q: tensor<i1>, %a: tensor<4xf32>):
// CHECK-NEXT:      [[K:%\S+]] = func.call @kernel_0(%a)
// CHECK-NEXT:      [[C:%\S+]] = control.cond if(%q) with([[K]])
// CHECK-NEXT:      ^bb0([[B:%\S+]]: tensor<4xf32>):
// CHECK-NEXT:        [[S:%\S+]] = func.call @kernel_0([[B]])
// CHECK-NEXT:        control.yield [[S]] : tensor<4xf32>
// CHECK-NEXT:      } else {
// CHECK-NEXT:      ^bb0([[D:%\S+]]: tensor<4xf32>):
// CHECK-NEXT:        control.yield [[D]] : tensor<4xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      control.yield [[C]] : tensor<4xf32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:    ^bb0({{%\S+}}: tensor<i1>, [[E:%\S+]]: tensor<4xf32>):
// CHECK-NEXT:      control.yield [[E]] : tensor<4xf32>
// CHECK-NOT:     lamina.region
// CHECK:         func.func private @kernel_0
// CHECK-NOT:     lamina.region
