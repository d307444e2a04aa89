// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' | filecheck %s
// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"},apply-schedule' | filecheck %s --check-prefix LOOPS

// A panel of many terms leaves the caches before the next rows read it: the sum is taken in blocks.
// CHECK-LABEL: @long
// CHECK-SAME:    #loop.products<parallel, block = 150, columns = 4>
// CHECK:         terms = 192, cache_read = [0], prefetch = [1], prefetch_bytes = 2048, prefetch_panels = 1>

// The sums of a task's panel, and the copied rows of a block: 192 terms, and a line that keeps rows apart.
// LOOPS-LABEL: @long
// LOOPS-DAG:     memref.alloca() {alignment = 64 : i64} : memref<4800xf32>
// LOOPS-DAG:     memref.alloca() {alignment = 64 : i64} : memref<31200xf32>
func.func private @long(%a: memref<300x16384xf32>, %b: memref<4x16384x32xf32>, %out: memref<300x128xf32>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [300, 128, 16384] reads(%a[i, k] : memref<300x16384xf32>, %b[j floordiv 32, k, j mod 32] : memref<4x16384x32xf32>) writes([i, j] add into %out : memref<300x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// CHECK-LABEL: @short
// CHECK-NOT:     terms =
func.func private @short(%a: memref<300x1024xf32>, %b: memref<4x1024x32xf32>, %out: memref<300x128xf32>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [300, 128, 1024] reads(%a[i, k] : memref<300x1024xf32>, %b[j floordiv 32, k, j mod 32] : memref<4x1024x32xf32>) writes([i, j] add into %out : memref<300x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// Columns that are read where they stand: blocks of terms stay in the nearest cache, and on few pages, whatever the rows.
func.func private @in_place(%a: memref<4x3072xf32>, %b: memref<3072x768xf32>, %c: memref<4x768xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [4, 768, 3072] reads(%a[m, k] : memref<4x3072xf32>, %b[k, n] : memref<3072x768xf32>) writes([m, n] add into %c : memref<4x768xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 64, pack_at = call>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @in_place
// CHECK:         terms = {{[0-9]+}}
