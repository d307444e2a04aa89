// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v4"},choose-schedule{target="x86-64-v4"},apply-schedule' --split-input-file | filecheck %s

// The call touches more than the last-level cache, and nobody reads the result again.
func.func @main(%x: memref<4194304xf32>, %y: memref<4194304xf32>) attributes {lamina.entry} {
  func.call @large(%x, %y) : (memref<4194304xf32>, memref<4194304xf32>) -> ()
  func.return
}
func.func private @large(%x: memref<4194304xf32>, %y: memref<4194304xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [4194304] reads(%x[i] : memref<4194304xf32>) writes([i] store into %y : memref<4194304xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = arith.addf %v, %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @large
// CHECK:         vector.store {{.*}} {nontemporal = true}

// -----

// Fits the caches: whoever reads the result finds it there.
func.func @main(%x: memref<65536xf32>, %y: memref<65536xf32>) attributes {lamina.entry} {
  func.call @small(%x, %y) : (memref<65536xf32>, memref<65536xf32>) -> ()
  func.return
}
func.func private @small(%x: memref<65536xf32>, %y: memref<65536xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [65536] reads(%x[i] : memref<65536xf32>) writes([i] store into %y : memref<65536xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = arith.addf %v, %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @small
// CHECK-NOT:     nontemporal = true

// -----

// A result that the next kernel reads is streamed only if it fills the last-level cache alone.
func.func @main(%x: memref<2097152xf32>, %m: memref<2097152xf32>, %y: memref<2097152xf32>) attributes {lamina.entry} {
  func.call @twice(%x, %m) : (memref<2097152xf32>, memref<2097152xf32>) -> ()
  func.call @twice(%m, %y) : (memref<2097152xf32>, memref<2097152xf32>) -> ()
  func.return
}
func.func private @twice(%x: memref<2097152xf32>, %y: memref<2097152xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [2097152] reads(%x[i] : memref<2097152xf32>) writes([i] store into %y : memref<2097152xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = arith.addf %v, %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @twice
// CHECK-NOT:     nontemporal = true

// -----

// Rows of 1028 begin anywhere: a few elements are stored first, up to where vectors are aligned.
func.func @main(%x: memref<4096x1024xf32>, %y: memref<4096x1028xf32>) attributes {lamina.entry} {
  func.call @padded(%x, %y) : (memref<4096x1024xf32>, memref<4096x1028xf32>) -> ()
  func.return
}
func.func private @padded(%x: memref<4096x1024xf32>, %y: memref<4096x1028xf32>) attributes {lamina.kernel} {
  loop.generic (r, i) in [4096, 1028] reads(%x[r, i - 2] pad 0.0 : f32 : memref<4096x1024xf32>) writes([r, i] store into %y : memref<4096x1028xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @padded
// CHECK:         %[[ROW:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK-NEXT:    %[[PAST:.*]] = arith.remui %[[ROW]], %[[LANES:.*]] : index
// CHECK-NEXT:    %[[LEFT:.*]] = arith.subi %[[LANES]], %[[PAST]] : index
// CHECK-NEXT:    %[[HEAD:.*]] = arith.remui %[[LEFT]], %[[LANES]] : index
// CHECK:         vector.maskedstore
// CHECK:         vector.store {{.*}} {nontemporal = true}
// CHECK:         vector.maskedstore

// -----

// Rows of 260 are so short that the lines two of them share are too many: no streaming.
func.func @main(%x: memref<16384x256xf32>, %y: memref<16384x260xf32>) attributes {lamina.entry} {
  func.call @short(%x, %y) : (memref<16384x256xf32>, memref<16384x260xf32>) -> ()
  func.return
}
func.func private @short(%x: memref<16384x256xf32>, %y: memref<16384x260xf32>) attributes {lamina.kernel} {
  loop.generic (r, i) in [16384, 260] reads(%x[r, i - 2] pad 0.0 : f32 : memref<16384x256xf32>) writes([r, i] store into %y : memref<16384x260xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @short
// CHECK-NOT:     nontemporal
// CHECK:         func.return

// -----

// Rows of 256 are aligned throughout.
func.func @main(%x: memref<16384x256xf32>, %y: memref<16384x256xf32>) attributes {lamina.entry} {
  func.call @whole(%x, %y) : (memref<16384x256xf32>, memref<16384x256xf32>) -> ()
  func.return
}
func.func private @whole(%x: memref<16384x256xf32>, %y: memref<16384x256xf32>) attributes {lamina.kernel} {
  loop.generic (r, i) in [16384, 256] reads(%x[r, i - 2] pad 0.0 : f32 : memref<16384x256xf32>) writes([r, i] store into %y : memref<16384x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @whole
// CHECK-NOT:     vector.maskedstore
// CHECK:         vector.store {{.*}} {nontemporal = true}

// -----

// Rows end at a number of the call. Of 32 KB each, read and written, 512 of 4,096 just fill the last-level cache, and
// their own number of bytes must be a part of it.
func.func @main(%x: memref<4096x4096xf32>, %n: memref<i64>, %y: memref<4096x4096xf32>) attributes {lamina.entry} {
  func.call @open(%x, %n, %y) : (memref<4096x4096xf32>, memref<i64>, memref<4096x4096xf32>) -> ()
  func.return
}
func.func private @open(%x: memref<4096x4096xf32>, %n: memref<i64>, %y: memref<4096x4096xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [4096, 4096] reads(%x[i, j] : memref<4096x4096xf32>) writes([i, j] store into %y : memref<4096x4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 4096]>} {
  ^bb0(%v: f32):
    %u = arith.addf %v, %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @open
// CHECK:         %[[FROM:.*]] = arith.constant 513 : index
// CHECK:         %[[PAST:.*]] = arith.cmpi uge, %{{.*}}, %[[FROM]] : index
// CHECK:         scf.if %[[PAST]] {
// CHECK-NEXT:      vector.store {{.*}} {nontemporal = true}
// CHECK-NEXT:    } else {
// CHECK-NEXT:      vector.store %{{.*}} : memref
// CHECK-NEXT:    }

// -----

// All rows count: nothing is asked in the call.
func.func @main(%x: memref<4096x4096xf32>, %y: memref<4096x4096xf32>) attributes {lamina.entry} {
  func.call @known(%x, %y) : (memref<4096x4096xf32>, memref<4096x4096xf32>) -> ()
  func.return
}
func.func private @known(%x: memref<4096x4096xf32>, %y: memref<4096x4096xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [4096, 4096] reads(%x[i, j] : memref<4096x4096xf32>) writes([i, j] store into %y : memref<4096x4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<nontemporal = [0], nontemporal_from = 4097>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @known
// CHECK-NOT:     nontemporal = true

// -----

// What just fits the caches does so beside a number at which rows end, too.
func.func @main(%x: memref<2048x1024xf32>, %n: memref<i64>, %y: memref<2048x1024xf32>) attributes {lamina.entry} {
  func.call @full(%x, %n, %y) : (memref<2048x1024xf32>, memref<i64>, memref<2048x1024xf32>) -> ()
  func.return
}
func.func private @full(%x: memref<2048x1024xf32>, %n: memref<i64>, %y: memref<2048x1024xf32>) attributes {lamina.kernel} {
  loop.generic (r, i) in [2048, 1024] reads(%x[r, i] : memref<2048x1024xf32>) writes([r, i] store into %y : memref<2048x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 2048, 1024]>} {
  ^bb0(%v: f32):
    %u = arith.addf %v, %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @full
// CHECK-NOT:     nontemporal
// CHECK:         func.return
