// RUN: lamina-opt %s -p functionalize --split-input-file --verify-diagnostics | filecheck %s

// Memory of another size is another tensor; a clone has no more room than an argument.
func.func @resize_of_a_clone(%x: tensor<6xf32>) -> tensor<4xf32> {
  %c = aten.clone.default(%x) : (tensor<6xf32>) -> tensor<6xf32>
  %r = aten.resize_.default(%c, size = [4]) : (tensor<6xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}
// CHECK: aten.resize_.default: changes how much memory a tensor takes, or where its elements are
// CHECK-NEXT: operand types: tensor<6xf32>
// CHECK-NEXT: at: {{.*}}:6:3
// CHECK-NEXT: nearest supported: a new tensor: view, slice or cat of this one

// -----

func.func @resize_of_a_view(%x: tensor<6xf32>) -> tensor<4xf32> {
  %v = aten.slice.Tensor(%x, dim = 0, start = 0, end = 2) : (tensor<6xf32>) -> tensor<2xf32>
  %r = aten.resize_.default(%v, size = [4]) : (tensor<2xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}
// CHECK: aten.resize_.default: changes how much memory a tensor takes
// CHECK: at: {{.*}}:18:3

// -----

func.func @resize_as_of_an_argument(%x: tensor<6xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = aten.resize_as_.default(%x, %y) : (tensor<6xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}
// CHECK: aten.resize_as_.default: changes how much memory a tensor takes
// CHECK: at: {{.*}}:27:3

// -----

// With the shape that the tensor has, nothing changes.
func.func @resize_to_the_same(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = aten.resize_.default(%x, size = [2, 3]) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}
// CHECK-LABEL: @resize_to_the_same
// CHECK-NEXT: func.return %x

// -----

func.func @squeeze_of_nothing(%x: tensor<6xf32>, %y: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<2x3xf32>) {
  %s = aten.squeeze_.default(%x) : (tensor<6xf32>) -> tensor<6xf32>
  %t = aten.transpose_.default(%y, dim0 = 1, dim1 = -1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %s, %t : tensor<6xf32>, tensor<2x3xf32>
}
// CHECK-LABEL: @squeeze_of_nothing
// CHECK-NEXT: func.return %x, %y

// -----

// A square matrix is another one after this, though its type stays.
func.func @turned_argument(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %t = aten.t_.default(%x) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %t : tensor<3x3xf32>
}
// CHECK: aten.t_.default: changes the shape of a function argument in place

// -----

func.func @partly_overlapping(%x: tensor<6xf32>) -> tensor<6xf32> {
  %a = aten.slice.Tensor(%x, dim = 0, start = 1, end = 6) : (tensor<6xf32>) -> tensor<5xf32>
  %b = aten.slice.Tensor(%x, dim = 0, start = 0, end = 5) : (tensor<6xf32>) -> tensor<5xf32>
  %0 = aten.add_.Tensor(%a, %b) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  func.return %x : tensor<6xf32>
}
// CHECK: aten.add_.Tensor: argument 'other' shares some elements with the tensor that is written
// CHECK: at: {{.*}}:67:3
// CHECK-NEXT: nearest supported: a clone() of argument 'other'

// -----

func.func @product_into_a_factor(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = aten.mm.out(%x, %x, out = %x) : (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %0 : tensor<3x3xf32>
}
// CHECK: aten.mm.out: argument 'self' is in the tensor that is written, which only elementwise ops may read

// -----

func.func @two_results_in_one(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %i = aten.view.dtype(%x, dtype = i32) : (tensor<4xf32>) -> tensor<4xi32>
  %v, %j = aten.frexp.Tensor_out(%y, mantissa = %x, exponent = %i) : (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  func.return %y : tensor<4xf32>
}
// CHECK: aten.frexp.Tensor_out: writes two tensors that share memory

// -----

func.func @cast_to_integers(%x: tensor<3xf32>, %e: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.exp.out(%x, out = %e) : (tensor<3xf32>, tensor<3xi64>) -> tensor<3xi64>
  func.return %e : tensor<3xi64>
}
// CHECK: aten.exp.out: gives f32, which torch does not cast to the i64 of the written tensor
// CHECK: at: {{.*}}:94:3

// -----

func.func @two_dtypes(%x: tensor<3xf32>, %e: tensor<f64>) -> tensor<f64> {
  %0 = aten.sum.IntList_out(%x, dim = [0], dtype = f32, out = %e) : (tensor<3xf32>, tensor<f64>) -> tensor<f64>
  func.return %e : tensor<f64>
}
// CHECK: aten.sum.IntList_out: computes in f32, and writes a tensor of f64

// -----

func.func @no_type_known(%x: tensor<3xf32>, %e: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten._to_dense.out(%x, out = %e) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK: aten._to_dense.out: aten._to_dense.default without out= gives no known type
// CHECK: at: {{.*}}:111:3

// -----

// The overload that takes the same arguments, not one that only begins with them.
func.func @overloads(%x: tensor<3x4xf32>, %i: tensor<3x4xi64>, %e: tensor<3x4xf32>, %w: tensor<5xf32>) -> tensor<3x4xf32> {
  %0 = aten.scatter.src_out(%x, dim = 0, %i, %x, out = %e) : (tensor<3x4xf32>, tensor<3x4xi64>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = aten.kaiser_window.periodic_out(window_length = 5, periodic = true, out = %w) : (tensor<5xf32>) -> tensor<5xf32>
  func.return %e : tensor<3x4xf32>
}
// CHECK-LABEL: @overloads
// CHECK: aten.scatter.src(%x, dim = 0, index = %i, src = %x)
// CHECK: aten.kaiser_window.periodic(window_length = 5, periodic = true, dtype = f32)

// -----

// Elements of lists in turn, as each reads what the one before it wrote.
func.func @lists_crosswise(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  aten._foreach_add_.List([%a, %b], [%b, %a]) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
  func.return %a : tensor<2xf32>
}
// CHECK-LABEL: @lists_crosswise
// CHECK-NEXT: [[A:%\S+]] = aten._foreach_add.List([%a], [%b])
// CHECK-NEXT: [[B:%\S+]] = aten._foreach_add.List([%b], [[[A]]])
// CHECK-NEXT: func.return [[A]], [[A]], [[B]]

// -----

// One op where no two elements meet.
func.func @lists_side_by_side(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  aten._foreach_mul_.List([%a, %b], [%a, %b]) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
  func.return %a : tensor<2xf32>
}
// CHECK-LABEL: @lists_side_by_side
// CHECK-NEXT: aten._foreach_mul.List([%a, %b], [%a, %b])
// CHECK-NEXT: func.return

// -----

// Statistics of samples are averaged over as many as are known.
func.func @open_samples(%x: tensor<?x3x5xf32> {lamina.dims = [#lamina.size<n>]}, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<?x3x5xf32> {
  %0 = aten.instance_norm.default(%x, none, none, %m, %v, true, 0.1, 1.0e-05, false) : (tensor<?x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x5xf32>
  func.return %0 : tensor<?x3x5xf32>
}
// CHECK: aten.instance_norm.default: running statistics are averaged over samples whose sizes are known
