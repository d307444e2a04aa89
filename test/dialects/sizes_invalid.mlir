// RUN: %invalid

// CHECK: sizes_invalid.mlir:5:63
// CHECK: #lamina.size<batch in [3, 1]>: the range is empty
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch in [3, 1]>]}) { func.return }
// -----
// CHECK: #lamina.size<batch in [-1, 1]>: no size is negative
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch in [-1, 1]>]}) { func.return }
// -----
// CHECK: #lamina.size<batch in [0, 8] step 0>: a step is 1 or more
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch in [0, 8] step 0>]}) { func.return }
// -----
// CHECK: no size is above 2^59
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch in [0, 999999999999999999]>]}) { func.return }
// -----
// CHECK: #lamina.size<0 * batch>: a size is a positive multiple of another, and an offset
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<0 * batch>]}) { func.return }
// -----
// CHECK: #lamina.size<batch * batch in [0, 8]>: only a size of one name has a range
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch * batch in [0, 8]>]}) { func.return }
// -----
// CHECK: #lamina.size<8 * batch in [1, 7]>: the range is empty
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<8 * batch in [1, 7]>]}) { func.return }
// -----
// CHECK: #lamina.size<8 * batch in [0, 64] step 12>: its steps are multiples of 8
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<8 * batch in [0, 64] step 12>]}) { func.return }
// -----
// CHECK: a size has a name
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<"">]}) { func.return }
// -----
// CHECK: Expected '*'
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<8>]}) { func.return }
// -----
// CHECK: #lamina.size<0 * batch + length>: a size is a positive multiple of another, and an offset
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<length + 0 * batch>]}) { func.return }
// -----
// CHECK: #lamina.size<batch + length in [0, 8]>: only a size of one name has a range
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch + length in [0, 8]>]}) { func.return }
