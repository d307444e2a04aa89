// RUN: lamina-opt %s -p 'roll-loops{least_steps=3}' --split-input-file | filecheck %s
// RUN: not lamina-opt %s -p 'roll-loops{least_steps=1}' 2>&1 | filecheck %s --check-prefix=LEAST
// RUN: lamina-opt %s -p 'roll-loops{many_ops=8}' --split-input-file | filecheck %s --check-prefix=MANY
// RUN: lamina-opt %s -p 'roll-loops{many_ops=9}' --split-input-file | filecheck %s --check-prefix=FEW

// LEAST: roll-loops: least_steps = 1: 2 or more

// A step reads the next row of %x, what the step in front has made, and the same weights.
func.func @recurrence(%x: tensor<3x2x4xf32>, %h: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>) {
  %x0 = aten.select.int(%x, dim = 0, index = 0) : (tensor<3x2x4xf32>) -> tensor<2x4xf32>
  %m0 = aten.addmm.default(%x0, %h, %w) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h0 = aten.tanh.default(%m0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %x1 = aten.select.int(%x, dim = 0, index = 1) : (tensor<3x2x4xf32>) -> tensor<2x4xf32>
  %m1 = aten.addmm.default(%x1, %h0, %w) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h1 = aten.tanh.default(%m1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %x2 = aten.select.int(%x, dim = 0, index = 2) : (tensor<3x2x4xf32>) -> tensor<2x4xf32>
  %m2 = aten.addmm.default(%x2, %h1, %w) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h2 = aten.tanh.default(%m2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %all = aten.stack.default([%h0, %h1, %h2]) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<3x2x4xf32>
  func.return %all, %h2 : tensor<3x2x4xf32>, tensor<2x4xf32>
}
// CHECK-LABEL: @recurrence
// CHECK-NEXT:    [[R:%\S+]], [[ALL:%\S+]] = control.scan from(%h) over(%x) with(%w)
// CHECK-NEXT:    ^bb0([[H:%\S+]]: tensor<2x4xf32>, [[X:%\S+]]: tensor<2x4xf32>, [[W:%\S+]]: tensor<4x4xf32>):
// CHECK-NEXT:      [[M:%\S+]] = aten.addmm.default([[X]], [[H]], [[W]])
// CHECK-NEXT:      [[N:%\S+]] = aten.tanh.default([[M]])
// CHECK-NEXT:      control.yield [[N]], [[N]]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return [[ALL]], [[R]]

// -----

// Backwards, along another dimension, which slices keep; the results are concatenated in the order of the elements.
func.func @backwards(%x: tensor<2x4x3xf32>, %h: tensor<2x1x3xf32>) -> tensor<2x3x3xf32> {
  %x0 = aten.slice.Tensor(%x, dim = 1, start = 3, end = 4) : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
  %x1 = aten.slice.Tensor(%x, dim = 1, start = 2, end = 3) : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
  %x2 = aten.slice.Tensor(%x, dim = 1, start = 1, end = 2) : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
  %h0 = aten.mul.Tensor(%x0, %h) : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %h1 = aten.mul.Tensor(%x1, %h0) : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %h2 = aten.mul.Tensor(%x2, %h1) : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %all = aten.cat.default([%h2, %h1, %h0], dim = 1) : (tensor<2x1x3xf32>, tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
  func.return %all : tensor<2x3x3xf32>
}
// CHECK-LABEL: @backwards
// CHECK-NEXT:    [[P:%\S+]] = aten.permute.default(%x, dims = [1, 0, 2])
// CHECK-NEXT:    [[S:%\S+]] = aten.slice.Tensor([[P]], start = 1, end = 4)
// CHECK-NEXT:    [[F:%\S+]] = aten.flip.default([[S]], dims = [0])
// CHECK-NEXT:    %{{\S+}}, [[ALL:%\S+]] = control.scan from(%h) over([[F]])
// CHECK-NEXT:    ^bb0([[H:%\S+]]: tensor<2x1x3xf32>, [[X:%\S+]]: tensor<2x3xf32>):
// CHECK-NEXT:      [[U:%\S+]] = aten.unsqueeze.default([[X]], dim = 1)
// CHECK-NEXT:      aten.mul.Tensor([[U]], [[H]])
// CHECK:         aten.flip.default([[ALL]], dims = [0]) {{.*}} tensor<3x2x1x3xf32>
// CHECK-NEXT:    aten.permute.default({{.*}}, dims = [1, 0, 2, 3])
// CHECK-NEXT:    aten.reshape.default({{.*}}, shape = [2, 3, 3])

// -----

// What ops behind read of single steps are elements of a stack; a loop that reads nothing new walks numbers.
func.func @iterated(%h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %h0 = aten.sin.default(%h) : (tensor<4xf32>) -> tensor<4xf32>
  %h1 = aten.sin.default(%h0) : (tensor<4xf32>) -> tensor<4xf32>
  %h2 = aten.sin.default(%h1) : (tensor<4xf32>) -> tensor<4xf32>
  %h3 = aten.sin.default(%h2) : (tensor<4xf32>) -> tensor<4xf32>
  %y = aten.cos.default(%h1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y, %h3 : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: @iterated
// CHECK-NEXT:    [[N:%\S+]] = aten.arange.default(end = 4)
// CHECK-NEXT:    [[R:%\S+]], [[ALL:%\S+]] = control.scan from(%h) over([[N]])
// CHECK:         [[E:%\S+]] = aten.select.int([[ALL]], dim = 0, index = 1)
// CHECK-NEXT:    [[Y:%\S+]] = aten.cos.default([[E]])
// CHECK-NEXT:    func.return [[Y]], [[R]]

// -----

// Weights of its own for each step, as equal layers have, even as parts of one parameter.
func.func @layers(%x: tensor<2x2xf32>, %a: tensor<2x2xf32>, %b: tensor<2x2xf32>, %c: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = aten.mm.default(%x, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = aten.mm.default(%0, %b) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = aten.mm.default(%1, %c) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}
func.func @stacked_weights(%x: tensor<2x2xf32>, %w: tensor<3x2x2xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<2x2xf32> {
  %a = aten.select.int(%w, dim = 0, index = 0) : (tensor<3x2x2xf32>) -> tensor<2x2xf32>
  %0 = aten.mm.default(%x, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %b = aten.select.int(%w, dim = 0, index = 1) : (tensor<3x2x2xf32>) -> tensor<2x2xf32>
  %1 = aten.mm.default(%0, %b) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %c = aten.select.int(%w, dim = 0, index = 2) : (tensor<3x2x2xf32>) -> tensor<2x2xf32>
  %2 = aten.mm.default(%1, %c) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}
// CHECK-LABEL: @layers
// CHECK-NOT:     control.scan

// -----

// Steps that do not wait for each other, that read every second element, or what the last step but one has made.
func.func @apart(%x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = aten.select.int(%x, dim = 0, index = 0) : (tensor<3x4xf32>) -> tensor<4xf32>
  %0 = aten.sin.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %b = aten.select.int(%x, dim = 0, index = 1) : (tensor<3x4xf32>) -> tensor<4xf32>
  %1 = aten.sin.default(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %c = aten.select.int(%x, dim = 0, index = 2) : (tensor<3x4xf32>) -> tensor<4xf32>
  %2 = aten.sin.default(%c) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func @every_second(%x: tensor<6x4xf32>, %h: tensor<4xf32>) -> tensor<4xf32> {
  %a = aten.select.int(%x, dim = 0, index = 0) : (tensor<6x4xf32>) -> tensor<4xf32>
  %0 = aten.mul.Tensor(%h, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = aten.select.int(%x, dim = 0, index = 2) : (tensor<6x4xf32>) -> tensor<4xf32>
  %1 = aten.mul.Tensor(%0, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = aten.select.int(%x, dim = 0, index = 4) : (tensor<6x4xf32>) -> tensor<4xf32>
  %2 = aten.mul.Tensor(%1, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
func.func @fibonacci(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.add.Tensor(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.add.Tensor(%b, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.add.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = aten.add.Tensor(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
// CHECK-LABEL: @apart
// CHECK-NOT:     control.scan

// -----

// Fewer steps than asked for.
func.func @few(%h: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.sin.default(%h) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.sin.default(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
// CHECK-LABEL: @few
// CHECK-NOT:     control.scan

// -----

// Ops of the layers below stay as they are.
func.func @below(%h: tensor<4xf32>) -> tensor<4xf32> {
  %0 = prims.sin(%h) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.sin(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = prims.sin(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = prims.sin(%2) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
// CHECK-LABEL: @below
// CHECK-NOT:     control.scan

// -----

// Four steps are a loop if they are many ops together.
func.func @few_long_steps(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %m0 = aten.mm.default(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h0 = aten.tanh.default(%m0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %m1 = aten.mm.default(%h0, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h1 = aten.tanh.default(%m1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %m2 = aten.mm.default(%h1, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h2 = aten.tanh.default(%m2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %m3 = aten.mm.default(%h2, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h3 = aten.tanh.default(%m3) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %h3 : tensor<4x4xf32>
}
// CHECK-LABEL: @few_long_steps
// CHECK:         control.scan
// MANY-LABEL: @recurrence
// MANY-NOT:   control.scan
// MANY-LABEL: @few_long_steps
// MANY:       control.scan
// FEW-NOT:    control.scan
