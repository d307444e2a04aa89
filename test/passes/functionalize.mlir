// RUN: lamina-opt %s -p functionalize,verify-functional | filecheck %s

// CHECK-LABEL: @relu_of_a_value
func.func @relu_of_a_value(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.neg.default(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = aten.relu_.default(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = aten.add_.Tensor(%1, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // The two in-place ops wrote %0, so that is what a later reader sees.
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      [[NEG:%\S+]] = aten.neg.default(%x)
// CHECK-NEXT: [[RELU:%\S+]] = aten.relu.default([[NEG]])
// CHECK-NEXT: [[SUM:%\S+]] = aten.add.Tensor([[RELU]], %x)
// CHECK-NEXT: func.return [[SUM]] : tensor<2x3xf32>

// CHECK-LABEL: @input_is_written
// CHECK-SAME: -> (tensor<3xf32>, tensor<3xf32> {lamina.kind = "mutation", lamina.target = "state"})
func.func @input_is_written(%x: tensor<3xf32> {lamina.name = "state", lamina.kind = "buffer"}) -> tensor<3xf32> {
  %0 = aten.mul_.Scalar(%x, other = 2.0) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = aten.neg.default(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
// CHECK:      [[MUL:%\S+]] = aten.mul.Scalar(%x, other = 2.0)
// CHECK-NEXT: [[NEG:%\S+]] = aten.neg.default([[MUL]])
// CHECK-NEXT: func.return [[NEG]], [[MUL]]

// CHECK-LABEL: @through_views
func.func @through_views(%x: tensor<4x3xf32>, %v: tensor<3xf32>) -> tensor<4x3xf32> {
  %y = aten.clone.default(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %t = aten.transpose.int(%y, dim0 = 0, dim1 = 1) : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %c = aten.select.int(%t, dim = 1, index = 2) : (tensor<3x4xf32>) -> tensor<3xf32>
  %0 = aten.copy_.default(%c, %v) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<4x3xf32>
}
// CHECK:      [[Y:%\S+]] = aten.clone.default(%x)
// CHECK:      [[OLD:%\S+]] = aten.transpose.int([[Y]]
// CHECK:      [[NEW:%\S+]] = aten.select_scatter.default({{%\S+}}, %v, dim = 1, index = 2)
// CHECK-NEXT: [[BACK:%\S+]] = aten.permute.default([[NEW]], dims = [1, 0])
// CHECK-NEXT: func.return [[BACK]]

// CHECK-LABEL: @view_of_what_was_written
func.func @view_of_what_was_written(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %y = aten.neg.default(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %v = aten.view.default(%y, size = [6]) : (tensor<2x3xf32>) -> tensor<6xf32>
  %0 = aten.exp_.default(%y) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %v : tensor<6xf32>
}
// CHECK:      [[EXP:%\S+]] = aten.exp.default
// CHECK-NEXT: [[VIEW:%\S+]] = aten.view.default([[EXP]], size = [6])
// CHECK-NEXT: func.return [[VIEW]]

// CHECK-LABEL: @in_the_dtype_of_the_target
func.func @in_the_dtype_of_the_target(%x: tensor<3xf16>, %y: tensor<3xf32>) -> tensor<3xf16> {
  %0 = aten.neg.default(%x) : (tensor<3xf16>) -> tensor<3xf16>
  %1 = aten.add_.Tensor(%0, %y) : (tensor<3xf16>, tensor<3xf32>) -> tensor<3xf16>
  func.return %1 : tensor<3xf16>
}
// CHECK:      [[SUM:%\S+]] = aten.add.Tensor({{%\S+}}, %y) : (tensor<3xf16>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: [[CAST:%\S+]] = aten._to_copy.default([[SUM]], dtype = f16)
// CHECK-NEXT: func.return [[CAST]]

// CHECK-LABEL: @identities_go_away
func.func @identities_go_away(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.lift_fresh_copy.default(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = aten.detach_.default(%0) : (tensor<3xf32>) -> tensor<3xf32>
  aten._assert_tensor_metadata.default(%1, dtype = f32) : (tensor<3xf32>) -> ()
  %2 = aten.relu_.default(%1) : (tensor<3xf32>) -> tensor<3xf32>
  // The copy was written, not the argument.
  func.return %x : tensor<3xf32>
}
// CHECK-NEXT: aten.relu.default(%x)
// CHECK-NEXT: func.return %x

// CHECK-LABEL: @out_argument
func.func @out_argument(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.empty_like.default(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = aten.add.out(%x, %y, out = %0) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      [[SUM:%\S+]] = aten.add.Tensor(%x, %y)
// CHECK-NEXT: func.return [[SUM]]

// A region may write what it made itself.
// CHECK-LABEL: @region_writes_its_own
func.func @region_writes_its_own(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %s = aten.sin.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %t = aten.neg_.default(%s) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}
// CHECK:         control.cond
// CHECK:           %s = aten.sin.default(%a)
// CHECK-NEXT:      [[T:%\S+]] = aten.neg.default(%s)
// CHECK-NEXT:      control.yield [[T]] : tensor<4xf32>

// An elementwise op under a second name, which torch does not tag as pointwise.
// CHECK-LABEL: @second_name_in_place
func.func @second_name_in_place(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: aten.arctan.default(%x)
  %0 = aten.arctan.out(%x, out = %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// What a view of open sizes has written goes back into a shape that is asked of its source.
// CHECK-LABEL: @view_of_open_sizes
func.func @view_of_open_sizes(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %s = aten.sin.default(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %v = aten.view.default(%s, size = [-1]) : (tensor<?x4xf32>) -> tensor<?xf32>
  %t = aten.neg_.default(%v) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %s : tensor<?x4xf32>
}
// CHECK:         %s = aten.sin.default(%x)
// CHECK:         [[T:%\S+]] = aten.neg.default(%v)
// CHECK-NEXT:    [[N:%\S+]] = aten.sym_size.int(%s, dim = 0)
// CHECK-NEXT:    [[R:%\S+]] = aten.reshape.default([[T]], shape = [[[N]], 4])
// CHECK-NEXT:    func.return [[R]]
