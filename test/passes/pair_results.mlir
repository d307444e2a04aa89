// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v3"},choose-schedule{target="x86-64-v3"},apply-schedule' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v3"}' --split-input-file | filecheck %s --check-prefix=LIVE

// Parts of complex numbers: vectors of each, shuffled into what is stored; the last ones are masked.
func.func private @complex(%a: memref<20x100xf32>, %b: memref<100xf32>, %y: memref<20x100x2xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1, d2) in [20, 100, 2] reads(%a[d0, d1] : memref<20x100xf32>, %b[d1] : memref<100xf32>) writes([d0, d1, d2] store into %y : memref<20x100x2xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%r: f32, %i: f32):
    %part = loop.index 2 : index
    %zero = arith.constant 0 : index
    %real = arith.cmpi eq, %part, %zero : index
    %v = arith.select %real, %r, %i : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @complex
// CHECK-NOT:     arith.select
// CHECK:         [[R:%\S+]] = vector.load {{.*}} vector<8xf32>
// CHECK-NEXT:    [[I:%\S+]] = vector.load {{.*}} vector<8xf32>
// CHECK:         vector.shuffle [[R]], [[I]] [0, 8, 1, 9, 2, 10, 3, 11]
// CHECK-NEXT:    vector.store
// CHECK-NEXT:    vector.shuffle [[R]], [[I]] [4, 12, 5, 13, 6, 14, 7, 15]
// CHECK:         vector.store
// CHECK:         vector.maskedload
// CHECK:         vector.maskedstore

// -----

// Pairs that are read as they are written stay one run of memory.
func.func private @run(%a: memref<20x100x2xf32>, %y: memref<20x100x2xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1, d2) in [20, 100, 2] reads(%a[d0, d1, d2] : memref<20x100x2xf32>) writes([d0, d1, d2] store into %y : memref<20x100x2xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%v: f32):
    %w = arith.addf %v, %v : f32
    loop.yield %w : f32
  }
  func.return
}
// CHECK-LABEL:   @run
// CHECK-NOT:     vector.shuffle
// CHECK:         vector.store

// -----

// A few pairs would fill no vector.
func.func private @short(%a: memref<20x3xf32>, %b: memref<3xf32>, %y: memref<20x3x2xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1, d2) in [20, 3, 2] reads(%a[d0, d1] : memref<20x3xf32>, %b[d1] : memref<3xf32>) writes([d0, d1, d2] store into %y : memref<20x3x2xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%r: f32, %i: f32):
    %part = loop.index 2 : index
    %zero = arith.constant 0 : index
    %real = arith.cmpi eq, %part, %zero : index
    %v = arith.select %real, %r, %i : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @short
// CHECK-NOT:     vector.shuffle

// -----

// Parts that lie along another dimension are turned, where that fills a tile.
func.func private @turned(%re: memref<40x64xf32>, %im: memref<40x64xf32>, %out: memref<64x40x2xf32>) attributes {lamina.kernel} {
  loop.generic (r, k, p) in [64, 40, 2] reads(%re[k, r] : memref<40x64xf32>, %im[k, r] : memref<40x64xf32>) writes([r, k, p] store into %out : memref<64x40x2xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%x: f32, %y: f32):
    %i = loop.index 2 : index
    %zero = arith.constant 0 : index
    %first = arith.cmpi eq, %i, %zero : index
    %v = arith.select %first, %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @turned
// CHECK-NOT:     arith.select
// CHECK:         vector.shuffle {{.*}} [0, 8, 2, 10, 4, 12, 6, 14]
// CHECK:         vector.shuffle {{.*}} [0, 8, 1, 9, 2, 10, 3, 11]
// CHECK-NEXT:    vector.store

// -----

// Parts in jumps along both are not.
func.func private @jumps(%re: memref<40x64x5xf32>, %im: memref<40x64x5xf32>, %out: memref<64x40x2xf32>) attributes {lamina.kernel} {
  loop.generic (r, k, p) in [64, 40, 2] reads(%re[k, r, 0] : memref<40x64x5xf32>, %im[k, r, 0] : memref<40x64x5xf32>) writes([r, k, p] store into %out : memref<64x40x2xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%x: f32, %y: f32):
    %i = loop.index 2 : index
    %zero = arith.constant 0 : index
    %first = arith.cmpi eq, %i, %zero : index
    %v = arith.select %first, %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @jumps
// CHECK-NOT:     vector.shuffle
// CHECK:         memref.load
// CHECK-NOT:     vector.shuffle
// CHECK:         vector<2xf32>

// -----

// Rows that do not count still do not, where another nest has the same ones.
func.func private @live(%a: memref<256x2x32xf32>, %n: memref<i64>, %s: memref<256xf32>, %y: memref<256x32x2xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1, d2) in [256, 2, 32] reads(%a[d0, d1, d2] : memref<256x2x32xf32>) writes([d0] add into %s : memref<256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 256]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (d0, d1, d2) in [256, 32, 2] reads(%a[d0, d2, d1] : memref<256x2x32xf32>, %s[d0] : memref<256xf32>) writes([d0, d1, d2] store into %y : memref<256x32x2xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 256]>} {
  ^bb0(%v: f32, %t: f32):
    %w = arith.mulf %v, %t : f32
    loop.yield %w : f32
  }
  func.return
}
// CHECK-LABEL:   @live
// CHECK:         vector.shuffle {{.*}} [0, 8, 1, 9, 2, 10, 3, 11]

// -----

// Rows that count still do, where both parts are one row.
func.func private @counted(%a: memref<20x100xf32>, %b: memref<100xf32>, %n: memref<i64>, %y: memref<20x100x2xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1, d2) in [20, 100, 2] reads(%a[d0, d1] : memref<20x100xf32>, %b[d1] : memref<100xf32>) writes([d0, d1, d2] store into %y : memref<20x100x2xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg2 of 20, 100, 2]>} {
  ^bb0(%r: f32, %i: f32):
    %part = loop.index 2 : index
    %zero = arith.constant 0 : index
    %real = arith.cmpi eq, %part, %zero : index
    %v = arith.select %real, %r, %i : f32
    loop.yield %v : f32
  }
  func.return
}
// LIVE-LABEL:   @counted
// LIVE:         lamina.nest = #loop.nest<rows = [d0, d1], live = [arg2 of 20, 100], interleave>

// -----

// Where the parts are said to end at a number, that is forgotten.
func.func private @part(%a: memref<20x100xf32>, %b: memref<100xf32>, %n: memref<i64>, %y: memref<20x100x2xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1, d2) in [20, 100, 2] reads(%a[d0, d1] : memref<20x100xf32>, %b[d1] : memref<100xf32>) writes([d0, d1, d2] store into %y : memref<20x100x2xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [2000, arg2 of 2]>} {
  ^bb0(%r: f32, %i: f32):
    %part = loop.index 2 : index
    %zero = arith.constant 0 : index
    %real = arith.cmpi eq, %part, %zero : index
    %v = arith.select %real, %r, %i : f32
    loop.yield %v : f32
  }
  func.return
}
// LIVE-LABEL:   @part
// LIVE:         lamina.nest = #loop.nest<rows = [d0, d1], interleave>
