// RUN: lamina-opt %s -p 'choose-schedule{target="sapphirerapids"}' --split-input-file | filecheck %s

// A long sum whose columns each task packs is taken in blocks, of which rows are copied.
func.func private @long(%a: memref<512x3072xbf16>, %b: memref<3072x96xbf16>, %c: memref<512x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [512, 96, 3072] reads(%a[m, k] : memref<512x3072xbf16>, %b[k, n] : memref<3072x96xbf16>) writes([m, n] add into %c : memref<512x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @long
// CHECK-SAME:    block = 512
// CHECK:         #loop.schedule<terms = 256, cache_read = [0]>

// -----

// A shorter one is read as it stands, block by block, and the next block of columns is packed beside.
func.func private @shorter(%a: memref<512x768xbf16>, %b: memref<768x96xbf16>, %c: memref<512x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [512, 96, 768] reads(%a[m, k] : memref<512x768xbf16>, %b[k, n] : memref<768x96xbf16>) writes([m, n] add into %c : memref<512x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @shorter
// CHECK:         #loop.schedule<terms = 256, double_buffer, prefetch_rows = 16>

// -----

// A sum that fills no whole tiles is packed at once.
func.func private @in_part(%a: memref<512x780xbf16>, %b: memref<780x96xbf16>, %c: memref<512x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [512, 96, 780] reads(%a[m, k] : memref<512x780xbf16>, %b[k, n] : memref<780x96xbf16>) writes([m, n] add into %c : memref<512x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @in_part
// CHECK:         #loop.schedule<terms = 224>

// -----

// One that fits the nearest cache is not, nor is one of few rows.
func.func private @short(%a: memref<512x256xbf16>, %b: memref<256x96xbf16>, %c: memref<512x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [512, 96, 256] reads(%a[m, k] : memref<512x256xbf16>, %b[k, n] : memref<256x96xbf16>) writes([m, n] add into %c : memref<512x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @short
// CHECK-NOT:     tile =

// -----

func.func private @few_rows(%a: memref<8x3072xbf16>, %b: memref<3072x96xbf16>, %c: memref<8x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [8, 96, 3072] reads(%a[m, k] : memref<8x3072xbf16>, %b[k, n] : memref<3072x96xbf16>) writes([m, n] add into %c : memref<8x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @few_rows
// CHECK-NOT:     tile =

// -----

// Columns of f32 that tasks pack from lines are packed several panels at a time.
func.func private @panels(%a: memref<20x64xf32>, %b: memref<64x2048xf16>, %c: memref<20x2048xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [20, 2048, 64] reads(%a[m, k] : memref<20x64xf32>, %b[k, n] : memref<64x2048xf16>) writes([m, n] add into %c : memref<20x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pack_at = task>} {
  ^bb0(%p: f32, %h: f16):
    %q = arith.extf %h : f16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @panels
// CHECK:         tile = d1 x 128

// -----

// Each line of a small image would read 295 KB of each panel. A task walks all lines by blocks of 16 KB, which stay in the
// nearest cache.
func.func private @lines(%a: memref<9x9x512xbf16>, %b: memref<32x3x3x256x16x2xbf16>, %c: memref<7x7x512xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, r, s, k) in [7, 7, 512, 3, 3, 512] reads(%a[y + r, x + s, k] : memref<9x9x512xbf16>, %b[n floordiv 16, r, s, k floordiv 2, n mod 16, k mod 2] : memref<32x3x3x256x16x2xbf16>) writes([y, x, n] add into %c : memref<7x7x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @lines
// CHECK-SAME:    columns = 16, inner_rows = 1
// CHECK:         #loop.schedule<terms = 256>

// -----

// A sum over one dimension is taken in equal blocks, of 224 terms for 640. Lines are padded, so that no access walks them as one.
func.func private @pixels(%a: memref<14x15x640xbf16>, %b: memref<32x320x16x2xbf16>, %c: memref<14x14x512xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, k) in [14, 14, 512, 640] reads(%a[y, x, k] : memref<14x15x640xbf16>, %b[n floordiv 16, k floordiv 2, n mod 16, k mod 2] : memref<32x320x16x2xbf16>) writes([y, x, n] add into %c : memref<14x14x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @pixels
// CHECK-SAME:    columns = 16, inner_rows = 1
// CHECK:         #loop.schedule<terms = 224>

// -----

// Panels that stay near as they are leave lines to tasks.
func.func private @few_channels(%a: memref<28x28x128xbf16>, %b: memref<8x64x16x2xbf16>, %c: memref<28x28x128xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, k) in [28, 28, 128, 128] reads(%a[y, x, k] : memref<28x28x128xbf16>, %b[n floordiv 16, k floordiv 2, n mod 16, k mod 2] : memref<8x64x16x2xbf16>) writes([y, x, n] add into %c : memref<28x28x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @few_channels
// CHECK-NOT:     inner_rows
