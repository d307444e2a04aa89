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
