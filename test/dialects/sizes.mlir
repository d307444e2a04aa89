// RUN: %roundtrip
// RUN: %generic_roundtrip

// CHECK:      func.func @main(
// CHECK-SAME:   %x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch>]}
// CHECK-SAME:   %y: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch in [0, 128]>, #lamina.size<length in [16, ?] step 16>]}
// CHECK-SAME:   %z: tensor<?x3x?xf32> {lamina.dims = [#lamina.size<2 * batch + 1>, #lamina.size<length - 16>]}
// CHECK-SAME:   %v: tensor<?xf32> {lamina.dims = [#lamina.size<"a.b" in [0, 1]>]}
// CHECK-SAME:   -> (tensor<?xf32> {lamina.dims = [#lamina.size<"a.b">]})
func.func @main(
    %x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch>]},
    %y: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch in [0, 128]>,
                                        #lamina.size<length in [16, ?] step 16>]},
    %z: tensor<?x3x?xf32> {lamina.dims = [#lamina.size<2 * batch + 1>, #lamina.size<length -16>]},
    %v: tensor<?xf32> {lamina.dims = [#lamina.size<"a.b" in [0, 1] step 1>]})
    -> (tensor<?xf32> {lamina.dims = [#lamina.size<"a.b">]}) {
  func.return %v : tensor<?xf32>
}
