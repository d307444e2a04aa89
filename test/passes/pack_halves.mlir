// RUN: lamina-opt %s -p 'pack-contractions{target="znver4"}' --split-input-file | filecheck %s

// Two rows by a constant of f16 wait for memory: its panels stay f16, with zeros behind the last column, and the product widens them.
func.func @main(%a: tensor<2x64xf32>, %b: tensor<40x64xf16> {lamina.kind = "parameter", lamina.name = "b"}) -> tensor<2x40xf32> {
  %w = loop.generic (i, j) in [40, 64] reads(%b[i, j] : tensor<40x64xf16>) writes([j, i] store : tensor<64x40xf32>) {
  ^bb0(%x: f16):
    %y = arith.extf %x : f16 to f32
    loop.yield %y : f32
  }
  %r = loop.generic (i, j, k) in [2, 40, 64] reads(%a[i, k] : tensor<2x64xf32>, %w[k, j] : tensor<64x40xf32>) writes([i, j] add : tensor<2x40xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  func.return %r : tensor<2x40xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     arith.extf
// CHECK:         [[P:%\S+]] = loop.generic (d0, d1, d2) in [2, 64, 32] reads(%b[(d0 * 32) + d2, d1] pad 0.000000e+00 : f16 : tensor<40x64xf16>) writes([d0, d1, d2] store : tensor<2x64x32xf16>)
// CHECK:         reads(%a[d0, d2] : tensor<2x64xf32>, [[P]][d1 floordiv 32, d2, d1 mod 32] : tensor<2x64x32xf16>)
// CHECK:         arith.extf %{{.*}} : f16 to f32
// CHECK-NEXT:    arith.mulf

// -----

// More rows are bound by arithmetic: widened once.
func.func @more_rows(%a: tensor<8x64xf32>, %b: tensor<40x64xf16> {lamina.kind = "parameter", lamina.name = "b"}) -> tensor<8x40xf32> {
  %w = loop.generic (i, j) in [40, 64] reads(%b[i, j] : tensor<40x64xf16>) writes([j, i] store : tensor<64x40xf32>) {
  ^bb0(%x: f16):
    %y = arith.extf %x : f16 to f32
    loop.yield %y : f32
  }
  %r = loop.generic (i, j, k) in [8, 40, 64] reads(%a[i, k] : tensor<8x64xf32>, %w[k, j] : tensor<64x40xf32>) writes([i, j] add : tensor<8x40xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  func.return %r : tensor<8x40xf32>
}
// CHECK-LABEL: @more_rows
// CHECK:         arith.extf
// CHECK:         [[P:%\S+]] = loop.generic {{.*}} store : tensor<2x64x32xf32>)
// CHECK-NOT:     arith.extf

// -----

// What comes with the call is packed in f32, if at all.
func.func @of_the_call(%a: tensor<2x64xf32>, %b: tensor<40x64xf16>) -> tensor<2x40xf32> {
  %w = loop.generic (i, j) in [40, 64] reads(%b[i, j] : tensor<40x64xf16>) writes([j, i] store : tensor<64x40xf32>) {
  ^bb0(%x: f16):
    %y = arith.extf %x : f16 to f32
    loop.yield %y : f32
  }
  %r = loop.generic (i, j, k) in [2, 40, 64] reads(%a[i, k] : tensor<2x64xf32>, %w[k, j] : tensor<64x40xf32>) writes([i, j] add : tensor<2x40xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  func.return %r : tensor<2x40xf32>
}
// CHECK-LABEL: @of_the_call
// CHECK:         arith.extf
// CHECK-NOT:     arith.extf
