// RUN: lamina-opt %s -p 'roll-layers{least_elements=0}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p roll-layers --split-input-file | filecheck %s --check-prefix=SMALL
// RUN: not lamina-opt %s -p 'roll-layers{least_layers=1}' 2>&1 | filecheck %s --check-prefix=LEAST

// LEAST: roll-layers: least_layers = 1: 2 or more

// Layers of few elements fuse with one another.
// SMALL-NOT: control.repeat

// A layer begins at its product. The norm of what stands in front belongs to the layer before, the last one to the last layer.
func.func @layers(%x: tensor<2x4xf32>, %w0: tensor<4x4xf32>, %w1: tensor<4x4xf32>, %w2: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %n0 = aten.layer_norm.default(%x, normalized_shape = [4]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p0 = aten.linear.default(%n0, %w0, %b) : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %d0 = aten.dropout.default(%p0, p = 0.5, train = false) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %x1 = aten.add.Tensor(%x, %d0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %n1 = aten.layer_norm.default(%x1, normalized_shape = [4]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p1 = aten.linear.default(%n1, %w1, %b) : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %d1 = aten.dropout.default(%p1, p = 0.5, train = false) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %x2 = aten.add.Tensor(%x1, %d1) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %n2 = aten.layer_norm.default(%x2, normalized_shape = [4]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p2 = aten.linear.default(%n2, %w2, %b) : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %d2 = aten.dropout.default(%p2, p = 0.5, train = false) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %x3 = aten.add.Tensor(%x2, %d2) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %n3 = aten.layer_norm.default(%x3, normalized_shape = [4]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %n3 : tensor<2x4xf32>
}
// CHECK-LABEL: @layers
// CHECK-NEXT:    %n0 = aten.layer_norm.default(%x
// CHECK-NEXT:    %n3, %x3 = control.repeat from(%n0, %x) each(%w0, %w1, %w2) with(%b) {{.*}} attributes {times = 3 : i64} do {
// CHECK-NEXT:    ^bb0([[N:%\S+]]: tensor<2x4xf32>, [[X:%\S+]]: tensor<2x4xf32>, [[W:%\S+]]: tensor<4x4xf32>, [[B:%\S+]]: tensor<4xf32>):
// CHECK-NEXT:      [[P:%\S+]] = aten.linear.default([[N]], [[W]], [[B]])
// CHECK-NEXT:      [[D:%\S+]] = aten.dropout.default([[P]]
// CHECK-NEXT:      [[S:%\S+]] = aten.add.Tensor([[X]], [[D]])
// CHECK-NEXT:      [[M:%\S+]] = aten.layer_norm.default([[S]]
// CHECK-NEXT:      control.yield [[M]], [[S]]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %n3

// -----

// What ops behind read of single layers is a result of each. A function of the same tensor is computed once, in front; a mask
// that is larger than what it is made of is made in each layer; what constants tell alone stays in front, layer by layer.
func.func @outside(%x: tensor<4x4xf32>, %k: tensor<4xf32>, %w0: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "w0"}, %w1: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "w1"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %m = aten.expand.default(%k, size = [4, 4]) : (tensor<4xf32>) -> tensor<4x4xf32>
  %p0 = aten.mm.default(%x, %w0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e0 = aten.exp.default(%k) : (tensor<4xf32>) -> tensor<4xf32>
  %v0 = aten.cumsum.default(%w0, dim = 0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b0 = aten.add.Tensor(%v0, %e0) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %a0 = aten.add.Tensor(%p0, %b0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %x1 = aten.mul.Tensor(%a0, %m) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p1 = aten.mm.default(%x1, %w1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e1 = aten.exp.default(%k) : (tensor<4xf32>) -> tensor<4xf32>
  %v1 = aten.cumsum.default(%w1, dim = 0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b1 = aten.add.Tensor(%v1, %e1) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %a1 = aten.add.Tensor(%p1, %b1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %x2 = aten.mul.Tensor(%a1, %m) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = aten.sub.Tensor(%a0, %a1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %x2, %s : tensor<4x4xf32>, tensor<4x4xf32>
}
// CHECK-LABEL: @outside
// CHECK:         %e0 = aten.exp.default(%k)
// CHECK-NEXT:    %v0 = aten.cumsum.default(%w0
// CHECK-NEXT:    %v1 = aten.cumsum.default(%w1
// CHECK-NEXT:    %x2, %a0, %a1 = control.repeat from(%x) each(%w0, %v0, %w1, %v1) with(%e0, %k)
// CHECK-NEXT:    ^bb0([[X:%\S+]]: {{.*}}, [[W:%\S+]]: {{.*}}, [[V:%\S+]]: {{.*}}, [[E:%\S+]]: {{.*}}, [[K:%\S+]]: tensor<4xf32>):
// CHECK-NEXT:      [[M:%\S+]] = aten.expand.default([[K]]
// CHECK-NEXT:      [[P:%\S+]] = aten.mm.default([[X]], [[W]])
// CHECK-NEXT:      [[B:%\S+]] = aten.add.Tensor([[V]], [[E]])
// CHECK-NEXT:      [[A:%\S+]] = aten.add.Tensor([[P]], [[B]])
// CHECK-NEXT:      [[R:%\S+]] = aten.mul.Tensor([[A]], [[M]])
// CHECK-NEXT:      control.yield [[R]], [[A]]
// CHECK:         aten.sub.Tensor(%a0, %a1)

// -----

// What reads two layers back, draws numbers, or differs in a number is no repetition.
func.func @others(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %a0 = aten.mm.default(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a1 = aten.add.Tensor(%a0, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a2 = aten.mm.default(%a1, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a3 = aten.add.Tensor(%a2, %a0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a4 = aten.mm.default(%a3, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a5 = aten.add.Tensor(%a4, %a0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b0 = aten.mm.default(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b1 = aten.dropout.default(%b0, p = 0.5, train = true) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b2 = aten.mm.default(%b1, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b3 = aten.dropout.default(%b2, p = 0.5, train = true) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c0 = aten.mm.default(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c1 = aten.leaky_relu.default(%c0, negative_slope = 0.5) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c2 = aten.mm.default(%c1, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c3 = aten.leaky_relu.default(%c2, negative_slope = 0.25) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %a5, %b3, %c3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
// CHECK-LABEL: @others
// CHECK-NOT:     control.repeat

// -----

// What a layer makes for the next one of a weight is that one's own, and stays outside.
func.func @transposed(%x: tensor<4x4xf32>, %w0: tensor<4x4xf32>, %w1: tensor<4x4xf32>, %w2: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %t0 = aten.t.default(%w0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p0 = aten.mm.default(%x, %t0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r0 = aten.relu.default(%p0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t1 = aten.t.default(%w1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p1 = aten.mm.default(%r0, %t1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r1 = aten.relu.default(%p1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t2 = aten.t.default(%w2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p2 = aten.mm.default(%r1, %t2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r2 = aten.relu.default(%p2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %r2 : tensor<4x4xf32>
}
// CHECK-LABEL: @transposed
// CHECK:         %t0 = aten.t.default(%w0)
// CHECK-NEXT:    %t1 = aten.t.default(%w1)
// CHECK-NEXT:    %t2 = aten.t.default(%w2)
// CHECK-NEXT:    %r1 = control.repeat from(%x) each(%t0, %t1) {{.*}} attributes {times = 2 : i64} do {
// CHECK-NEXT:    ^bb0([[X:%\S+]]: tensor<4x4xf32>, [[T:%\S+]]: tensor<4x4xf32>):
// CHECK-NEXT:      [[P:%\S+]] = aten.mm.default([[X]], [[T]])
// CHECK-NEXT:      [[R:%\S+]] = aten.relu.default([[P]])
// CHECK-NEXT:      control.yield [[R]]
// CHECK:         aten.mm.default(%r1, %t2)

// -----

// Nothing is handed on: each product waits only for views that stand in front of the one before.
func.func @siblings(%x: tensor<2x2x4xf32>, %w0: tensor<4x4xf32>, %w1: tensor<4x4xf32>, %w2: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %v0 = aten.view.default(%x, size = [4, 4]) : (tensor<2x2x4xf32>) -> tensor<4x4xf32>
  %t0 = aten.t.default(%w0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p0 = aten.mm.default(%v0, %t0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %v1 = aten.view.default(%x, size = [4, 4]) : (tensor<2x2x4xf32>) -> tensor<4x4xf32>
  %t1 = aten.t.default(%w1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p1 = aten.mm.default(%v1, %t1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %v2 = aten.view.default(%x, size = [4, 4]) : (tensor<2x2x4xf32>) -> tensor<4x4xf32>
  %t2 = aten.t.default(%w2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p2 = aten.mm.default(%v2, %t2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %p0, %p1, %p2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
// CHECK-LABEL: @siblings
// CHECK-NOT:     control.repeat
