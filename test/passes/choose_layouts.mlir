// RUN: lamina-opt %s -p 'choose-layouts{target=x86-64-v4}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'choose-layouts{target=x86-64-v4 print-decisions=true}' --split-input-file -o /dev/null 2>&1 | filecheck %s --check-prefix=LOG

// Columns of the constant, output channels, are stored innermost, and so is what reads them axis by
// axis. The sum over the image ends the region: nothing is copied.
func.func @main(%x: tensor<1x16x14x14xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<32x16xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<32xf32> {
  %c = loop.generic (n, o, y, x, c) in [1, 32, 14, 14, 16] reads(%x[n, c, y, x] : tensor<1x16x14x14xf32>, %w[o, c] : tensor<32x16xf32>) writes([n, o, y, x] add : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %e = loop.generic (n, o, y, x) in [1, 32, 14, 14] reads(%c[n, o, y, x] : tensor<1x32x14x14xf32>) writes([n, o, y, x] store : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %s = loop.generic (o, y, x) in [32, 14, 14] reads(%e[0, o, y, x] : tensor<1x32x14x14xf32>) writes([o] add : tensor<32xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %s : tensor<32xf32>
}
// CHECK-LABEL: @main
// CHECK:         loop.generic (d0, d1, d2, d3, d4) in [1, 32, 14, 14, 16]
// CHECK-SAME:    attributes {lamina.layout = array<i64: 0, 2, 3, 1>}
// CHECK:         loop.generic (d0, d1, d2, d3) in [1, 32, 14, 14]
// CHECK-SAME:    attributes {lamina.layout = array<i64: 0, 2, 3, 1>}
// CHECK:         loop.generic (d0, d1, d2) in [32, 14, 14]
// CHECK-NOT:     lamina.layout
// LOG: choose-layouts: 3 results, columns of products innermost: saves {{.*}}: chosen

// -----

// A layout that stands in the text stays.
func.func @main(%x: tensor<1x16x14x14xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<32x16xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<32xf32> {
  %c = loop.generic (n, o, y, x, c) in [1, 32, 14, 14, 16] reads(%x[n, c, y, x] : tensor<1x16x14x14xf32>, %w[o, c] : tensor<32x16xf32>) writes([n, o, y, x] add : tensor<1x32x14x14xf32>) attributes {lamina.layout = array<i64: 0, 1, 2, 3>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %s = loop.generic (o, y, x) in [32, 14, 14] reads(%c[0, o, y, x] : tensor<1x32x14x14xf32>) writes([o] add : tensor<32xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %s : tensor<32xf32>
}
// CHECK-LABEL: @main
// CHECK:         lamina.layout = array<i64: 0, 1, 2, 3>

// -----

// Neither operand is constant: no side is packed for good.
func.func @main(%x: tensor<1x16x14x14xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<32x16xf32> {lamina.kind = "input", lamina.name = "w"}) -> tensor<32xf32> {
  %c = loop.generic (n, o, y, x, c) in [1, 32, 14, 14, 16] reads(%x[n, c, y, x] : tensor<1x16x14x14xf32>, %w[o, c] : tensor<32x16xf32>) writes([n, o, y, x] add : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %s = loop.generic (o, y, x) in [32, 14, 14] reads(%c[0, o, y, x] : tensor<1x32x14x14xf32>) writes([o] add : tensor<32xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %s : tensor<32xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.layout

// -----

// A depthwise sum has no columns to pack: its image would be read in jumps, and its result copied.
func.func @main(%x: tensor<16x14x14xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<16x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<16x14x12xf32> {
  %c = loop.generic (c, y, x, k) in [16, 14, 12, 3] reads(%x[c, y, x + k] : tensor<16x14x14xf32>, %w[c, k] : tensor<16x3xf32>) writes([c, y, x] add : tensor<16x14x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %c : tensor<16x14x12xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.layout
// LOG: choose-layouts: 1 results, columns of products innermost: saves 0.00 us of products, costs {{.*}} us: left

// -----

// What nests make of constants is one, broadcasts included: a weight that is scaled.
func.func @main(%x: tensor<1x16x14x14xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<32x16xf32> {lamina.kind = "parameter", lamina.name = "w"}, %s: tensor<32xf32> {lamina.kind = "buffer", lamina.name = "s"}) -> tensor<32xf32> {
  %b = loop.generic (o, c) in [32, 16] reads(%s[o] : tensor<32xf32>) writes([o, c] store : tensor<32x16xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %f = loop.generic (o, c) in [32, 16] reads(%w[o, c] : tensor<32x16xf32>, %b[o, c] : tensor<32x16xf32>) writes([o, c] store : tensor<32x16xf32>) {
  ^bb0(%a: f32, %k: f32):
    %v = arith.mulf %a, %k : f32
    loop.yield %v : f32
  }
  %c = loop.generic (n, o, y, x, c) in [1, 32, 14, 14, 16] reads(%x[n, c, y, x] : tensor<1x16x14x14xf32>, %f[o, c] : tensor<32x16xf32>) writes([n, o, y, x] add : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32, %k: f32):
    %v = arith.mulf %a, %k : f32
    loop.yield %v : f32
  }
  %t = loop.generic (o, y, x) in [32, 14, 14] reads(%c[0, o, y, x] : tensor<1x32x14x14xf32>) writes([o] add : tensor<32xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %t : tensor<32xf32>
}
// CHECK-LABEL: @main
// CHECK:         loop.generic (d0, d1, d2, d3, d4) in [1, 32, 14, 14, 16]
// CHECK-SAME:    attributes {lamina.layout = array<i64: 0, 2, 3, 1>}
// LOG: choose-layouts: 2 results, {{.*}}: chosen

// -----

// A buffer that the program writes is none, nor is what is made of it.
func.func @main(%x: tensor<1x16x14x14xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<32x16xf32> {lamina.kind = "buffer", lamina.name = "w"}) -> (tensor<32xf32>, tensor<32x16xf32> {lamina.kind = "mutation", lamina.target = "w"}) {
  %f = loop.generic (o, c) in [32, 16] reads(%w[o, c] : tensor<32x16xf32>) writes([o, c] store : tensor<32x16xf32>) {
  ^bb0(%a: f32):
    %v = arith.negf %a : f32
    loop.yield %v : f32
  }
  %c = loop.generic (n, o, y, x, c) in [1, 32, 14, 14, 16] reads(%x[n, c, y, x] : tensor<1x16x14x14xf32>, %f[o, c] : tensor<32x16xf32>) writes([n, o, y, x] add : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32, %k: f32):
    %v = arith.mulf %a, %k : f32
    loop.yield %v : f32
  }
  %t = loop.generic (o, y, x) in [32, 14, 14] reads(%c[0, o, y, x] : tensor<1x32x14x14xf32>) writes([o] add : tensor<32xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %t, %f : tensor<32xf32>, tensor<32x16xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.layout

// -----

// A product that gains more by its layout than a copy takes is copied for what leaves the program.
func.func @main(%x: tensor<1x256x16x16xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<64x256xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x64x16x16xf32> {
  %c = loop.generic (n, o, y, x, c) in [1, 64, 16, 16, 256] reads(%x[n, c, y, x] : tensor<1x256x16x16xf32>, %w[o, c] : tensor<64x256xf32>) writes([n, o, y, x] add : tensor<1x64x16x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %c : tensor<1x64x16x16xf32>
}
// CHECK-LABEL: @main
// CHECK:         attributes {lamina.layout = array<i64: 0, 2, 3, 1>, lamina.layout_copy}

// -----

// An image of three channels is masked. To have these innermost would take more jumps than a product gains, so that what is
// masked stays as it is, and what the product makes has its channels innermost.
// LOG: choose-layouts: 1 results, columns of products innermost: saves {{.*}}: chosen
// CHECK-LABEL: @main
// CHECK:         loop.generic (d0, d1, d2) in [3, 256, 256]
// CHECK-NOT:       lamina.layout
// CHECK:         loop.generic (d0, d1, d2, d3, d4, d5) in [64, 8, 8, 3, 16, 16]
// CHECK-SAME:      lamina.layout = array<i64: 1, 2, 0>
func.func @main(%x: tensor<3x256x256xf32> {lamina.kind = "input", lamina.name = "x"}, %m: tensor<256xi1> {lamina.kind = "input", lamina.name = "m"}, %w: tensor<64x3x16x16xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<64xf32> {
  %z = loop.generic (c, y, x) in [3, 256, 256] reads(%m[y] : tensor<256xi1>, %x[c, y, x] : tensor<3x256x256xf32>) writes([c, y, x] store : tensor<3x256x256xf32>) {
  ^bb0(%p: i1, %v: f32):
    %zero = arith.constant 0.0 : f32
    %e = arith.select %p, %v, %zero : f32
    loop.yield %e : f32
  }
  %c = loop.generic (o, y, x, c, k, l) in [64, 8, 8, 3, 16, 16] reads(%z[c, (y * 32) + k, (x * 32) + l] : tensor<3x256x256xf32>, %w[o, c, k, l] : tensor<64x3x16x16xf32>) writes([o, y, x] add : tensor<64x8x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %s = loop.generic (o, y, x) in [64, 8, 8] reads(%c[o, y, x] : tensor<64x8x8xf32>) writes([o] add : tensor<64xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %s : tensor<64xf32>
}

// -----

// Of a few products that do not gain so much, nothing is stored otherwise.
// LOG: choose-layouts: {{.*}}: left
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.layout
func.func @main(%x: tensor<3x128x128xf32> {lamina.kind = "input", lamina.name = "x"}, %m: tensor<128xi1> {lamina.kind = "input", lamina.name = "m"}, %w: tensor<4x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<4x128x128xf32> {
  %z = loop.generic (c, y, x) in [3, 128, 128] reads(%m[y] : tensor<128xi1>, %x[c, y, x] : tensor<3x128x128xf32>) writes([c, y, x] store : tensor<3x128x128xf32>) {
  ^bb0(%p: i1, %v: f32):
    %zero = arith.constant 0.0 : f32
    %e = arith.select %p, %v, %zero : f32
    loop.yield %e : f32
  }
  %c = loop.generic (o, y, x, c) in [4, 128, 128, 3] reads(%z[c, y, x] : tensor<3x128x128xf32>, %w[o, c] : tensor<4x3xf32>) writes([o, y, x] add : tensor<4x128x128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %c : tensor<4x128x128xf32>
}

// -----

// Lines that are looked up keep their channels, which spread the wish.
func.func @main(%x: tensor<1x16x14x14xf32> {lamina.kind = "input", lamina.name = "x"}, %i: tensor<28xindex> {lamina.kind = "input", lamina.name = "i"}, %w: tensor<32x16xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<32xf32> {
  %c = loop.generic (n, o, y, x, c) in [1, 32, 14, 14, 16] reads(%x[n, c, y, x] : tensor<1x16x14x14xf32>, %w[o, c] : tensor<32x16xf32>) writes([n, o, y, x] add : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %t = loop.generic (n, o, y, x) in [1, 32, 28, 14] reads(%i[y] : tensor<28xindex>) sources(%c : tensor<1x32x14x14xf32>) writes([n, o, y, x] store : tensor<1x32x28x14xf32>) {
  ^bb0(%at: index, %table: tensor<1x32x14x14xf32>):
    %n = loop.index 0 : index
    %o = loop.index 1 : index
    %y = loop.index 2 : index
    %x_1 = loop.index 3 : index
    %v = loop.read %table[%n, %o, %at, %x_1] : tensor<1x32x14x14xf32>
    loop.yield %v : f32
  }
  %s = loop.generic (o, y, x) in [32, 28, 14] reads(%t[0, o, y, x] : tensor<1x32x28x14xf32>) writes([o] add : tensor<32xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %s : tensor<32xf32>
}
// CHECK-LABEL: @main
// CHECK:         loop.generic (d0, d1, d2, d3) in [1, 32, 28, 14]
// CHECK-SAME:    attributes {lamina.layout = array<i64: 0, 2, 3, 1>}
// CHECK:         loop.generic (d0, d1, d2) in [32, 28, 14]

// -----

// Channels that are looked up do not.
func.func @main(%x: tensor<1x16x14x14xf32> {lamina.kind = "input", lamina.name = "x"}, %i: tensor<32xindex> {lamina.kind = "input", lamina.name = "i"}, %w: tensor<32x16xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<32xf32> {
  %c = loop.generic (n, o, y, x, c) in [1, 32, 14, 14, 16] reads(%x[n, c, y, x] : tensor<1x16x14x14xf32>, %w[o, c] : tensor<32x16xf32>) writes([n, o, y, x] add : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %t = loop.generic (n, o, y, x) in [1, 32, 14, 14] reads(%i[o] : tensor<32xindex>) sources(%c : tensor<1x32x14x14xf32>) writes([n, o, y, x] store : tensor<1x32x14x14xf32>) {
  ^bb0(%at: index, %table: tensor<1x32x14x14xf32>):
    %n = loop.index 0 : index
    %o = loop.index 1 : index
    %y = loop.index 2 : index
    %x_1 = loop.index 3 : index
    %v = loop.read %table[%n, %at, %y, %x_1] : tensor<1x32x14x14xf32>
    loop.yield %v : f32
  }
  %s = loop.generic (o, y, x) in [32, 14, 14] reads(%t[0, o, y, x] : tensor<1x32x14x14xf32>) writes([o] add : tensor<32xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %s : tensor<32xf32>
}
// CHECK-LABEL: @main
// CHECK:         loop.generic (d0, d1, d2, d3) in [1, 32, 14, 14]
// CHECK-NOT:     lamina.layout

// -----

// A reshape that leaves the channels alone, as that of an image whose pixels are repeated, spreads the wish to both sides.
func.func @main(%x: tensor<1x16x14x14xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<32x16xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<32xf32> {
  %c = loop.generic (n, o, y, x, c) in [1, 32, 14, 14, 16] reads(%x[n, c, y, x] : tensor<1x16x14x14xf32>, %w[o, c] : tensor<32x16xf32>) writes([n, o, y, x] add : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %r = loop.reshape %c : tensor<1x32x14x14xf32> -> tensor<1x32x196xf32>
  %e = loop.generic (n, o, y) in [1, 32, 196] reads(%r[n, o, y] : tensor<1x32x196xf32>) writes([n, o, y] store : tensor<1x32x196xf32>) {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %s = loop.generic (o, y) in [32, 196] reads(%e[0, o, y] : tensor<1x32x196xf32>) writes([o] add : tensor<32xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %s : tensor<32xf32>
}
// CHECK-LABEL: @main
// CHECK:         loop.reshape {{.*}} {lamina.layout = array<i64: 0, 2, 1>} : tensor<1x32x14x14xf32> -> tensor<1x32x196xf32>
// CHECK:         loop.generic (d0, d1, d2) in [1, 32, 196]
// CHECK-SAME:    attributes {lamina.layout = array<i64: 0, 2, 1>}

// -----

// One that splits them does not: what it reads is copied, and what is behind it stays.
func.func @main(%x: tensor<1x16x14x14xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<32x16xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<4x8xf32> {
  %c = loop.generic (n, o, y, x, c) in [1, 32, 14, 14, 16] reads(%x[n, c, y, x] : tensor<1x16x14x14xf32>, %w[o, c] : tensor<32x16xf32>) writes([n, o, y, x] add : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %r = loop.reshape %c : tensor<1x32x14x14xf32> -> tensor<4x8x196xf32>
  %s = loop.generic (g, o, y) in [4, 8, 196] reads(%r[g, o, y] : tensor<4x8x196xf32>) writes([g, o] add : tensor<4x8xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %s : tensor<4x8xf32>
}
// CHECK-LABEL: @main
// CHECK:         loop.reshape %{{[a-z0-9]+}} : tensor<1x32x14x14xf32> -> tensor<4x8x196xf32>

// -----

// An image that comes with the call has no nest to store it otherwise: where windows become tiles for it,
// and these save more than a copy takes, the products read one.
func.func @argument(%x: tensor<1x64x28x28xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<64x64x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}, %v: tensor<64x64x3x3xf32> {lamina.kind = "parameter", lamina.name = "v"}) -> (tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>) {
  %r = loop.generic (n, o, y, x, c, i, j) in [1, 64, 28, 28, 64, 3, 3] reads(%x[n, c, y + i - 1, x + j - 1] pad 0.0 : f32 : tensor<1x64x28x28xf32>, %w[o, c, i, j] : tensor<64x64x3x3xf32>) writes([n, o, y, x] add : tensor<1x64x28x28xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  %s = loop.generic (n, o, y, x, c, i, j) in [1, 64, 28, 28, 64, 3, 3] reads(%x[n, c, y + i - 1, x + j - 1] pad 0.0 : f32 : tensor<1x64x28x28xf32>, %v[o, c, i, j] : tensor<64x64x3x3xf32>) writes([n, o, y, x] add : tensor<1x64x28x28xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return %r, %s : tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>
}
// CHECK-LABEL: @argument
// CHECK:         %r = loop.generic
// CHECK-SAME:    attributes {lamina.layout = array<i64: 0, 2, 3, 1>, lamina.layout_copy, lamina.input_layouts = [array<i64: 0, 2, 3, 1>, unit]}
// CHECK:         %s = loop.generic
// CHECK-SAME:    lamina.input_layouts = [array<i64: 0, 2, 3, 1>, unit]}

// -----

// Images of an odd number of lines have no such tiles, and are read as they are.
func.func @odd(%x: tensor<1x64x27x27xf32> {lamina.kind = "input", lamina.name = "x"}, %w: tensor<64x64x3x3xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x64x27x27xf32> {
  %r = loop.generic (n, o, y, x, c, i, j) in [1, 64, 27, 27, 64, 3, 3] reads(%x[n, c, y + i - 1, x + j - 1] pad 0.0 : f32 : tensor<1x64x27x27xf32>, %w[o, c, i, j] : tensor<64x64x3x3xf32>) writes([n, o, y, x] add : tensor<1x64x27x27xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return %r : tensor<1x64x27x27xf32>
}
// CHECK-LABEL: @odd
// CHECK:         lamina.layout = array<i64: 0, 2, 3, 1>
// CHECK-NOT:     lamina.input_layouts
