// RUN: lamina-opt %s --split-input-file --verify-diagnostics -p verify-aten | filecheck %s

// Text that names sizes: what does not fit the types, and names that contradict each other.
// CHECK: argument 0 of @main: lamina.dims has 1 sizes for the 2 dimensions that tensor<?x?xf32> leaves open
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch>]}) {
  func.return
}
// -----
// CHECK: argument 0 of @main: lamina.dims is [4 : i64], not sizes as in [#lamina.size<batch>]
func.func @main(%x: tensor<?xf32> {lamina.dims = [4]}) {
  func.return
}
// -----
// CHECK: argument 1 of @main: size 'batch' is in [0, 7], and in [0, 8] at argument 0
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch in [0, 8]>]},
                %y: tensor<?xf32> {lamina.dims = [#lamina.size<2 * batch in [0, 15]>]}) -> tensor<?xf32> {
  func.return %x : tensor<?xf32>
}
// -----
// CHECK: argument 1 of @main: size 'batch' is in [1, 8], and in [1, 128] at argument 0
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch in [1, 128]>]},
                %y: tensor<?xf32> {lamina.dims = [#lamina.size<batch in [1, 8]>]}) {
  func.return
}
// -----
// CHECK: argument 0 of @main: 2 * batch - 1 is -1 where batch is 0
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<2 * batch - 1>]}) {
  func.return
}
// -----
// CHECK: result 0 of @main: no argument has the size 'length'; they define batch
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch>]})
    -> (tensor<?xf32> {lamina.dims = [#lamina.size<length>]}) {
  func.return %x : tensor<?xf32>
}
// -----
// CHECK: result 0 of @main: it has shape [batch], and lamina.dims says [2 * batch]
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch>]})
    -> (tensor<?xf32> {lamina.dims = [#lamina.size<2 * batch>]}) {
  func.return %x : tensor<?xf32>
}
// -----

// Programs that need sizes to be equal and do not say so.
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<a>]},
                %y: tensor<?x8xf32> {lamina.dims = [#lamina.size<b>]}) -> tensor<?x8xf32> {
  // CHECK: shapes [a, 8] and [b, 8] do not broadcast together; sizes are equal where lamina.dims of arguments gives them one name
  // CHECK-NEXT: dimension 0 of argument 'arg0' is 'a', in [0, ?]
  // CHECK-NEXT: dimension 0 of argument 'arg1' is 'b', in [0, ?]
  %0 = aten.add.Tensor(%x, %y) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}
// -----
// Multiples, and numbers that are sizes, are named as they stand, with the ranges of their names.
func.func @main(%x: tensor<3x?xf32> {lamina.dims = [#lamina.size<2 * b in [2, 8]>], lamina.name = "x"},
                %n: i64 {lamina.dims = [#lamina.size<n in [1, 5]>], lamina.name = "n"}) -> tensor<3x?xf32> {
  // CHECK: tensor<3x2 * bxf32> does not expand to [3, n]
  // CHECK-NEXT: dimension 1 of argument 'x' is 2 * b, 'b' in [1, 4]
  // CHECK-NEXT: argument 'n' is 'n', in [1, 5]
  %0 = aten.expand.default(%x, [3, %n]) : (tensor<3x?xf32>, i64) -> tensor<3x?xf32>
  func.return %0 : tensor<3x?xf32>
}
// -----
// Without names each is a size of its own.
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: shapes [arg0.shape[0]] and [arg1.shape[0]] do not broadcast together
  %0 = aten.add.Tensor(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
// -----
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch>]}, %y: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: shapes [batch] and [8] do not broadcast together
  %0 = aten.add.Tensor(%x, %y) : (tensor<?xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
// -----
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch>]}) -> tensor<8xf32> {
  // CHECK: its result has shape [batch], not that of tensor<8xf32>
  %0 = aten.exp.default(%x) : (tensor<?xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
// -----

// 0 and 1 are ordinary: what means something else there is refused.
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch>]}) -> tensor<?x8xf32> {
  // CHECK: where batch is 1 its result has shape [8]; nothing else may
  %0 = aten.squeeze.dim(%x, 0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}
// -----
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch>]}) -> tensor<8xf32> {
  // CHECK: where batch is 0: 
  %0 = aten.amax.default(%x, [0]) : (tensor<?x8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----
// A number may be a size, of i64 only; it has one name.
// CHECK: argument 0 of @main: lamina.dims has 1 sizes for the 0 dimensions that f32 leaves open
func.func @main(%n: f32 {lamina.dims = [#lamina.size<n>]}) {
  func.return
}
// -----
// CHECK: argument 0 of @main: lamina.dims has 2 sizes for the 1 dimensions that i64 leaves open
func.func @main(%n: i64 {lamina.dims = [#lamina.size<n>, #lamina.size<m>]}) {
  func.return
}
// -----
// CHECK: argument 0 of @main: a + b does not tell 'a', and no other argument has that size
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<a + b>]}) { func.return }
// -----
// CHECK: argument 1 of @main: a * b does not tell 'b', and no other argument has that size
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<a>]},
                %y: tensor<?xf32> {lamina.dims = [#lamina.size<a * b>]}) { func.return }
// -----
// CHECK: argument 2 of @main: a + b - 3 is -1 where a is 2 and b is 0
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<a in [2, 8]>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<b>]},
                %z: tensor<?xf32> {lamina.dims = [#lamina.size<a + b - 3>]}) { func.return }
