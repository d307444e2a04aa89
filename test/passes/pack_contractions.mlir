// RUN: lamina-opt %s -p 'pack-contractions{target="x86-64-v3"}' --split-input-file | filecheck %s

// Panels of two vectors of eight; the last one is filled up with zeros.
func.func @packed(%a: tensor<8x40xf32>, %b: tensor<40x33xf32>) -> tensor<8x33xf32> {
  %r = loop.generic (m, n, k) in [8, 33, 40] reads(%a[m, k] : tensor<8x40xf32>, %b[k, n] : tensor<40x33xf32>) writes([m, n] add : tensor<8x33xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x33xf32>
}
// CHECK-LABEL: @packed
// CHECK-NEXT:    [[B:%\S+]] = loop.generic (d0, d1, d2) in [3, 40, 16] reads(%b[d1, (d0 * 16) + d2] pad 0.000000e+00 : f32 : tensor<40x33xf32>)
// CHECK-SAME:    writes([d0, d1, d2] store : tensor<3x40x16xf32>) attributes {lamina.op = "pack"}
// CHECK:         loop.generic (d0, d1, d2) in [8, 33, 40]
// CHECK-SAME:    reads(%a[d0, d2] : tensor<8x40xf32>, [[B]][d1 floordiv 16, d2, d1 mod 16] : tensor<3x40x16xf32>)
// CHECK-SAME:    lamina.packing = #loop.packing<panel = 16{{[,>]}}

// -----

// Too few rows to pay for packing an operand in each call.
func.func @few_rows(%a: tensor<3x40xf32>, %b: tensor<40x33xf32>) -> tensor<3x33xf32> {
  %r = loop.generic (m, n, k) in [3, 33, 40] reads(%a[m, k] : tensor<3x40xf32>, %b[k, n] : tensor<40x33xf32>) writes([m, n] add : tensor<3x33xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<3x33xf32>
}
// CHECK-LABEL: @few_rows
// CHECK-NEXT:    loop.generic
// CHECK-NOT:     lamina.packing
// CHECK:         func.return

// -----

// A constant operand is packed whatever the number of rows: it is done once.
func.func @main(%a: tensor<1x40xf32>, %b: tensor<33x40xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x33xf32> {
  %r = loop.generic (m, n, k) in [1, 33, 40] reads(%a[m, k] : tensor<1x40xf32>, %b[n, k] : tensor<33x40xf32>) writes([m, n] add : tensor<1x33xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x33xf32>
}
// CHECK-LABEL: @main
// CHECK-NEXT:    loop.generic (d0, d1, d2) in [3, 40, 16] reads(%b[(d0 * 16) + d2, d1] pad 0.000000e+00 : f32 : tensor<33x40xf32>)
// CHECK:         loop.generic (d0, d1, d2) in [1, 33, 40]
// CHECK-SAME:    lamina.packing = #loop.packing<panel = 16{{[,>]}}

// -----

// Batch dims come first, every summed dim keeps its order; no pad where panels come out even.
func.func @batch_and_two_sums(%a: tensor<2x129x5x7xf64>, %b: tensor<2x5x7x16xf64>) -> tensor<2x129x16xf64> {
  %r = loop.generic (b, m, n, j, k) in [2, 129, 16, 5, 7] reads(%a[b, m, j, k] : tensor<2x129x5x7xf64>, %b[b, j, k, n] : tensor<2x5x7x16xf64>) writes([b, m, n] add : tensor<2x129x16xf64>) {
  ^bb0(%p: f64, %q: f64):
    %v = arith.mulf %p, %q : f64
    loop.yield %v : f64
  }
  func.return %r : tensor<2x129x16xf64>
}
// CHECK-LABEL: @batch_and_two_sums
// CHECK-NEXT:    [[B:%\S+]] = loop.generic (d0, d1, d2, d3, d4) in [2, 2, 5, 7, 8] reads(%b[d0, d2, d3, (d1 * 8) + d4] : tensor<2x5x7x16xf64>)
// CHECK:         [[B]][d0, d2 floordiv 8, d3, d4, d2 mod 8]
// CHECK-SAME:    lamina.packing = #loop.packing<panel = 8{{[,>]}}

// -----

// A padded row operand is copied, for the product reads it without checks.
func.func @padded_rows(%a: tensor<14x8xf32>, %b: tensor<8x16xf32>) -> tensor<16x16xf32> {
  %r = loop.generic (m, n, k) in [16, 16, 8] reads(%a[m - 1, k] pad 0.0 : f32 : tensor<14x8xf32>, %b[k, n] : tensor<8x16xf32>) writes([m, n] add : tensor<16x16xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<16x16xf32>
}
// CHECK-LABEL: @padded_rows
// CHECK:         [[A:%\S+]] = loop.generic (d0, d1) in [16, 8] reads(%a[d0 + -1, d1] pad 0.000000e+00 : f32 : tensor<14x8xf32>)
// CHECK-SAME:    lamina.op = "pad"
// CHECK:         loop.generic (d0, d1, d2) in [16, 16, 8] reads([[A]][d0, d2] : tensor<16x8xf32>, 

// -----

// Signed integers are packed too.
func.func @integers(%a: tensor<8x40xi32>, %b: tensor<40x33xi32>) -> tensor<8x33xi32> {
  %r = loop.generic (m, n, k) in [8, 33, 40] reads(%a[m, k] : tensor<8x40xi32>, %b[k, n] : tensor<40x33xi32>) writes([m, n] add : tensor<8x33xi32>) {
  ^bb0(%p: i32, %q: i32):
    %v = arith.muli %p, %q : i32
    loop.yield %v : i32
  }
  func.return %r : tensor<8x33xi32>
}
// CHECK-LABEL: @integers
// CHECK:         loop.generic {{.*}} pad 0 : i32
// CHECK:         lamina.packing = #loop.packing<panel = 16{{[,>]}}

// -----

// Unsigned ones have no vectors of their own.
func.func @unsigned(%a: tensor<8x40xui32>, %b: tensor<40x33xui32>) -> tensor<8x33xui32> {
  %r = loop.generic (m, n, k) in [8, 33, 40] reads(%a[m, k] : tensor<8x40xui32>, %b[k, n] : tensor<40x33xui32>) writes([m, n] add : tensor<8x33xui32>) {
  ^bb0(%p: ui32, %q: ui32):
    %v = arith.muli %p, %q : ui32
    loop.yield %v : ui32
  }
  func.return %r : tensor<8x33xui32>
}
// CHECK-LABEL: @unsigned
// CHECK-NEXT:    loop.generic
// CHECK-NOT:     lamina.packing
// CHECK:         func.return

// -----

// Not a sum of products.
func.func @sum_of_sums(%a: tensor<8x40xf32>, %b: tensor<40x33xf32>) -> tensor<8x33xf32> {
  %r = loop.generic (m, n, k) in [8, 33, 40] reads(%a[m, k] : tensor<8x40xf32>, %b[k, n] : tensor<40x33xf32>) writes([m, n] add : tensor<8x33xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x33xf32>
}
// CHECK-LABEL: @sum_of_sums
// CHECK-NEXT:    loop.generic
// CHECK-NOT:     lamina.packing
// CHECK:         func.return

// -----

// The lines of an image are panels as they stand: a copy with its border, and room for a whole panel.
func.func @image(%x: tensor<4x10x10xf32>, %w: tensor<16x4x3x3xf32>) -> tensor<16x10x10xf32> {
  %r = loop.generic (o, y, x, c, j, i) in [16, 10, 10, 4, 3, 3] reads(%x[c, y + j + -1, x + i + -1] pad 0.0 : f32 : tensor<4x10x10xf32>, %w[o, c, j, i] : tensor<16x4x3x3xf32>) writes([o, y, x] add : tensor<16x10x10xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<16x10x10xf32>
}
// CHECK-LABEL: @image
// CHECK-NEXT:    [[P:%\S+]] = loop.generic (d0, d1, d2) in [4, 12, 18]
// CHECK-SAME:    attributes {lamina.op = "pad", lamina.materialized}
// CHECK:         loop.generic (d0, d1, d2, d3, d4, d5) in [16, 10, 10, 4, 3, 3]
// CHECK-SAME:    reads([[P]][d3, d1 + d4, d2 + d5] : tensor<4x12x18xf32>
// CHECK-SAME:    lamina.packing = #loop.packing<panel = 16{{[,>]}}

// -----

// Windows in steps of two are packed, from such a copy.
func.func @steps(%x: tensor<4x20x20xf32>, %w: tensor<16x4x3x3xf32>) -> tensor<16x10x10xf32> {
  %r = loop.generic (o, y, x, c, j, i) in [16, 10, 10, 4, 3, 3] reads(%x[c, y * 2 + j + -1, x * 2 + i + -1] pad 0.0 : f32 : tensor<4x20x20xf32>, %w[o, c, j, i] : tensor<16x4x3x3xf32>) writes([o, y, x] add : tensor<16x10x10xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<16x10x10xf32>
}
// CHECK-LABEL: @steps
// CHECK-NEXT:    [[P:%\S+]] = loop.generic (d0, d1, d2) in [4, 21, 33]
// CHECK:         [[Q:%\S+]] = loop.generic (d0, d1, d2, d3, d4, d5) in [10, 1, 4, 3, 3, 16] reads([[P]][d2, (d0 * 2) + d3, ((d1 * 32) + d4) + (d5 * 2)] : tensor<4x21x33xf32>)
// CHECK:         reads([[Q]][d1, d2 floordiv 16, d3, d4, d5, d2 mod 16] :

// -----

// A row operand that stays is copied once if its sum walks it in jumps.
func.func @main(%a: tensor<40x32xf32> {lamina.kind = "parameter", lamina.name = "w"}, %b: tensor<40x33xf32>) -> tensor<32x33xf32> {
  %r = loop.generic (m, n, k) in [32, 33, 40] reads(%a[k, m] : tensor<40x32xf32>, %b[k, n] : tensor<40x33xf32>) writes([m, n] add : tensor<32x33xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<32x33xf32>
}
// CHECK-LABEL: @main
// CHECK:         [[A:%\S+]] = loop.generic (d0, d1) in [32, 40] reads(%a[d1, d0] : tensor<40x32xf32>)
// CHECK:         reads([[A]][d0, d2] : tensor<32x40xf32>

// -----

// To turn an operand for a few rows costs more than dot products along it.
func.func @dots(%a: tensor<4x512xf32>, %b: tensor<64x512xf32>) -> tensor<4x64xf32> {
  %r = loop.generic (m, n, k) in [4, 64, 512] reads(%a[m, k] : tensor<4x512xf32>, %b[n, k] : tensor<64x512xf32>) writes([m, n] add : tensor<4x64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x64xf32>
}
// CHECK-LABEL: @dots
// CHECK-NEXT:    loop.generic (d0, d1, d2) in [4, 64, 512] reads(%a[d0, d2] : tensor<4x512xf32>, %b[d1, d2]
// CHECK-NOT:     lamina.packing
// CHECK:         func.return

// -----

// Eight rows are one tile of dot products, nine are packed; so are eight of a batch, which have no such tile.
func.func @eight_dots(%a: tensor<8x512xf32>, %b: tensor<64x512xf32>) -> tensor<8x64xf32> {
  %r = loop.generic (m, n, k) in [8, 64, 512] reads(%a[m, k] : tensor<8x512xf32>, %b[n, k] : tensor<64x512xf32>) writes([m, n] add : tensor<8x64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x64xf32>
}
// CHECK-LABEL: @eight_dots
// CHECK-NEXT:    loop.generic (d0, d1, d2) in [8, 64, 512] reads(%a[d0, d2] : tensor<8x512xf32>, %b[d1, d2]
// CHECK-NOT:     lamina.packing
// CHECK:         func.return

// -----

func.func @nine_rows(%a: tensor<9x512xf32>, %b: tensor<64x512xf32>) -> tensor<9x64xf32> {
  %r = loop.generic (m, n, k) in [9, 64, 512] reads(%a[m, k] : tensor<9x512xf32>, %b[n, k] : tensor<64x512xf32>) writes([m, n] add : tensor<9x64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<9x64xf32>
}
// CHECK-LABEL: @nine_rows
// CHECK:         "pack"

// -----

func.func @eight_of_a_batch(%a: tensor<2x8x512xf32>, %b: tensor<2x64x512xf32>) -> tensor<2x8x64xf32> {
  %r = loop.generic (b, m, n, k) in [2, 8, 64, 512] reads(%a[b, m, k] : tensor<2x8x512xf32>, %b[b, n, k] : tensor<2x64x512xf32>) writes([b, m, n] add : tensor<2x8x64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<2x8x64xf32>
}
// CHECK-LABEL: @eight_of_a_batch
// CHECK:         "pack"

// -----

// Rows that are windows of an image with a border read a copy of it, not one of each window.
func.func @rows_of_windows(%x: tensor<4x20x20xf32>, %w: tensor<16x4x3x3xf32>) -> tensor<10x10x16xf32> {
  %r = loop.generic (y, x, o, c, j, i) in [10, 10, 16, 4, 3, 3] reads(%x[c, y * 2 + j + -1, x * 2 + i + -1] pad 0.0 : f32 : tensor<4x20x20xf32>, %w[o, c, j, i] : tensor<16x4x3x3xf32>) writes([y, x, o] add : tensor<10x10x16xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<10x10x16xf32>
}
// CHECK-LABEL: @rows_of_windows
// CHECK:         [[A:%\S+]] = loop.generic (d0, d1, d2) in [4, 21, 21] reads(%x[d0, d1 + -1, d2 + -1] pad 0.000000e+00 : f32 : tensor<4x20x20xf32>)
// CHECK:         loop.generic (d0, d1, d2, d3, d4, d5) in [10, 10, 16, 4, 3, 3] reads([[A]][d3, (d0 * 2) + d4, (d1 * 2) + d5] : tensor<4x21x21xf32>

// -----

// Few rows side by side are joined with those behind them, if only parts of the result are read.
func.func @parts(%w: tensor<40x6x4xf32>, %x: tensor<40x33xf32>) -> (tensor<6x2x33xf32>, tensor<6x4x33xf32>) {
  %r = loop.generic (o, i, n, k) in [6, 4, 33, 40] reads(%w[k, o, i] : tensor<40x6x4xf32>, %x[k, n] : tensor<40x33xf32>) writes([o, i, n] add : tensor<6x4x33xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s = loop.generic (o, i, n) in [6, 2, 33] reads(%r[o, i + 2, n] : tensor<6x4x33xf32>) writes([o, i, n] store : tensor<6x2x33xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (o, i, n, k) in [6, 4, 33, 40] reads(%w[k, o, i] : tensor<40x6x4xf32>, %x[k, n] : tensor<40x33xf32>) writes([o, i, n] add : tensor<6x4x33xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %u = loop.generic (o, i, n) in [6, 4, 33] reads(%t[o, i, n] : tensor<6x4x33xf32>) writes([o, i, n] store : tensor<6x4x33xf32>) {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  func.return %s, %u : tensor<6x2x33xf32>, tensor<6x4x33xf32>
}
// CHECK-LABEL: @parts
// CHECK:         [[W:%\S+]] = loop.reshape %w : tensor<40x6x4xf32> -> tensor<40x24xf32>
// CHECK:         [[R:%\S+]] = loop.generic (d0, d1, d2) in [24, 33, 40]
// CHECK:         loop.reshape [[R]] : tensor<24x33xf32> -> tensor<6x4x33xf32>
// CHECK:         loop.generic (d0, d1, d2, d3) in [6, 4, 33, 40]

// -----

// What two products read is packed once.
func.func @main(%a: tensor<192x32xf32>, %d: tensor<160x32xf32>, %b: tensor<32x96xf32>) -> (tensor<192x96xf32>, tensor<160x96xf32>) {
  %p = loop.generic (m, n, k) in [192, 96, 32] reads(%a[m, k] : tensor<192x32xf32>, %b[k, n] : tensor<32x96xf32>) writes([m, n] add : tensor<192x96xf32>) {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (m, n, k) in [160, 96, 32] reads(%d[m, k] : tensor<160x32xf32>, %b[k, n] : tensor<32x96xf32>) writes([m, n] add : tensor<160x96xf32>) {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %p, %q : tensor<192x96xf32>, tensor<160x96xf32>
}
// CHECK-LABEL: func.func @main
// CHECK:         [[PACKED:%\S+]] = loop.generic {{.*}}"pack"
// CHECK-NOT:     "pack"
// CHECK:         loop.generic {{.*}}[[PACKED]]
// CHECK-NOT:     "pack"
// CHECK:         loop.generic {{.*}}[[PACKED]]

// -----

// A depthwise sum with channels innermost reads its image in runs, and a copy of its weight too.
func.func @main(%x: tensor<9x9x16xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<16x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<7x7x16xf32> {
  %r = loop.generic (y, x, c, j, i) in [7, 7, 16, 3, 3] reads(%x[y + j, x + i, c] : tensor<9x9x16xf32>, %w[c, j, i] : tensor<16x3x3xf32>) writes([y, x, c] add : tensor<7x7x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<7x7x16xf32>
}
// CHECK-LABEL: @main
// CHECK-NEXT:    [[T:%\S+]] = loop.generic (d0, d1, d2) in [3, 3, 16] reads(%w[d2, d0, d1] : tensor<16x3x3xf32>)
// CHECK:         reads(%x[d0 + d3, d1 + d4, d2] : tensor<9x9x16xf32>, [[T]][d3, d4, d2] : tensor<3x3x16xf32>)

// -----

// Rows of a constant that a copy would put 4 KB apart share the sets of a cache: a line is left free
// behind each.
func.func @main(%w: tensor<1024x32xf32> {lamina.kind = "parameter", lamina.name = "w"}, %x: tensor<1024x48xf32>) -> tensor<32x48xf32> {
  %r = loop.generic (m, n, k) in [32, 48, 1024] reads(%w[k, m] : tensor<1024x32xf32>, %x[k, n] : tensor<1024x48xf32>) writes([m, n] add : tensor<32x48xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<32x48xf32>
}
// CHECK-LABEL: @main
// CHECK:         [[W:%\S+]] = loop.generic (d0, d1) in [32, 1040] reads(%w[d1, d0] pad 0.000000e+00 : f32 : tensor<1024x32xf32>)
// CHECK-SAME:    "pad"
// CHECK:         loop.generic (d0, d1, d2) in [32, 48, 1024]
// CHECK-SAME:    reads([[W]][d0, d2] : tensor<32x1040xf32>

// -----

// Rows of 4,032 bytes do not.
func.func @main(%w: tensor<1008x32xf32> {lamina.kind = "parameter", lamina.name = "w"}, %x: tensor<1008x48xf32>) -> tensor<32x48xf32> {
  %r = loop.generic (m, n, k) in [32, 48, 1008] reads(%w[k, m] : tensor<1008x32xf32>, %x[k, n] : tensor<1008x48xf32>) writes([m, n] add : tensor<32x48xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<32x48xf32>
}
// CHECK-LABEL: @main
// CHECK:         loop.generic (d0, d1) in [32, 1008] reads(%w[d1, d0] : tensor<1008x32xf32>)

// -----

// Constant columns that three vectors divide are panels of these.
func.func @three_vectors(%a: tensor<128x40xf32>, %b: tensor<40x96xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<128x96xf32> {
  %r = loop.generic (m, n, k) in [128, 96, 40] reads(%a[m, k] : tensor<128x40xf32>, %b[k, n] : tensor<40x96xf32>) writes([m, n] add : tensor<128x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<128x96xf32>
}
// CHECK-LABEL: @three_vectors
// CHECK:         #loop.packing<panel = 16>

// -----

// Two columns side by side leave most of a vector empty: pixels are packed for 64 rows, of a large image, too.
// CHECK-LABEL: @two_columns
// CHECK:         loop.generic (d0, d1, d2, d3, d4) in [4, 128, 8, 32, 16] reads(%x[
// CHECK:         lamina.packing = #loop.packing<panel = 16
func.func @two_columns(%w: tensor<32x2x2x16xf32>, %x: tensor<4x32x128x128xf32>) -> tensor<4x16x256x256xf32> {
  %0 = loop.generic (c, u, v, b, y, x, k) in [16, 2, 2, 4, 128, 128, 32] reads(%w[k, u, v, c] : tensor<32x2x2x16xf32>, %x[b, k, y, x] : tensor<4x32x128x128xf32>) writes([b, c, y * 2 + u, x * 2 + v] add : tensor<4x16x256x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %0 : tensor<4x16x256x256xf32>
}

// -----

// Seven fill almost a vector of eight: 49 rows do not make up for packing so much.
// CHECK-LABEL: @seven_columns
// CHECK:         loop.generic (d0, d1, d2, d3) in [7, 1, 32, 8] reads(%w[
// CHECK:         lamina.packing = #loop.packing<panel = 8
func.func @seven_columns(%w: tensor<32x7x7xf32>, %x: tensor<4x32x128x128xf32>) -> tensor<4x896x896xf32> {
  %0 = loop.generic (u, v, b, y, x, k) in [7, 7, 4, 128, 128, 32] reads(%w[k, u, v] : tensor<32x7x7xf32>, %x[b, k, y, x] : tensor<4x32x128x128xf32>) writes([b, y * 7 + u, x * 7 + v] add : tensor<4x896x896xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %0 : tensor<4x896x896xf32>
}

// -----

// Keys of batches that lie behind one another: those that fill no whole panels are an axis of their own, so that no panel
// of one batch ends in the next, of which calls may have fewer.
func.func @joined_batches(%q: tensor<4x20x64xf32>, %k: tensor<80x64xf32>) -> tensor<4x20x20xf32> {
  %r = loop.generic (b, m, n, k) in [4, 20, 20, 64] reads(%q[b, m, k] : tensor<4x20x64xf32>, %k[b * 20 + n, k] : tensor<80x64xf32>) writes([b, m, n] add : tensor<4x20x20xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.mulf %p, %o : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x20x20xf32>
}
// CHECK-LABEL: @joined_batches
// CHECK:         [[K:%\S+]] = loop.reshape %k : tensor<80x64xf32> -> tensor<4x20x64xf32>
// CHECK-NEXT:    loop.generic (d0, d1, d2, d3) in [4, 2, 64, 16] reads([[K]][d0, (d1 * 16) + d3, d2] pad 0.000000e+00 : f32 : tensor<4x20x64xf32>)

// -----

// Whole panels end where their batch does, as they are.
func.func @whole_panels(%q: tensor<4x32x64xf32>, %k: tensor<128x64xf32>) -> tensor<4x32x32xf32> {
  %r = loop.generic (b, m, n, k) in [4, 32, 32, 64] reads(%q[b, m, k] : tensor<4x32x64xf32>, %k[b * 32 + n, k] : tensor<128x64xf32>) writes([b, m, n] add : tensor<4x32x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.mulf %p, %o : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x32x32xf32>
}
// CHECK-LABEL: @whole_panels
// CHECK-NOT:     loop.reshape
// CHECK:         reads(%k[((d0 * 32) + (d1 * 16)) + d3, d2] : tensor<128x64xf32>)

// -----

// Windows that overlap are no digit: they stay.
func.func @overlapping(%q: tensor<4x20x64xf32>, %k: tensor<80x64xf32>) -> tensor<4x20x20xf32> {
  %r = loop.generic (b, m, n, k) in [4, 20, 20, 64] reads(%q[b, m, k] : tensor<4x20x64xf32>, %k[b * 15 + n, k] : tensor<80x64xf32>) writes([b, m, n] add : tensor<4x20x20xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.mulf %p, %o : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x20x20xf32>
}
// CHECK-LABEL: @overlapping
// CHECK-NOT:     loop.reshape
// CHECK:         reads(%k[((d0 * 15) + (d1 * 16)) + d3, d2]
