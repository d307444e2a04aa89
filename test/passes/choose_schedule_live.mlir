// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' | filecheck %s --check-prefix CHOSEN
// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"},apply-schedule' | filecheck %s

// Rows that count are divided among threads by how many they are in the call: the blocks of each position in front of
// them are a multiple of the threads, if tasks are few.
// CHOSEN-LABEL: @project
// CHOSEN-SAME:    #loop.products<parallel, block = 128, num_threads = 16
// What whole tiles leave over of them is computed in smaller tiles.
// CHOSEN:         jam = d0 x 8, tail = [4, 3, 2, 1]
// CHECK-LABEL: @project
// CHECK:         %[[N:[0-9]+]] = arith.minsi
// CHECK:         %[[THREADS:[0-9]+]] = loop.num_threads : index
// CHECK:         %[[TEAM:[0-9]+]] = arith.minsi %[[THREADS]], %{{[0-9]+}}
// CHECK:         arith.muli %{{[0-9]+}}, %[[TEAM]]
// CHECK:         %[[BLOCKS:[0-9]+]] = arith.select
// Where each block has four tiles of eight rows, they are dealt out in whole ones.
// CHECK:         %[[TILES:[0-9]+]] = arith.divui %{{[0-9]+}}, %{{[0-9]+}} : index
// CHECK:         arith.muli %[[BLOCKS]], %{{[0-9]+}}
// CHECK:         %[[UNIT:[0-9]+]] = arith.select %[[SHORT:[0-9]+]], %{{[0-9]+}}, %{{[0-9]+}} : index
// CHECK:         %[[PARTS:[0-9]+]] = arith.select %[[SHORT]], %[[N]], %[[TILES]] : index
// CHECK:         scf.parallel
// CHECK:           arith.muli %{{[0-9]+}}, %[[PARTS]]
// CHECK:           %[[PART:[0-9]+]] = arith.divui %{{[0-9]+}}, %[[BLOCKS]]
// CHECK:           %[[LOW:[0-9]+]] = arith.muli %[[PART]], %[[UNIT]]
// CHECK:           arith.minsi %[[LOW]], %[[N]]
func.func private @project(%a: memref<256x512xf32>, %b: memref<16x512x32xf32>, %n: memref<i64>, %c: memref<256x512xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [256, 512, 512] reads(%a[m, k] : memref<256x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x512x32xf32>) writes([m, n] add into %c : memref<256x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 256]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// Where calls have as many rows as a tile at least, blocks of whole ones are, the last of which is moved up: here each of up to 16 images has 16 rows. Of up to 64 there are 4 each, of which one call fills no tile.
// CHOSEN-LABEL: @filled
// CHOSEN-SAME:    num_threads = 16
// CHOSEN:         jam = d0 x 8
// CHOSEN-NOT:     tail
// CHOSEN-LABEL: @not_filled
// CHOSEN-SAME:    num_threads = 16
// CHOSEN:         jam = d0 x 8, tail = [4, 3, 2, 1]
func.func private @filled(%a: memref<256x512xf32>, %b: memref<16x512x32xf32>, %n: memref<i64>, %c: memref<256x512xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [256, 512, 512] reads(%a[m, k] : memref<256x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x512x32xf32>) writes([m, n] add into %c : memref<256x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 16, 16]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @not_filled(%a: memref<256x512xf32>, %b: memref<16x512x32xf32>, %n: memref<i64>, %c: memref<256x512xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [256, 512, 512] reads(%a[m, k] : memref<256x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x512x32xf32>) writes([m, n] add into %c : memref<256x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 64, 4]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// CHOSEN-LABEL: @known
// CHOSEN-NOT:     num_threads
// CHOSEN-NOT:     tail
func.func private @known(%a: memref<256x512xf32>, %b: memref<16x512x32xf32>, %c: memref<256x512xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [256, 512, 512] reads(%a[m, k] : memref<256x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x512x32xf32>) writes([m, n] add into %c : memref<256x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// Rows that count are reduced four at a time where they are in front of all others, not where they lie apart: those
// between would have to run.
// CHOSEN-LABEL: @in_front
// CHOSEN-SAME:    #loop.rows<{{.*}}jam = 4
func.func private @in_front(%a: memref<65536x128xf32>, %n: memref<i64>, %c: memref<65536xf32>) attributes {lamina.kernel} {
  loop.generic (m, k) in [65536, 128] reads(%a[m, k] : memref<65536x128xf32>) writes([m] max into %c : memref<65536xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 65536]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return
}
// CHOSEN-LABEL: @apart
// CHOSEN-NOT:     jam
func.func private @apart(%a: memref<256x256x128xf32>, %n: memref<i64>, %m: memref<i64>, %c: memref<256x256xf32>) attributes {lamina.kernel} {
  loop.generic (b, m, k) in [256, 256, 128] reads(%a[b, m, k] : memref<256x256x128xf32>) writes([b, m] max into %c : memref<256x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 256, arg2 of 256]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return
}

// Nor where what they reduce ends at a number of the call: rows side by side and those that are left would be two nests.
// CHOSEN-LABEL: @ended
// CHOSEN-NOT:     jam
func.func private @ended(%a: memref<65536x128xf32>, %n: memref<i64>, %k: memref<i64>, %c: memref<65536xf32>, %b: memref<128xi1>) attributes {lamina.kernel, lamina.masks = array<i64: 4, 2>} {
  loop.generic (m, k) in [65536, 128] reads(%b[k] : memref<128xi1>, %a[m, k] : memref<65536x128xf32>) writes([m] max into %c : memref<65536xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 65536]>, lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [2]>]} {
  ^bb0(%counts: i1, %x: f32):
    %low = arith.constant 0xFF800000 : f32
    %y = arith.select %counts, %x, %low : f32
    loop.yield %y : f32
  }
  func.return
}

// Rows of two sizes are not walked as one loop, which could end at the first one only: tasks are positions of the first,
// in pieces of the loop over the second, which ends where that does.
// CHOSEN-LABEL: @two_sizes
// CHOSEN-SAME:    #loop.rows<parallel, inner = [1], tile = 1024>
// CHECK-LABEL: @two_sizes
// CHECK:         scf.parallel
// CHECK:           %[[END:[0-9]+]] = arith.minsi
// CHECK-NEXT:      %[[HIGH:[0-9]+]] = arith.maxsi %[[END]], %[[LOW:[0-9]+]] : index
// CHECK-NEXT:      scf.for %{{[0-9]+}} = %[[LOW]] to %[[HIGH]] step
func.func private @two_sizes(%x: memref<64x512x128xf32>, %b: memref<i64>, %n: memref<i64>, %y: memref<64x512x128xf32>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [64, 512, 128] reads(%x[i, j, k] : memref<64x512x128xf32>) writes([i, j, k] store into %y : memref<64x512x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg1 of 64, arg2 of 512, 128]>} {
  ^bb0(%v: f32):
    %u = math.exp %v : f32
    loop.yield %u : f32
  }
  func.return
}

// With one size in front all is one loop.
// CHOSEN-LABEL: @one_size
// CHOSEN-SAME:    #loop.rows<parallel, inner = [0], tile = 8192>
func.func private @one_size(%x: memref<64x512x128xf32>, %b: memref<i64>, %y: memref<64x512x128xf32>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [64, 512, 128] reads(%x[i, j, k] : memref<64x512x128xf32>) writes([i, j, k] store into %y : memref<64x512x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg1 of 64, 512, 128]>} {
  ^bb0(%v: f32):
    %u = math.exp %v : f32
    loop.yield %u : f32
  }
  func.return
}
// Where columns lie apart, a task takes few of short sums: the last one runs whole, whatever counts.
// CHOSEN-LABEL: @short_sums
// CHOSEN-SAME:    #loop.rows<parallel, inner = [0], tile = 1024>
func.func private @short_sums(%a: memref<1024x256x8xf32>, %n: memref<i64>, %m: memref<i64>, %c: memref<1024x256xf32>) attributes {lamina.kernel} {
  loop.generic (b, m, k) in [1024, 256, 8] reads(%a[b, m, k] : memref<1024x256x8xf32>) writes([b, m] add into %c : memref<1024x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 1024, arg2 of 256]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return
}
// CHOSEN-LABEL: @known_short_sums
// CHOSEN-SAME:    tile = 16384
func.func private @known_short_sums(%a: memref<1024x256x8xf32>, %c: memref<1024x256xf32>) attributes {lamina.kernel} {
  loop.generic (b, m, k) in [1024, 256, 8] reads(%a[b, m, k] : memref<1024x256x8xf32>) writes([b, m] add into %c : memref<1024x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return
}

// A loop of one position beside rows takes nothing from them: two that end at numbers are not joined, so that both end.
// CHOSEN-LABEL: @panels
// CHOSEN-SAME:    #loop.rows<parallel, inner = [1]>
func.func private @panels(%a: memref<4096x16x16xf32>, %n: memref<i64>, %m: memref<i64>, %c: memref<64x64x1x16x16xf32>) attributes {lamina.kernel} {
  loop.generic (b, h, g, k, j) in [64, 64, 1, 16, 16] reads(%a[b * 64 + h, k, g * 16 + j] : memref<4096x16x16xf32>) writes([b, h, g, k, j] store into %c : memref<64x64x1x16x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d3, d4], live = [arg1 of 64, arg2 of 64, 16, 16]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return
}
