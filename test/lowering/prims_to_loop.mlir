// RUN: lamina-opt %s -p convert-prims-to-loop --split-input-file --verify-diagnostics | filecheck %s

// Integers and floats take different scalar ops; NaN differs from itself.
func.func @compare(%x: tensor<4xf32>, %i: tensor<4xi32>, %u: tensor<4xui8>)
    -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %a = prims.ne(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %b = prims.lt(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %c = prims.eq(%u, %u) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  func.return %a, %b, %c : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}
// CHECK-LABEL: func.func @compare
// CHECK: arith.cmpf une
// CHECK: arith.cmpi slt

// -----

// Half floats are computed in f32 and rounded once.
func.func @half(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %a = prims.exp(%x) : (tensor<4xbf16>) -> tensor<4xbf16>
  func.return %a : tensor<4xbf16>
}
// CHECK-LABEL: func.func @half
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK-NEXT: math.exp %{{.*}} : f32
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to bf16

// -----

// Layout ops are index maps, or free reshapes.
func.func @layout(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<6xf32>, tensor<4x2x3xf32>) {
  %t = prims.transpose(%x, permutation = [1, 0]) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r = prims.reshape(%x, shape = [6]) : (tensor<2x3xf32>) -> tensor<6xf32>
  %b = prims.broadcast_in_dim(%x, shape = [4, 2, 3], broadcast_dimensions = [1, 2])
      : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  func.return %t, %r, %b : tensor<3x2xf32>, tensor<6xf32>, tensor<4x2x3xf32>
}
// CHECK-LABEL: func.func @layout
// CHECK: loop.generic (d0, d1) in [3, 2] reads(%x[d1, d0]
// CHECK: loop.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
// CHECK: loop.generic (d0, d1, d2) in [4, 2, 3] reads(%x[d1, d2]

// -----

// A contraction multiplies and adds over the dimension that the result does not have.
func.func @contract(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) -> tensor<4x5xf32> {
  %c = prims.contract(%a, %b, a_batch = [], b_batch = [], a_contract = [1], b_contract = [0])
      : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  func.return %c : tensor<4x5xf32>
}
// CHECK-LABEL: func.func @contract
// CHECK: loop.generic (d0, d1, d2) in [4, 5, 8] reads(%a[d0, d2] : tensor<4x8xf32>, %b[d2, d1]
// CHECK-SAME: writes([d0, d1] add : tensor<4x5xf32>)
// CHECK: arith.mulf

// -----

// Padding of a convolution is a padded read, stride and dilation are coefficients.
func.func @convolution(%x: tensor<1x2x8x8xf32>, %w: tensor<3x2x3x3xf32>) -> tensor<1x3x4x4xf32> {
  %c = prims.convolution(%x, %w, stride = [2, 2], padding = [1, 1], dilation = [1, 1], groups = 1)
      : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x4x4xf32>
  func.return %c : tensor<1x3x4x4xf32>
}
// CHECK-LABEL: func.func @convolution
// CHECK: loop.generic (d0, d1, d2, d3, d4, d5, d6) in [1, 3, 4, 4, 2, 3, 3]
// CHECK-SAME: reads(%x[d0, d4, ((d2 * 2) + d5) + -1, ((d3 * 2) + d6) + -1] pad 0.000000e+00

// -----

// An embedding reads through its index.
func.func @take(%t: tensor<10x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  %c = prims.take(%t, %i, dim = 0) : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  func.return %c : tensor<3x4xf32>
}
// CHECK-LABEL: func.func @take
// CHECK: sources(%t : tensor<10x4xf32>)
// CHECK: loop.read %{{.*}}[%{{.*}}, %{{.*}}]

// -----

// What has no loop nest is refused with its types.
func.func @refused(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = prims.gcd(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
// CHECK: prims.gcd: takes integer tensors
// CHECK: operand types: tensor<4xf32>

// -----

// Sums of f32 are carried as f64; of half floats, as f32.
func.func @scan(%x: tensor<8xf32>, %y: tensor<100xf16>) -> (tensor<8xf32>, tensor<100xf16>) {
  %a = prims.scan(%x, combiner = "add", dim = 0) : (tensor<8xf32>) -> tensor<8xf32>
  %b = prims.scan(%y, combiner = "add", dim = 0) : (tensor<100xf16>) -> tensor<100xf16>
  func.return %a, %b : tensor<8xf32>, tensor<100xf16>
}
// CHECK-LABEL: func.func @scan
// CHECK: %a = loop.scan (d0) in [8] along 0 reads(%x[d0] : tensor<8xf32>) carries(0.000000e+00 : f64)
// CHECK: %b = loop.scan (d0) in [100] along 0 reads(%y[d0] : tensor<100xf16>) carries(0.000000e+00 : f32)

// -----

// Half floats are summed in f32 and rounded in a nest of their own; bools join by or and and.
func.func @reductions(%h: tensor<4x8xf16>, %m: tensor<4x8xi1>, %u: tensor<4x8xui8>)
    -> (tensor<4xf16>, tensor<4xi1>, tensor<4xui8>) {
  %a = prims.sum(%h, dims = [1]) : (tensor<4x8xf16>) -> tensor<4xf16>
  %b = prims.amax(%m, dims = [1]) : (tensor<4x8xi1>) -> tensor<4xi1>
  %c = prims.amin(%u, dims = [1]) : (tensor<4x8xui8>) -> tensor<4xui8>
  func.return %a, %b, %c : tensor<4xf16>, tensor<4xi1>, tensor<4xui8>
}
// CHECK-LABEL: func.func @reductions
// CHECK: writes([d0] add : tensor<4xf32>)
// CHECK: arith.truncf
// CHECK: writes([d0] or : tensor<4xi1>)
// CHECK: writes([d0] min : tensor<4xi64>)
// CHECK: arith.trunci

// -----

// A power of integers by a known number is products; by a tensor, squarings over its bits.
func.func @power(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %n = prims.full(shape = [4], fill_value = 5, dtype = i32, device = "cpu", requires_grad = false)
      : () -> tensor<4xi32>
  %a = prims.pow(%x, %n) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %b = prims.pow(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return %a, %b : tensor<4xi32>, tensor<4xi32>
}
// CHECK-LABEL: func.func @power
// CHECK: %a = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xi32>) writes
// CHECK-COUNT-3: arith.muli
// CHECK: %b = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xi32>, %y[d0] : tensor<4xi32>)
// CHECK: arith.shrui

// -----

// Pieces are read with a pad outside their range.
func.func @cat(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %a = prims.cat([%x, %y], dim = 0) : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  func.return %a : tensor<5xf32>
}
// CHECK-LABEL: func.func @cat
// CHECK: reads(%x[d0] pad 0.000000e+00 : f32 : tensor<2xf32>, %y[d0 + -2] pad 0.000000e+00
// CHECK: arith.select

// -----

func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %a = prims.add(%x, %x)
      : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  func.return %a : tensor<4xcomplex<f32>>
}
// CHECK: prims.add: loop nests hold no complex numbers
// CHECK: nearest supported: split-complex before it

// -----

// Parts are views, put together in turn.
func.func @parts(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = prims.real(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %i = prims.imag(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %z = prims.complex(%i, %r) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  func.return %z : tensor<4xcomplex<f32>>
}
// CHECK-LABEL: func.func @parts
// CHECK:       [[P:%\S+]] = loop.reshape %x : tensor<4xcomplex<f32>> -> tensor<4x2xf32>
// CHECK:       loop.generic (d0) in [4] reads([[P]][d0, 0] : tensor<4x2xf32>)
// CHECK:       loop.generic (d0) in [4] reads({{%\S+}}[d0, 1] : tensor<4x2xf32>)
// CHECK:       [[Z:%\S+]] = loop.generic (d0, d1) in [4, 2] reads(%i[d0] : tensor<4xf32>, %r[d0] : tensor<4xf32>)
// CHECK:       loop.reshape [[Z]] : tensor<4x2xf32> -> tensor<4xcomplex<f32>>

// -----

// Windows larger than the image lose the places that lie in the border whatever the window.
func.func @large_windows(%x: tensor<1x8x7x7xf32>, %y: tensor<2x9xf32>) -> (tensor<1x8x1x1xf32>, tensor<2x2xf32>) {
  %a = prims.reduce_window(%x, "add", [1280, 1280], [1280, 1280], [0, 0], [1, 1], true)
      : (tensor<1x8x7x7xf32>) -> tensor<1x8x1x1xf32>
  %b = prims.reduce_window(%y, "max", [20], [7], [10], [1], false) : (tensor<2x9xf32>) -> tensor<2x2xf32>
  func.return %a, %b : tensor<1x8x1x1xf32>, tensor<2x2xf32>
}
// CHECK-LABEL: func.func @large_windows
// CHECK: loop.generic (d0, d1, d2, d3, d4, d5) in [1, 8, 1, 1, 7, 7]
// CHECK-SAME: reads(%x[d0, d1, (d2 * 1280) + d4, (d3 * 1280) + d5] : tensor<1x8x7x7xf32>)
// CHECK: loop.generic (d0, d1, d2) in [2, 2, 16]
// CHECK-SAME: reads(%y[d0, ((d1 * 7) + d2) + -7] pad
