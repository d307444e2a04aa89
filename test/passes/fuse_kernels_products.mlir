// RUN: lamina-opt %s -p 'pack-contractions{target="x86-64-v4"},fuse-kernels{target="x86-64-v4"}' --split-input-file | filecheck %s

// Threads share out the rows of a kernel whose product is followed by something on whole rows, in blocks
// of sixteen: here there are eight.
func.func @main(%a: tensor<128x256xf32>, %b: tensor<1024x256xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<128xf32> {
  %p = loop.generic (m, n, k) in [128, 1024, 256] reads(%a[m, k] : tensor<128x256xf32>, %b[n, k] : tensor<1024x256xf32>) writes([m, n] add : tensor<128x1024xf32>) attributes {lamina.op = "product"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [128, 1024] reads(%p[m, n] : tensor<128x1024xf32>) writes([m] max : tensor<128xf32>) attributes {lamina.op = "amax"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<128xf32>
}
// CHECK-LABEL: @main
// CHECK:         lamina.op = "product"
// CHECK:         lamina.op = "amax"
// CHECK-NOT:     lamina.not_fused = ["product -> amax
// CHECK:         func.return

// -----

// With two blocks, other threads would have nothing to do; the product alone has columns to share out.
func.func @main(%a: tensor<32x256xf32>, %b: tensor<1024x256xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<32xf32> {
  %p = loop.generic (m, n, k) in [32, 1024, 256] reads(%a[m, k] : tensor<32x256xf32>, %b[n, k] : tensor<1024x256xf32>) writes([m, n] add : tensor<32x1024xf32>) attributes {lamina.op = "product"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [32, 1024] reads(%p[m, n] : tensor<32x1024xf32>) writes([m] max : tensor<32xf32>) attributes {lamina.op = "amax"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<32xf32>
}
// CHECK-LABEL: @main
// CHECK:         lamina.not_fused = ["{{.*}}product -> amax: together they have only 32 rows to run in parallel, 2 blocks for matrix products: work of idle threads takes

// -----

// The operand is packed in the call: the threads that packed it have its columns.
func.func @main(%a: tensor<128x256xf32>, %b: tensor<1024x256xf32>) -> tensor<128xf32> {
  %p = loop.generic (m, n, k) in [128, 1024, 256] reads(%a[m, k] : tensor<128x256xf32>, %b[n, k] : tensor<1024x256xf32>) writes([m, n] add : tensor<128x1024xf32>) attributes {lamina.op = "product"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [128, 1024] reads(%p[m, n] : tensor<128x1024xf32>) writes([m] max : tensor<128xf32>) attributes {lamina.op = "amax"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<128xf32>
}
// CHECK-LABEL: @main
// CHECK:         lamina.not_fused = ["{{.*}}product -> amax: each thread would read all of an operand that threads packed just before: fetching 1048576 bytes takes

// -----

// What is pointwise runs panel by panel, and takes nothing from the threads.
func.func @main(%a: tensor<32x256xf32>, %b: tensor<1024x256xf32>) -> tensor<32x1024xf32> {
  %p = loop.generic (m, n, k) in [32, 1024, 256] reads(%a[m, k] : tensor<32x256xf32>, %b[n, k] : tensor<1024x256xf32>) writes([m, n] add : tensor<32x1024xf32>) attributes {lamina.op = "product"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [32, 1024] reads(%p[m, n] : tensor<32x1024xf32>) writes([m, n] store : tensor<32x1024xf32>) attributes {lamina.op = "neg"} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<32x1024xf32>
}
// CHECK-LABEL: @main
// CHECK:         lamina.op = "product"
// CHECK:         lamina.op = "neg"
// CHECK-NOT:     product -> neg
// CHECK:         func.return

// -----

// With no more columns than rows, the rows are what is shared out anyway.
func.func @main(%a: tensor<128x256xf32>, %b: tensor<128x256xf32>) -> tensor<128xf32> {
  %p = loop.generic (m, n, k) in [128, 128, 256] reads(%a[m, k] : tensor<128x256xf32>, %b[n, k] : tensor<128x256xf32>) writes([m, n] add : tensor<128x128xf32>) attributes {lamina.op = "product"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [128, 128] reads(%p[m, n] : tensor<128x128xf32>) writes([m] max : tensor<128xf32>) attributes {lamina.op = "amax"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<128xf32>
}
// CHECK-LABEL: @main
// CHECK:         lamina.op = "product"
// CHECK:         lamina.op = "amax"
// CHECK-NOT:     product -> amax
// CHECK:         func.return

// -----

// A size of the call masks rows of a product that are summed over: loops of the product end there, and would not within
// the rows of the sum. Where nothing is masked, the sum is part of the kernel.
func.func @masked(%a: tensor<32x64x64xf32>, %b: tensor<32x64x64xf32>, %m: tensor<64xi1>) -> tensor<32x64xf32> {
  %p = loop.generic (b, m, n, k) in [32, 64, 64, 64] reads(%a[b, m, k] : tensor<32x64x64xf32>, %b[b, n, k] : tensor<32x64x64xf32>) writes([b, m, n] add : tensor<32x64x64xf32>) attributes {lamina.op = "product"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (b, m, n) in [32, 64, 64] reads(%p[b, m, n] : tensor<32x64x64xf32>, %m[m] : tensor<64xi1>) writes([b, n] add : tensor<32x64xf32>) attributes {lamina.op = "masked_sum"} {
  ^bb0(%x: f32, %c: i1):
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %x, %z : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<32x64xf32>
}
// CHECK-LABEL: @masked
// CHECK:         lamina.not_fused = [{{.*}}"product -> masked_sum: a size of the call masks rows that it sums over, at which products end"

// -----

func.func @not_masked(%a: tensor<32x64x64xf32>, %b: tensor<32x64x64xf32>, %m: tensor<64xi1>) -> tensor<32x64xf32> {
  %p = loop.generic (b, m, n, k) in [32, 64, 64, 64] reads(%a[b, m, k] : tensor<32x64x64xf32>, %b[b, n, k] : tensor<32x64x64xf32>) writes([b, m, n] add : tensor<32x64x64xf32>) attributes {lamina.op = "product"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (b, m, n) in [32, 64, 64] reads(%p[b, m, n] : tensor<32x64x64xf32>) writes([b, n] add : tensor<32x64xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<32x64xf32>
}
// CHECK-LABEL: @not_masked
// CHECK-NOT:     masks rows
// CHECK:         func.return

// -----

// A sum takes in both products that it adds, as a block of rows finds the panels of both near.
func.func @near(%a: tensor<256x64xf32>, %b: tensor<64x64xf32> {lamina.kind = "parameter", lamina.name = "b"}, %c: tensor<256x64xf32>, %d: tensor<64x64xf32> {lamina.kind = "parameter", lamina.name = "d"}) -> tensor<256x64xf32> {
  %p = loop.generic (i, j, k) in [256, 64, 64] reads(%a[i, k] : tensor<256x64xf32>, %b[j, k] : tensor<64x64xf32>) writes([i, j] add : tensor<256x64xf32>) attributes {lamina.op = "left"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %q = loop.generic (i, j, k) in [256, 64, 64] reads(%c[i, k] : tensor<256x64xf32>, %d[j, k] : tensor<64x64xf32>) writes([i, j] add : tensor<256x64xf32>) attributes {lamina.op = "right"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %r = loop.generic (i, j) in [256, 64] reads(%p[i, j] : tensor<256x64xf32>, %q[i, j] : tensor<256x64xf32>) writes([i, j] store : tensor<256x64xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    loop.yield %z : f32
  }
  func.return %r : tensor<256x64xf32>
}
// CHECK-LABEL: @near
// CHECK:         %r = loop.kernel
// CHECK:           lamina.op = "left"
// CHECK:           lamina.op = "right"
// CHECK:           lamina.op = "sum"

// -----

// Of larger panels, each product reads its own alone.
func.func @far(%a: tensor<256x1024xf32>, %b: tensor<1024x1024xf32> {lamina.kind = "parameter", lamina.name = "b"}, %c: tensor<256x1024xf32>, %d: tensor<1024x1024xf32> {lamina.kind = "parameter", lamina.name = "d"}) -> tensor<256x1024xf32> {
  %p = loop.generic (i, j, k) in [256, 1024, 1024] reads(%a[i, k] : tensor<256x1024xf32>, %b[j, k] : tensor<1024x1024xf32>) writes([i, j] add : tensor<256x1024xf32>) attributes {lamina.op = "left"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %q = loop.generic (i, j, k) in [256, 1024, 1024] reads(%c[i, k] : tensor<256x1024xf32>, %d[j, k] : tensor<1024x1024xf32>) writes([i, j] add : tensor<256x1024xf32>) attributes {lamina.op = "right"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %r = loop.generic (i, j) in [256, 1024] reads(%p[i, j] : tensor<256x1024xf32>, %q[i, j] : tensor<256x1024xf32>) writes([i, j] store : tensor<256x1024xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    loop.yield %z : f32
  }
  func.return %r : tensor<256x1024xf32>
}
// CHECK-LABEL: @far
// CHECK:         loop.kernel
// CHECK:           lamina.op = "left"
// CHECK:         loop.kernel
// CHECK:           lamina.op = "right"
// CHECK:           lamina.op = "sum"

// -----

// Nor are the columns of a product its rows: loops over the keys of attention end within the kernel.
func.func @masked_columns(%a: tensor<32x64x64xf32>, %b: tensor<32x64x64xf32>, %m: tensor<64xi1>) -> tensor<32x64xf32> {
  %p = loop.generic (b, m, n, k) in [32, 64, 64, 64] reads(%a[b, m, k] : tensor<32x64x64xf32>, %b[b, k, n] : tensor<32x64x64xf32>) writes([b, m, n] add : tensor<32x64x64xf32>) attributes {lamina.op = "product"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (b, m, n) in [32, 64, 64] reads(%p[b, m, n] : tensor<32x64x64xf32>, %m[n] : tensor<64xi1>) writes([b, m] max : tensor<32x64xf32>) attributes {lamina.op = "masked_max"} {
  ^bb0(%x: f32, %c: i1):
    %z = arith.constant 0xFF800000 : f32
    %v = arith.select %c, %x, %z : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<32x64xf32>
}
// CHECK-LABEL: @masked_columns
// CHECK-NOT:     product -> masked_max
// CHECK:         func.return

// -----

// Windows over the result of a product would have its loops run to the bound where a call may need but a few lines: rows of
// the kernel would be the first dimension alone, and no other loop over a product ends.
func.func @windows(%a: tensor<64x64x64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64x66x64xf32> {
  %p = loop.generic (b, h, w, n, k) in [64, 64, 64, 64, 64] reads(%a[b, h, w, k] : tensor<64x64x64x64xf32>, %b[k, n] : tensor<64x64xf32>) writes([b, h, w, n] add : tensor<64x64x64x64xf32>) attributes {lamina.op = "product", lamina.least_extents = array<i64: 1, 64, 1, 64, 64>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (b, h, w, n) in [64, 64, 66, 64] reads(%p[b, h, w + -1, n] pad 0.0 : f32 : tensor<64x64x64x64xf32>) writes([b, h, w, n] store : tensor<64x64x66x64xf32>) attributes {lamina.op = "pad"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<64x64x66x64xf32>
}
// CHECK-LABEL: @windows
// CHECK:         lamina.not_fused = ["product -> pad: loops over sizes of the call would run to the bound: a reader has windows, panels or lines of them"

// -----

func.func @windows_of_numbers(%a: tensor<64x64x64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64x66x64xf32> {
  %p = loop.generic (b, h, w, n, k) in [64, 64, 64, 64, 64] reads(%a[b, h, w, k] : tensor<64x64x64x64xf32>, %b[k, n] : tensor<64x64xf32>) writes([b, h, w, n] add : tensor<64x64x64x64xf32>) attributes {lamina.op = "product", lamina.least_extents = array<i64: 1, 64, 64, 64, 64>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (b, h, w, n) in [64, 64, 66, 64] reads(%p[b, h, w + -1, n] pad 0.0 : f32 : tensor<64x64x64x64xf32>) writes([b, h, w, n] store : tensor<64x64x66x64xf32>) attributes {lamina.op = "pad"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<64x64x66x64xf32>
}
// CHECK-LABEL: @windows_of_numbers
// CHECK-NOT:     would run to the bound
// CHECK:         func.return

// -----

// Nor do loops over panels end that a nest fills with what another makes, where a call may need but a few of their columns.
func.func @panels(%x: tensor<64x64x16xf32>) -> tensor<64x2x16x32xf32> {
  %0 = loop.generic (b, n, k) in [64, 64, 16] reads(%x[b, n, k] : tensor<64x64x16xf32>) writes([b, n, k] store : tensor<64x64x16xf32>) attributes {lamina.op = "exp", lamina.least_extents = array<i64: 1, 1, 16>} {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (b, p, k, n) in [64, 2, 16, 32] reads(%0[b, p * 32 + n, k] : tensor<64x64x16xf32>) writes([b, p, k, n] store : tensor<64x2x16x32xf32>) attributes {lamina.op = "pack"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %1 : tensor<64x2x16x32xf32>
}
// CHECK-LABEL: @panels
// CHECK:         lamina.not_fused = ["exp -> pack: loops over sizes of the call would run to the bound: a reader has windows, panels or lines of them"

// -----

func.func @panels_of_numbers(%x: tensor<64x64x16xf32>) -> tensor<64x2x16x32xf32> {
  %0 = loop.generic (b, n, k) in [64, 64, 16] reads(%x[b, n, k] : tensor<64x64x16xf32>) writes([b, n, k] store : tensor<64x64x16xf32>) attributes {lamina.op = "exp", lamina.least_extents = array<i64: 1, 64, 16>} {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (b, p, k, n) in [64, 2, 16, 32] reads(%0[b, p * 32 + n, k] : tensor<64x64x16xf32>) writes([b, p, k, n] store : tensor<64x2x16x32xf32>) attributes {lamina.op = "pack"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %1 : tensor<64x2x16x32xf32>
}
// CHECK-LABEL: @panels_of_numbers
// CHECK-NOT:     would run to the bound
// CHECK:         func.return

// -----

// A product whose heads are two dimensions, where what makes its rows has one, would share rows of batches alone, and multiply all
// lines of these, of which a call may need but a few.
func.func @lines(%x: tensor<64x4x64x16xf32>, %w: tensor<64x2x1x16x32xf32>) -> tensor<64x2x2x64x32xf32> {
  %0 = loop.generic (b, h, l, k) in [64, 4, 64, 16] reads(%x[b, h, l, k] : tensor<64x4x64x16xf32>) writes([b, h, l, k] store : tensor<64x4x64x16xf32>) attributes {lamina.op = "neg", lamina.least_extents = array<i64: 1, 4, 1, 16>} {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (b, g, h, l, n, k) in [64, 2, 2, 64, 32, 16] reads(%0[b, g * 2 + h, l, k] : tensor<64x4x64x16xf32>, %w[b, g, n floordiv 32, k, n mod 32] : tensor<64x2x1x16x32xf32>) writes([b, g, h, l, n] add : tensor<64x2x2x64x32xf32>) attributes {lamina.op = "product", lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.least_extents = array<i64: 1, 2, 2, 1, 32, 16>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %1 : tensor<64x2x2x64x32xf32>
}
// CHECK-LABEL: @lines
// CHECK:         lamina.not_fused = ["neg -> product: loops over sizes of the call would run to the bound: a reader has windows, panels or lines of them"

// -----

func.func @lines_of_numbers(%x: tensor<64x4x64x16xf32>, %w: tensor<64x2x1x16x32xf32>) -> tensor<64x2x2x64x32xf32> {
  %0 = loop.generic (b, h, l, k) in [64, 4, 64, 16] reads(%x[b, h, l, k] : tensor<64x4x64x16xf32>) writes([b, h, l, k] store : tensor<64x4x64x16xf32>) attributes {lamina.op = "neg", lamina.least_extents = array<i64: 1, 4, 64, 16>} {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (b, g, h, l, n, k) in [64, 2, 2, 64, 32, 16] reads(%0[b, g * 2 + h, l, k] : tensor<64x4x64x16xf32>, %w[b, g, n floordiv 32, k, n mod 32] : tensor<64x2x1x16x32xf32>) writes([b, g, h, l, n] add : tensor<64x2x2x64x32xf32>) attributes {lamina.op = "product", lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.least_extents = array<i64: 1, 2, 2, 64, 32, 16>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %1 : tensor<64x2x2x64x32xf32>
}
// CHECK-LABEL: @lines_of_numbers
// CHECK-NOT:     would run to the bound
// CHECK:         func.return
