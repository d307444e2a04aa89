// RUN: lamina-opt %s --to functional | filecheck %s --check-prefix FUNCTIONAL
// RUN: lamina-opt %s --to core_aten | filecheck %s --check-prefix CORE
// RUN: lamina-opt %s --to prims | filecheck %s --check-prefix PRIMS
// RUN: lamina-opt %s --to loop | filecheck %s --check-prefix LOOP

// Attributes of somebody's own go down with the op that gives the results: to the functional form of an
// in-place op, and to the last op of a decomposition. What was there before is not about the op: a
// detached tensor is the one it was made from.

// FUNCTIONAL:      aten.relu.default(%a) {mine.tag = "x", other.flag}
// FUNCTIONAL-NEXT: aten.add.Tensor(%0, %b) {mine.tag = "y"}
// FUNCTIONAL-NEXT: aten.silu.default(%1) {mine.tag = "z"}

// CORE:      core_aten.relu.default(%a) {mine.tag = "x", other.flag}
// CORE-NEXT: core_aten.add.Tensor(%0, %b) {mine.tag = "y"}
// CORE-NEXT: core_aten.sigmoid.default(%1) :
// CORE-NEXT: core_aten.mul.Tensor({{.*}}) {mine.tag = "z"}

// PRIMS:      prims.full({{.*}}) :
// PRIMS-NEXT: prims.maximum({{.*}}) {mine.tag = "x", other.flag}
// PRIMS-NEXT: prims.add({{.*}}) {mine.tag = "y"}
// PRIMS-NEXT: prims.sigmoid({{.*}}) :
// PRIMS-NEXT: prims.mul({{.*}}) {mine.tag = "z"}

// LOOP: attributes {lamina.op = "prims.maximum", mine.tag = "x", other.flag}
// LOOP: attributes {lamina.op = "prims.add", mine.tag = "y"}
// LOOP: attributes {lamina.op = "prims.mul", mine.tag = "z"}
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "aten.relu.default"(%a) {mine.tag = "x", other.flag} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "aten.add_.Tensor"(%0, %b) {mine.tag = "y"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = "aten.silu.default"(%1) {mine.tag = "z"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = "aten.detach.default"(%2) {mine.tag = "w"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %3 : tensor<2x3xf32>
}
