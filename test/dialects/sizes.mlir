// RUN: %roundtrip
// RUN: %generic_roundtrip

// CHECK:      func.func @main(
// CHECK-SAME:   %x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch>]}
// CHECK-SAME:   %y: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch in [0, 128]>, #lamina.size<length in [16, ?] step 16>]}
// CHECK-SAME:   %z: tensor<?x3x?xf32> {lamina.dims = [#lamina.size<2 * batch + 1>, #lamina.size<length - 16>]}
// CHECK-SAME:   %b: tensor<?x?xf32> {lamina.dims = [#lamina.size<8 * blocks in [8, 64]>, #lamina.size<2 * odd + 1 in [1, ?] step 4>]}
// CHECK-SAME:   %v: tensor<?xf32> {lamina.dims = [#lamina.size<"a.b" in [0, 1]>]}
// CHECK-SAME:   %r: tensor<?x?x?xf32> {lamina.dims = [#lamina.size<batch + length>, #lamina.size<batch * length>, #lamina.size<"a.b" * "a.b" + 3 * batch * length + 4 * length + 1>]}
// CHECK-SAME:   -> (tensor<?xf32> {lamina.dims = [#lamina.size<"a.b">]})
func.func @main(
    %x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch>]},
    %y: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch in [0, 128]>,
                                        #lamina.size<length in [16, ?] step 16>]},
    %z: tensor<?x3x?xf32> {lamina.dims = [#lamina.size<2 * batch + 1>, #lamina.size<length -16>]},
    %b: tensor<?x?xf32> {lamina.dims = [#lamina.size<8 * blocks in [8, 64]>, #lamina.size<2 * odd + 1 in [1, ?] step 4>]},
    %v: tensor<?xf32> {lamina.dims = [#lamina.size<"a.b" in [0, 1] step 1>]},
    %r: tensor<?x?x?xf32> {lamina.dims = [#lamina.size<length + 1 * batch>, #lamina.size<length * batch>,
        #lamina.size<2 * length * batch + 2 * length + 1 + batch * length + "a.b" * "a.b" + 2 * length>]})
    -> (tensor<?xf32> {lamina.dims = [#lamina.size<"a.b">]}) {
  func.return %v : tensor<?xf32>
}
