// RUN: lamina-opt %s -p 'pack-contractions{target="sapphirerapids"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'pack-contractions{target="x86-64-v4"}' --split-input-file | filecheck %s --check-prefix=WITHOUT

// A weight as nn.Linear keeps it is read where it is; what it multiplies is packed in pairs.
// WITHOUT-NOT: pairs = 
func.func @linear(%a: tensor<20x70xbf16>, %b: tensor<48x70xbf16>) -> tensor<20x48xf32> {
  %x = loop.generic (i, j) in [20, 70] reads(%a[i, j] : tensor<20x70xbf16>) writes([i, j] store : tensor<20x70xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (i, j) in [48, 70] reads(%b[i, j] : tensor<48x70xbf16>) writes([i, j] store : tensor<48x70xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (m, n, k) in [20, 48, 70] reads(%x[m, k] : tensor<20x70xf32>, %y[n, k] : tensor<48x70xf32>) writes([m, n] add : tensor<20x48xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<20x48xf32>
}
// CHECK-LABEL: @linear
// CHECK:         [[P:%\S+]] = loop.generic (d0, d1, d2, d3) in [2, 48, 16, 2] reads(%a[(d0 * 16) + d2, (d1 * 2) + d3] pad 0.000000e+00 : bf16 : tensor<20x70xbf16>)
// CHECK:         loop.generic (d0, d1, d2) in [20, 48, 70] reads([[P]][d0 floordiv 16, d2 floordiv 2, d0 mod 16, d2 mod 2] : tensor<2x48x16x2xbf16>, %b[d1, d2] : tensor<48x70xbf16>) writes([d0, d1] add : tensor<20x48xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pairs = 0>}
// CHECK-NEXT:    ^bb0([[L:%\S+]]: bf16, [[R:%\S+]]: bf16):
// CHECK-NEXT:      arith.extf [[L]] : bf16 to f32
// CHECK-NEXT:      arith.extf [[R]] : bf16 to f32
// CHECK-NEXT:      arith.mulf

// -----

// Columns that are neighbours are packed by the tasks; a left operand that is not is turned.
func.func @neighbours(%a: tensor<64x40xbf16>, %b: tensor<64x48xbf16>) -> tensor<40x48xf32> {
  %x = loop.generic (i, j) in [40, 64] reads(%a[j, i] : tensor<64x40xbf16>) writes([i, j] store : tensor<40x64xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (i, j) in [64, 48] reads(%b[i, j] : tensor<64x48xbf16>) writes([i, j] store : tensor<64x48xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (m, n, k) in [40, 48, 64] reads(%x[m, k] : tensor<40x64xf32>, %y[k, n] : tensor<64x48xf32>) writes([m, n] add : tensor<40x48xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<40x48xf32>
}
// CHECK-LABEL: @neighbours
// CHECK:         [[T:%\S+]] = loop.generic (d0, d1) in [40, 64] reads(%a[d1, d0] : tensor<64x40xbf16>){{.*}}lamina.op = "turn"
// CHECK:         reads([[T]][d0, d2] : tensor<40x64xbf16>, %b[d2, d1] : tensor<64x48xbf16>)
// CHECK-SAME:    pairs = 1

// -----

// A constant is packed for good.
func.func @main(%a: tensor<40x64xbf16>, %b: tensor<48x64xbf16> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<40x48xf32> {
  %x = loop.generic (i, j) in [40, 64] reads(%a[i, j] : tensor<40x64xbf16>) writes([i, j] store : tensor<40x64xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (i, j) in [48, 64] reads(%b[i, j] : tensor<48x64xbf16>) writes([i, j] store : tensor<48x64xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (m, n, k) in [40, 48, 64] reads(%x[m, k] : tensor<40x64xf32>, %y[n, k] : tensor<48x64xf32>) writes([m, n] add : tensor<40x48xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<40x48xf32>
}
// CHECK-LABEL: @main
// CHECK:         [[P:%\S+]] = loop.generic (d0, d1, d2, d3) in [3, 32, 16, 2] reads(%b[(d0 * 16) + d2, (d1 * 2) + d3] : tensor<48x64xbf16>)
// CHECK:         reads(%a[d0, d2] : tensor<40x64xbf16>, [[P]][d1 floordiv 16, d2 floordiv 2, d1 mod 16, d2 mod 2]
// CHECK-SAME:    pairs = 1

// -----

// Where the program asked for f32 itself, and where there is little to do, f32 is multiplied.
func.func @wide(%a: tensor<20x64xbf16>, %b: tensor<48x64xf32>, %c: tensor<8x20xbf16>) -> (tensor<20x48xf32>, tensor<8x64xf32>) {
  %x = loop.generic (i, j) in [20, 64] reads(%a[i, j] : tensor<20x64xbf16>) writes([i, j] store : tensor<20x64xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (i, j) in [8, 20] reads(%c[i, j] : tensor<8x20xbf16>) writes([i, j] store : tensor<8x20xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (m, n, k) in [20, 48, 64] reads(%x[m, k] : tensor<20x64xf32>, %b[n, k] : tensor<48x64xf32>) writes([m, n] add : tensor<20x48xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s = loop.generic (m, n, k) in [8, 64, 20] reads(%y[m, k] : tensor<8x20xf32>, %x[k, n] : tensor<20x64xf32>) writes([m, n] add : tensor<8x64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r, %s : tensor<20x48xf32>, tensor<8x64xf32>
}
// CHECK-LABEL: @wide
// CHECK-NOT:     pairs = 
// CHECK:         func.return

// -----

// Windows by constants: channels stand in pairs, places of a window in front of them; the image has its border in bf16.
func.func @main(%a: tensor<1x9x9x32xbf16>, %b: tensor<48x32x3x3xbf16> {lamina.kind = "parameter", lamina.name = "b"}) -> tensor<1x5x5x48xf32> {
  %x = loop.generic (i, j, k, l) in [1, 9, 9, 32] reads(%a[i, j, k, l] : tensor<1x9x9x32xbf16>) writes([i, j, k, l] store : tensor<1x9x9x32xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (i, j, k, l) in [48, 32, 3, 3] reads(%b[i, j, k, l] : tensor<48x32x3x3xbf16>) writes([i, j, k, l] store : tensor<48x32x3x3xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (y, x, o, c, i, j) in [5, 5, 48, 32, 3, 3] reads(%x[0, y * 2 + i - 1, x * 2 + j - 1, c] pad 0.0 : f32 : tensor<1x9x9x32xf32>, %y[o, c, i, j] : tensor<48x32x3x3xf32>) writes([0, y, x, o] add : tensor<1x5x5x48xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x5x5x48xf32>
}
// CHECK-LABEL: @main
// CHECK:         [[P:%\S+]] = loop.generic (d0, d1, d2, d3, d4, d5) in [3, 3, 3, 16, 16, 2]
// CHECK:         [[I:%\S+]] = loop.generic (d0, d1, d2) in [11, 11, 32] {{.*}}pad 0.000000e+00 : bf16
// CHECK:         reads([[I]][0, (d0 * 2) + d4, (d1 * 2) + d5, d3] : tensor<1x11x11x32xbf16>, [[P]][d2 floordiv 16, d4, d5, d3 floordiv 2, d2 mod 16, d3 mod 2] : tensor<3x3x3x16x16x2xbf16>)
// CHECK-SAME:    pairs = 1

// -----

// Of weights that come with the call they are not.
func.func @main(%a: tensor<1x9x9x32xbf16>, %b: tensor<48x32x3x3xbf16>) -> tensor<1x5x5x48xf32> {
  %x = loop.generic (i, j, k, l) in [1, 9, 9, 32] reads(%a[i, j, k, l] : tensor<1x9x9x32xbf16>) writes([i, j, k, l] store : tensor<1x9x9x32xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (i, j, k, l) in [48, 32, 3, 3] reads(%b[i, j, k, l] : tensor<48x32x3x3xbf16>) writes([i, j, k, l] store : tensor<48x32x3x3xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (y, x, o, c, i, j) in [5, 5, 48, 32, 3, 3] reads(%x[0, y * 2 + i - 1, x * 2 + j - 1, c] pad 0.0 : f32 : tensor<1x9x9x32xf32>, %y[o, c, i, j] : tensor<48x32x3x3xf32>) writes([0, y, x, o] add : tensor<1x5x5x48xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x5x5x48xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     pairs = 
// CHECK:         func.return

// -----

// A single row by constant columns gets its dimension of one position back, behind the columns.
func.func @row(%a: tensor<1x600xbf16>, %b: tensor<130x600xbf16> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x130xf32> {
  %x = loop.generic (j) in [600] reads(%a[0, j] : tensor<1x600xbf16>) writes([0, j] store : tensor<1x600xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (i, j) in [130, 600] reads(%b[i, j] : tensor<130x600xbf16>) writes([i, j] store : tensor<130x600xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (n, k) in [130, 600] reads(%x[0, k] : tensor<1x600xf32>, %y[n, k] : tensor<130x600xf32>) writes([0, n] add : tensor<1x130xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x130xf32>
}
// CHECK-LABEL: @row
// CHECK:         [[W:%\S+]] = loop.generic {{.*}} in [9, 304, 16, 2]
// CHECK:         loop.generic (d0, d1, d2) in [130, 1, 600] reads(%a[d1, d2] : tensor<1x600xbf16>, [[W]][d0 floordiv 16, d2 floordiv 2, d0 mod 16, d2 mod 2] : tensor<9x304x16x2xbf16>) writes([d1, d0] add : tensor<1x130xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pairs = 1>}

// -----

// Columns that come with the call are not packed for one row.
func.func @given(%a: tensor<1x600xbf16>, %b: tensor<130x600xbf16>) -> tensor<1x130xf32> {
  %x = loop.generic (j) in [600] reads(%a[0, j] : tensor<1x600xbf16>) writes([0, j] store : tensor<1x600xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (i, j) in [130, 600] reads(%b[i, j] : tensor<130x600xbf16>) writes([i, j] store : tensor<130x600xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (n, k) in [130, 600] reads(%x[0, k] : tensor<1x600xf32>, %y[n, k] : tensor<130x600xf32>) writes([0, n] add : tensor<1x130xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x130xf32>
}
// CHECK-LABEL: @given
// CHECK-NOT:     pairs

// -----

// Windows over three channels are gathered from an image with its border, pixels of a line behind one another.
func.func @first(%a: tensor<1x3x32x32xbf16>, %b: tensor<64x3x7x7xbf16> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x16x16x64xf32> {
  %x = loop.generic (c, i, j) in [3, 32, 32] reads(%a[0, c, i, j] : tensor<1x3x32x32xbf16>) writes([0, c, i, j] store : tensor<1x3x32x32xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (n, c, r, s) in [64, 3, 7, 7] reads(%b[n, c, r, s] : tensor<64x3x7x7xbf16>) writes([n, c, r, s] store : tensor<64x3x7x7xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (i, j, n, c, r, s) in [16, 16, 64, 3, 7, 7] reads(%x[0, c, i * 2 + r - 3, j * 2 + s - 3] pad 0.0 : f32 : tensor<1x3x32x32xf32>, %y[n, c, r, s] : tensor<64x3x7x7xf32>) writes([0, i, j, n] add : tensor<1x16x16x64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x16x16x64xf32>
}
// CHECK-LABEL: @first
// CHECK:         [[I:%\S+]] = loop.generic (d0, d1, d2) in [37, 37, 3] reads(%a[0, d2, d0 + -3, d1 + -3] pad 0.000000e+00 : bf16 : tensor<1x3x32x32xbf16>) writes([d0, (d1 * 3) + d2] store : tensor<37x111xbf16>)
// CHECK:         [[G:%\S+]] = loop.generic (d0, d1, d2, d3) in [16, 16, 7, 21] reads([[I]][(d0 * 2) + d2, (d1 * 6) + d3] : tensor<37x111xbf16>) writes([d0, d1, (d2 * 21) + d3] store : tensor<16x16x147xbf16>) attributes {lamina.op = "gather"
// CHECK:         loop.generic (d0, d1, d2, d3) in [64, 7, 7, 3] reads(%b[d0, d3, d1, d2] : tensor<64x3x7x7xbf16>) writes([d0, ((d1 * 21) + (d2 * 3)) + d3] store : tensor<64x147xbf16>) attributes {lamina.op = "turn"
// CHECK:         loop.generic (d0, d1, d2, d3) in [16, 16, 64, 147] reads([[G]][d0, d1, d3] : tensor<16x16x147xbf16>, {{.*}} : tensor<4x80x16x2xbf16>) writes([0, d0, d1, d2] add : tensor<1x16x16x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pairs = 1>}

// -----

// Steps along a line that leave pixels out are no runs.
func.func @dilated(%a: tensor<1x3x32x32xbf16>, %b: tensor<64x3x7x7xbf16> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x14x14x64xf32> {
  %x = loop.generic (c, i, j) in [3, 32, 32] reads(%a[0, c, i, j] : tensor<1x3x32x32xbf16>) writes([0, c, i, j] store : tensor<1x3x32x32xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (n, c, r, s) in [64, 3, 7, 7] reads(%b[n, c, r, s] : tensor<64x3x7x7xbf16>) writes([n, c, r, s] store : tensor<64x3x7x7xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (i, j, n, c, r, s) in [14, 14, 64, 3, 7, 7] reads(%x[0, c, i + r * 3, j + s * 3] : tensor<1x3x32x32xf32>, %y[n, c, r, s] : tensor<64x3x7x7xf32>) writes([0, i, j, n] add : tensor<1x14x14x64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x14x14x64xf32>
}
// CHECK-LABEL: @dilated
// CHECK-NOT:     pairs = 

// -----

// Rows that are joined by a view behind what widens them are viewed as half floats instead, and copied in another order
// where they are widened so.
func.func @viewed(%a: tensor<4x5x48xbf16>, %b: tensor<96x48xbf16> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<20x96xf32> {
  %x = loop.generic (i, j, k) in [5, 4, 48] reads(%a[j, i, k] : tensor<4x5x48xbf16>) writes([i, j, k] store : tensor<5x4x48xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %v = loop.reshape %x : tensor<5x4x48xf32> -> tensor<20x48xf32>
  %y = loop.generic (i, j) in [96, 48] reads(%b[i, j] : tensor<96x48xbf16>) writes([i, j] store : tensor<96x48xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (m, n, k) in [20, 96, 48] reads(%v[m, k] : tensor<20x48xf32>, %y[n, k] : tensor<96x48xf32>) writes([m, n] add : tensor<20x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %u = arith.mulf %p, %q : f32
    loop.yield %u : f32
  }
  func.return %r : tensor<20x96xf32>
}
// CHECK-LABEL: @viewed
// CHECK:         [[O:%\S+]] = loop.generic (d0, d1, d2) in [5, 4, 48] reads(%a[d1, d0, d2] : tensor<4x5x48xbf16>) writes([d0, d1, d2] store : tensor<5x4x48xbf16>) attributes {lamina.op = "layout"}
// CHECK:         [[V:%\S+]] = loop.reshape [[O]] : tensor<5x4x48xbf16> -> tensor<20x48xbf16>
// CHECK:         loop.generic (d0, d1, d2) in [20, 96, 48] reads([[V]][d0, d2] : tensor<20x48xbf16>, {{.*}}pairs = 1>

// -----

// Where nothing is packed, the view stays where it is.
func.func @small(%a: tensor<4x5x48xbf16>, %b: tensor<48x48xbf16> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<20x48xf32> {
  %x = loop.generic (i, j, k) in [4, 5, 48] reads(%a[i, j, k] : tensor<4x5x48xbf16>) writes([i, j, k] store : tensor<4x5x48xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h : bf16 to f32
    loop.yield %w : f32
  }
  %v = loop.reshape %x : tensor<4x5x48xf32> -> tensor<20x48xf32>
  %y = loop.generic (i, j) in [48, 48] reads(%b[i, j] : tensor<48x48xbf16>) writes([i, j] store : tensor<48x48xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (m, n, k) in [20, 48, 48] reads(%v[m, k] : tensor<20x48xf32>, %y[n, k] : tensor<48x48xf32>) writes([m, n] add : tensor<20x48xf32>) {
  ^bb0(%p: f32, %q: f32):
    %u = arith.mulf %p, %q : f32
    loop.yield %u : f32
  }
  func.return %r : tensor<20x48xf32>
}
// CHECK-LABEL: @small
// CHECK-NOT:     xbf16> -> 
// CHECK-NOT:     pairs

// -----

// One matrix that all of a batch are multiplied by: the batch is rows, and rows in two dimensions are not packed.
func.func @shared(%a: tensor<3x64x20xbf16>, %b: tensor<96x64xbf16>) -> tensor<3x20x96xf32> {
  %x = loop.generic (i, j, k) in [3, 20, 64] reads(%a[i, k, j] : tensor<3x64x20xbf16>) writes([i, j, k] store : tensor<3x20x64xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (i, j, k) in [3, 96, 64] reads(%b[j, k] : tensor<96x64xbf16>) writes([i, j, k] store : tensor<3x96x64xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (i, m, n, k) in [3, 20, 96, 64] reads(%x[i, m, k] : tensor<3x20x64xf32>, %y[i, n, k] : tensor<3x96x64xf32>) writes([i, m, n] add : tensor<3x20x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %u = arith.mulf %p, %q : f32
    loop.yield %u : f32
  }
  func.return %r : tensor<3x20x96xf32>
}
// CHECK-LABEL: @shared
// CHECK:         [[T:%\S+]] = loop.generic {{.*}} in [3, 20, 64] {{.*}}lamina.op = "turn"
// CHECK:         [[P:%\S+]] = loop.generic {{.*}} in [6, 32, 16, 2] reads(%b[{{.*}}lamina.op = "pair"
// CHECK:         reads([[T]][d0, d1, d3] : tensor<3x20x64xbf16>, [[P]][d2 floordiv 16, d3 floordiv 2, d2 mod 16, d3 mod 2]
// CHECK-SAME:    pairs = 1

// -----

// A matrix that nobody's batch changes either side of: matrix tiles have no place for it.
func.func @alike(%a: tensor<20x64xbf16>, %b: tensor<96x64xbf16>) -> tensor<3x20x96xf32> {
  %x = loop.generic (i, j, k) in [3, 20, 64] reads(%a[j, k] : tensor<20x64xbf16>) writes([i, j, k] store : tensor<3x20x64xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %y = loop.generic (i, j, k) in [3, 96, 64] reads(%b[j, k] : tensor<96x64xbf16>) writes([i, j, k] store : tensor<3x96x64xf32>) {
  ^bb0(%h: bf16):
    %w = arith.extf %h {lamina.implicit} : bf16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (i, m, n, k) in [3, 20, 96, 64] reads(%x[i, m, k] : tensor<3x20x64xf32>, %y[i, n, k] : tensor<3x96x64xf32>) writes([i, m, n] add : tensor<3x20x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %u = arith.mulf %p, %q : f32
    loop.yield %u : f32
  }
  func.return %r : tensor<3x20x96xf32>
}
// CHECK-LABEL: @alike
// CHECK-NOT:     pairs
