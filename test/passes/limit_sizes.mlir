// RUN: lamina-opt %s --split-input-file --verify-diagnostics -p 'limit-sizes{sizes="batch=32"}' | filecheck %s

// CHECK-LABEL: @main
// CHECK-SAME:    %x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [1, 32]>]}
// CHECK-SAME:    %y: tensor<?x8xf32> {lamina.dims = [#lamina.size<2 * batch>]}
// CHECK-SAME:    %z: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch in [1, 32]>, #lamina.size<length in [0, ?]>]}
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [1, 128]>]},
                %y: tensor<?x8xf32> {lamina.dims = [#lamina.size<2 * batch>]},
                %z: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch>, #lamina.size<length>]}) {
  func.return
}
// -----
// A range that is narrower stays; steps do.
// CHECK-LABEL: @main
// CHECK-SAME:    #lamina.size<batch in [8, 24] step 8>
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [8, 24] step 8>]}) {
  func.return
}
// -----
// Hints that are not in the range any more go.
// CHECK-LABEL: @main
// CHECK-SAME:    attributes {lamina.hints = {length = 50 : i64}}
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch>, #lamina.size<length>]})
    attributes {lamina.hints = {batch = 40 : i64, length = 50 : i64}} {
  func.return
}
// -----
// CHECK: size 'batch' is in [64, 128], and cannot be at most 32
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [64, 128]>]}) {
  func.return
}
// -----
// CHECK: no argument of the program has a size 'batch'; nearest: bat
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<bat>]}) {
  func.return
}
