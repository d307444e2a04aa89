// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4;cores=2;l2_bytes=2097152"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4;cores=2;l2_bytes=2097152"},apply-schedule' --split-input-file | filecheck %s --check-prefix LOOPS

// Blocks of rows are whole register tiles: 14 blocks of 126 rows, in tiles of 9, and not 13 of 122.
// CHECK-LABEL: @rows
// CHECK-SAME:    #loop.products<parallel, block = 126, columns = 2>
// CHECK:         jam = d0 x 9
func.func private @rows(%a: memref<1576x768xf32>, %b: memref<16x768x48xf32>, %out: memref<1576x768xf32>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [1576, 768, 768] reads(%a[i, k] : memref<1576x768xf32>, %b[j floordiv 48, k, j mod 48] : memref<16x768x48xf32>) writes([i, j] add into %out : memref<1576x768xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 48>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// Half of 197 rows is 11 tiles of 9 exactly.
// CHECK-LABEL: @few
// CHECK-SAME:    block = 99
// CHECK:         jam = d0 x 9
func.func private @few(%a: memref<197x768xf32>, %b: memref<16x768x48xf32>, %out: memref<197x768xf32>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [197, 768, 768] reads(%a[i, k] : memref<197x768xf32>, %b[j floordiv 48, k, j mod 48] : memref<16x768x48xf32>) writes([i, j] add into %out : memref<197x768xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 48>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// Rows of 4,096 bytes share sets of the nearest cache and are copied, which columns apart would repeat: there are two tasks.
// CHECK-LABEL: @copied
// CHECK-SAME:    #loop.products<parallel, block = 99>
// CHECK:         cache_read = [0]
func.func private @copied(%a: memref<196x1024xf32>, %b: memref<8x1024x32xf32>, %out: memref<196x256xf32>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [196, 256, 1024] reads(%a[i, k] : memref<196x1024xf32>, %b[j floordiv 32, k, j mod 32] : memref<8x1024x32xf32>) writes([i, j] add into %out : memref<196x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// A long sum, whose tasks copy rows, too: six blocks of rows for two cores, in whole tiles of 8, and not three.
// CHECK-LABEL: @long
// CHECK-SAME:    #loop.products<parallel, block = 200>
func.func private @long(%a: memref<1200x3072xf32>, %b: memref<16x3072x48xf32>, %out: memref<1200x768xf32>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [1200, 768, 3072] reads(%a[i, k] : memref<1200x3072xf32>, %b[j floordiv 48, k, j mod 48] : memref<16x3072x48xf32>) writes([i, j] add into %out : memref<1200x768xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 48>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// What stands alone between two products takes the place of what it reads: 3,088 elements of a row and no more.
// CHECK-LABEL: @between
// CHECK-SAME:    compute_at = block, block = 61>
// LOOPS-LABEL: @between
// LOOPS-COUNT-1: memref.alloca() {alignment = 64 : i64} : memref<188368xf32>
// LOOPS-NOT:     memref.alloca() {alignment = 64 : i64} : memref<188368xf32>
func.func private @between(%a: memref<1576x768xf32>, %b: memref<64x768x48xf32>, %c: memref<16x3072x48xf32>, %out: memref<1576x768xf32>) attributes {lamina.kernel} {
  %p = memref.alloc() : memref<1576x3072xf32>
  %q = memref.alloc() : memref<1576x3072xf32>
  loop.generic (i, j, k) in [1576, 3072, 768] reads(%a[i, k] : memref<1576x768xf32>, %b[j floordiv 48, k, j mod 48] : memref<64x768x48xf32>) writes([i, j] add into %p : memref<1576x3072xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 48>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  loop.generic (i, j) in [1576, 3072] reads(%p[i, j] : memref<1576x3072xf32>) writes([i, j] store into %q : memref<1576x3072xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    %e = math.erf %x : f32
    %v = arith.mulf %x, %e : f32
    loop.yield %v : f32
  }
  loop.generic (i, j, k) in [1576, 768, 3072] reads(%q[i, k] : memref<1576x3072xf32>, %c[j floordiv 48, k, j mod 48] : memref<16x3072x48xf32>) writes([i, j] add into %out : memref<1576x768xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 48>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// Lines of an image that every access walks as one are one row of 196, not 14 blocks of 14.
// CHECK-LABEL: @lines
// CHECK-SAME:    #loop.products<parallel, block = 99>
func.func private @lines(%a: memref<14x14x512xf32>, %b: memref<16x512x32xf32>, %out: memref<14x14x512xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, j, k) in [14, 14, 512, 512] reads(%a[y, x, k] : memref<14x14x512xf32>, %b[j floordiv 32, k, j mod 32] : memref<16x512x32xf32>) writes([y, x, j] add into %out : memref<14x14x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// Of an image that is walked in steps of two, images and lines could be joined, but not lines and columns: these stay apart, as
// a task walks the lines of one image.
// CHECK-LABEL: @steps
// CHECK-SAME:    #loop.products<parallel, block = 7, columns = 64, inner_rows = 1>
// LOOPS-LABEL: @steps
// LOOPS-DAG:     [[TASKS:%[0-9]+]] = arith.constant 512 : index
// LOOPS:         "scf.parallel"(%{{[0-9]+}}, [[TASKS]],
func.func private @steps(%a: memref<8x14x14x1024xf32>, %b: memref<64x1024x32xf32>, %out: memref<8x7x7x2048xf32>) attributes {lamina.kernel} {
  loop.generic (n, y, x, j, k) in [8, 7, 7, 2048, 1024] reads(%a[n, 2 * y, 2 * x, k] : memref<8x14x14x1024xf32>, %b[j floordiv 32, k, j mod 32] : memref<64x1024x32xf32>) writes([n, y, x, j] add into %out : memref<8x7x7x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// Rows that walk keys in blocks of 1,024 are whole register tiles, too: 34 blocks of 121, not 32 of 128.
// CHECK-LABEL: @keys
// CHECK-SAME:    compute_at = block, block = 121>
// CHECK:         jam = d0 x 11
func.func private @keys(%q: memref<4096x64xf32>, %k: memref<128x64x32xf32>, %v: memref<2x4096x32xf32>, %out: memref<4096x64xf32>) attributes {lamina.kernel} {
  %s = memref.alloc() : memref<4096x4096xf32>
  %m = memref.alloc() : memref<4096xf32>
  %e = memref.alloc() : memref<4096x4096xf32>
  %t = memref.alloc() : memref<4096xf32>
  %o = memref.alloc() : memref<4096x64xf32>
  loop.generic (i, j, f) in [4096, 4096, 64] reads(%q[i, f] : memref<4096x64xf32>, %k[j floordiv 32, f, j mod 32] : memref<128x64x32xf32>) writes([i, j] add into %s : memref<4096x4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.stream = #loop.stream<1, block 1024>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  loop.generic (i, j) in [4096, 4096] reads(%s[i, j] : memref<4096x4096xf32>) writes([i] max into %m : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.stream = #loop.stream<1, block 1024>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  loop.generic (i, j) in [4096, 4096] reads(%s[i, j] : memref<4096x4096xf32>, %m[i] : memref<4096xf32>) writes([i, j] store into %e : memref<4096x4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.stream = #loop.stream<1, block 1024>} {
  ^bb0(%x: f32, %l: f32):
    %z = arith.subf %x, %l : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  loop.generic (i, j) in [4096, 4096] reads(%e[i, j] : memref<4096x4096xf32>) writes([i] add into %t : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.stream = #loop.stream<1, block 1024>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  loop.generic (i, f, j) in [4096, 64, 4096] reads(%e[i, j] : memref<4096x4096xf32>, %v[f floordiv 32, j, f mod 32] : memref<2x4096x32xf32>) writes([i, f] add into %o : memref<4096x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.stream = #loop.stream<2, block 1024>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  loop.generic (i, f) in [4096, 64] reads(%o[i, f] : memref<4096x64xf32>, %t[i] : memref<4096xf32>) writes([i, f] store into %out : memref<4096x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    loop.yield %z : f32
  }
  func.return
}

// -----

// One panel of columns, which each task packs: cores share the rows, if these are many enough.
func.func private @narrow(%a: memref<128x1024xf32>, %b: memref<1024x32xf32>, %c: memref<128x32xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [128, 32, 1024] reads(%a[m, k] : memref<128x1024xf32>, %b[k, n] : memref<1024x32xf32>) writes([m, n] add into %c : memref<128x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = task>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @narrow
// CHECK-SAME:    #loop.products<parallel, block = 64>

// -----

// As many panels as cores are tasks enough.
func.func private @panels(%a: memref<64x1024xf32>, %b: memref<1024x2048xf32>, %c: memref<64x2048xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [64, 2048, 1024] reads(%a[m, k] : memref<64x1024xf32>, %b[k, n] : memref<1024x2048xf32>) writes([m, n] add into %c : memref<64x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = task>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @panels
// CHECK-SAME:    block = 64, columns = 2

// -----

// Seven panels are no equal shares of two cores: these share the rows, and take all panels each.
func.func private @seven(%a: memref<384x512xf32>, %b: memref<512x197xf32>, %c: memref<384x197xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [384, 197, 512] reads(%a[m, k] : memref<384x512xf32>, %b[k, n] : memref<512x197xf32>) writes([m, n] add into %c : memref<384x197xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = task>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @seven
// CHECK-SAME:    #loop.products<parallel, block = 192>
