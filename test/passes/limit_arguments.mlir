// RUN: lamina-opt %s -p limit-arguments --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-arguments,limit-arguments --split-input-file | filecheck %s

// Rows are tasks, of which the live ones are run: nothing behind these is touched. What all rows share has no end.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<128x8xf32> {lamina.limits = [2 : i64, -1 : i64]}
// CHECK-SAME:    %w: memref<8xf32>, %n:
// CHECK-SAME:    %y: memref<128x8xf32> {lamina.kind = "output", lamina.limits = [2 : i64, -1 : i64]}
func.func @main(%x: memref<128x8xf32>, %w: memref<8xf32>, %n: memref<i64> {lamina.kind = "input"}, %y: memref<128x8xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @rows(%x, %w, %n, %y) : (memref<128x8xf32>, memref<8xf32>, memref<i64>, memref<128x8xf32>) -> ()
  func.return
}
func.func private @rows(%x: memref<128x8xf32>, %w: memref<8xf32>, %n: memref<i64>, %y: memref<128x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j) in [128, 8] reads(%x[i, j] : memref<128x8xf32>, %w[j] : memref<8xf32>) writes([i, j] store into %y : memref<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 128]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return
}

// -----

// Several sizes, a view, and what two kernels agree on; the second result is written whole.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<4x32x8xf32> {lamina.limits = [1 : i64, 2 : i64, -1 : i64]}
// CHECK-SAME:    %y: memref<4x256xf32> {lamina.kind = "output", lamina.limits = [1 : i64, -1 : i64]}
// CHECK-SAME:    %z: memref<4x32xf32> {lamina.kind = "output"}
func.func @main(%x: memref<4x32x8xf32>, %b: memref<i64> {lamina.kind = "input"}, %n: memref<i64> {lamina.kind = "input"}, %y: memref<4x256xf32> {lamina.kind = "output"}, %z: memref<4x32xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  %0 = loop.reshape %y : memref<4x256xf32> -> memref<4x32x8xf32>
  func.call @copy(%x, %n, %b, %0) : (memref<4x32x8xf32>, memref<i64>, memref<i64>, memref<4x32x8xf32>) -> ()
  func.call @first(%x, %b, %n, %z) : (memref<4x32x8xf32>, memref<i64>, memref<i64>, memref<4x32xf32>) -> ()
  func.call @zero(%z) : (memref<4x32xf32>) -> ()
  func.return
}
func.func private @copy(%x: memref<4x32x8xf32>, %n: memref<i64>, %b: memref<i64>, %y: memref<4x32x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i, j, k) in [4, 32, 8] reads(%x[i, j, k] : memref<4x32x8xf32>) writes([i, j, k] store into %y : memref<4x32x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg2 of 4, arg1 of 32]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
func.func private @first(%x: memref<4x32x8xf32>, %b: memref<i64>, %n: memref<i64>, %z: memref<4x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i, j) in [4, 32] reads(%x[i, j, 0] : memref<4x32x8xf32>) writes([i, j] store into %z : memref<4x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 4, arg2 of 32]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
func.func private @zero(%z: memref<4x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i, j) in [4, 32] reads() writes([i, j] store into %z : memref<4x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
    %a = arith.constant 0.0 : f32
    loop.yield %a : f32
  }
  func.return
}

// -----

// Pieces of one long row, the last of which ends where what counts does, and rows that are turned in tiles.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<128x8xf32> {lamina.limits = [2 : i64, -1 : i64]}
// CHECK-SAME:    %y: memref<128x8xf32> {lamina.limits = [2 : i64, -1 : i64]}, %n:
// CHECK-SAME:    %z: memref<128x8xf32> {lamina.kind = "output", lamina.limits = [2 : i64, -1 : i64]}
// CHECK-SAME:    %u: memref<8x128xf32> {lamina.kind = "output", lamina.limits = [-1 : i64, 2 : i64]}
func.func @main(%x: memref<128x8xf32>, %y: memref<128x8xf32>, %n: memref<i64> {lamina.kind = "input"}, %z: memref<128x8xf32> {lamina.kind = "output"}, %u: memref<8x128xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @even(%x, %n, %z) : (memref<128x8xf32>, memref<i64>, memref<128x8xf32>) -> ()
  func.call @turned(%y, %n, %u) : (memref<128x8xf32>, memref<i64>, memref<8x128xf32>) -> ()
  func.return
}
func.func private @even(%x: memref<128x8xf32>, %n: memref<i64>, %y: memref<128x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0], tile = 60>]} {
  loop.generic (i, j) in [128, 8] reads(%x[i, j] : memref<128x8xf32>) writes([i, j] store into %y : memref<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 128, 8]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
func.func private @turned(%x: memref<128x8xf32>, %n: memref<i64>, %y: memref<8x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0, 1]>]} {
  loop.generic (i, j) in [128, 8] reads(%x[i, j] : memref<128x8xf32>) writes([j, i] store into %y : memref<8x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 128, 8]>, lamina.schedule = #loop.schedule<vectorize = d0 x 8, transpose = d1>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// Rows next to those that count (a stencil), and a tensor that is looked up in, may lie anywhere.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<129xf32>, %t: memref<128xf32>, %i: memref<128xi64> {lamina.limits = [3 : i64]}, %n:
// CHECK-SAME:    %y: memref<128xf32> {lamina.kind = "output", lamina.limits = [3 : i64]}
func.func @main(%x: memref<129xf32>, %t: memref<128xf32>, %i: memref<128xi64>, %n: memref<i64> {lamina.kind = "input"}, %y: memref<128xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @rows(%x, %t, %i, %n, %y) : (memref<129xf32>, memref<128xf32>, memref<128xi64>, memref<i64>, memref<128xf32>) -> ()
  func.return
}
func.func private @rows(%x: memref<129xf32>, %t: memref<128xf32>, %i: memref<128xi64>, %n: memref<i64>, %y: memref<128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i) in [128] reads(%x[i + 1] : memref<129xf32>, %i[i] : memref<128xi64>) sources(%t : memref<128xf32>) writes([i] store into %y : memref<128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg3 of 128]>} {
  ^bb0(%a: f32, %k: i64, %s: memref<128xf32>):
    %at = arith.index_cast %k : i64 to index
    %b = loop.read %s[%at] : memref<128xf32>
    %c = arith.addf %a, %b : f32
    loop.yield %c : f32
  }
  func.return
}

// -----

// A number that another kernel makes is no size of the call, at which arguments may end; a result may, at the size that
// is told of it. What a text claims does not stand.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<128xf32>, %n:
// CHECK-SAME:    %y: memref<128xf32> {lamina.kind = "output", lamina.limits = [3 : i64]}, %m:
func.func @main(%x: memref<128xf32> {lamina.limits = [1]}, %n: memref<i64> {lamina.kind = "input"}, %y: memref<128xf32> {lamina.kind = "output"}, %m: memref<i64> {lamina.kind = "size"}) attributes {lamina.entry} {
  func.call @twice(%n, %m) : (memref<i64>, memref<i64>) -> ()
  func.call @rows(%x, %m, %y) : (memref<128xf32>, memref<i64>, memref<128xf32>) -> ()
  func.return
}
func.func private @twice(%n: memref<i64>, %m: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic () in [] reads(%n[] : memref<i64>) writes([] store into %m : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %b = arith.addi %a, %a : i64
    loop.yield %b : i64
  }
  func.return
}
func.func private @rows(%x: memref<128xf32>, %n: memref<i64>, %y: memref<128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i) in [128] reads(%x[i] : memref<128xf32>) writes([i] store into %y : memref<128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 128]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// A scatter copies and writes what is copied of its result, and reads the updates that count. What it copies whole has no
// end.
// CHECK-LABEL: @main
// CHECK-SAME:    %t: memref<64x8xf32> {lamina.limits = [4 : i64, -1 : i64]}
// CHECK-SAME:    %u: memref<64x8xf32>, %i: memref<128xi64> {lamina.limits = [5 : i64]}, %x: memref<128x8xf32> {lamina.limits = [5 : i64, -1 : i64]}
// CHECK-SAME:    %y: memref<64x8xf32> {lamina.kind = "output", lamina.limits = [4 : i64, -1 : i64]}
// CHECK-SAME:    %z: memref<64x8xf32> {lamina.kind = "output"}
func.func @main(%t: memref<64x8xf32>, %u: memref<64x8xf32>, %i: memref<128xi64>, %x: memref<128x8xf32>, %n: memref<i64> {lamina.kind = "input"}, %m: memref<i64> {lamina.kind = "input"}, %y: memref<64x8xf32> {lamina.kind = "output"}, %z: memref<64x8xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kept(%t, %i, %x, %n, %m, %y) : (memref<64x8xf32>, memref<128xi64>, memref<128x8xf32>, memref<i64>, memref<i64>, memref<64x8xf32>) -> ()
  func.call @whole(%u, %i, %x, %n, %m, %z) : (memref<64x8xf32>, memref<128xi64>, memref<128x8xf32>, memref<i64>, memref<i64>, memref<64x8xf32>) -> ()
  func.return
}
func.func private @kept(%t: memref<64x8xf32>, %i: memref<128xi64>, %x: memref<128x8xf32>, %n: memref<i64>, %m: memref<i64>, %y: memref<64x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false, lanes = 8>]} {
  loop.scatter (d0, d1) in [128, 8] reads(%i[d0] : memref<128xi64>, %x[d0, d1] : memref<128x8xf32>) into(%t : memref<64x8xf32> -> %y : memref<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg4 of 128, 8], copied = [arg3 of 64, 8]>} {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v : index, index, f32
  }
  func.return
}
func.func private @whole(%t: memref<64x8xf32>, %i: memref<128xi64>, %x: memref<128x8xf32>, %n: memref<i64>, %m: memref<i64>, %y: memref<64x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false, lanes = 8>]} {
  loop.scatter (d0, d1) in [128, 8] reads(%i[d0] : memref<128xi64>, %x[d0, d1] : memref<128x8xf32>) into(%t : memref<64x8xf32> -> %y : memref<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg4 of 128, 8]>} {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v : index, index, f32
  }
  func.return
}

// -----

// Blocks of rows of a product end where these do if their last tiles have one row; a tile of more is moved up.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<128x8xf32> {lamina.limits = [3 : i64, -1 : i64]}
// CHECK-SAME:    %y: memref<128x8xf32>, %w: memref<1x8x32xf32>, %n:
// CHECK-SAME:    %u: memref<128x32xf32> {lamina.kind = "output", lamina.limits = [3 : i64, -1 : i64]}
// CHECK-SAME:    %v: memref<128x32xf32> {lamina.kind = "output"})
func.func @main(%x: memref<128x8xf32>, %y: memref<128x8xf32>, %w: memref<1x8x32xf32>, %n: memref<i64> {lamina.kind = "input"}, %u: memref<128x32xf32> {lamina.kind = "output"}, %v: memref<128x32xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @single(%x, %w, %n, %u) : (memref<128x8xf32>, memref<1x8x32xf32>, memref<i64>, memref<128x32xf32>) -> ()
  func.call @several(%y, %w, %n, %v) : (memref<128x8xf32>, memref<1x8x32xf32>, memref<i64>, memref<128x32xf32>) -> ()
  func.return
}
func.func private @single(%x: memref<128x8xf32>, %w: memref<1x8x32xf32>, %n: memref<i64>, %u: memref<128x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, block = 32, num_threads = 2>]} {
  loop.generic (m, n, k) in [128, 32, 8] reads(%x[m, k] : memref<128x8xf32>, %w[n floordiv 32, k, n mod 32] : memref<1x8x32xf32>) writes([m, n] add into %u : memref<128x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 128]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 8, tail = [4, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return
}
func.func private @several(%y: memref<128x8xf32>, %w: memref<1x8x32xf32>, %n: memref<i64>, %v: memref<128x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, block = 32, num_threads = 2>]} {
  loop.generic (m, n, k) in [128, 32, 8] reads(%y[m, k] : memref<128x8xf32>, %w[n floordiv 32, k, n mod 32] : memref<1x8x32xf32>) writes([m, n] add into %v : memref<128x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 128]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 8, tail = [4]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return
}

// -----

// Where each call fills tiles, these end with the rows that count as well, if blocks are of any size.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<8x16x8xf32> {lamina.limits = [3 : i64, -1 : i64, -1 : i64]
// CHECK-SAME:    %y: memref<8x16x8xf32>, %w: memref<1x8x32xf32>, %n:
func.func @main(%x: memref<8x16x8xf32>, %y: memref<8x16x8xf32>, %w: memref<1x8x32xf32>, %n: memref<i64> {lamina.kind = "input"}, %u: memref<128x32xf32> {lamina.kind = "output"}, %v: memref<128x32xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  %a = loop.reshape %x : memref<8x16x8xf32> -> memref<128x8xf32>
  %b = loop.reshape %y : memref<8x16x8xf32> -> memref<128x8xf32>
  func.call @even(%a, %w, %n, %u) : (memref<128x8xf32>, memref<1x8x32xf32>, memref<i64>, memref<128x32xf32>) -> ()
  func.call @blocks(%b, %w, %n, %v) : (memref<128x8xf32>, memref<1x8x32xf32>, memref<i64>, memref<128x32xf32>) -> ()
  func.return
}
func.func private @even(%x: memref<128x8xf32>, %w: memref<1x8x32xf32>, %n: memref<i64>, %u: memref<128x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, block = 32, num_threads = 2>]} {
  loop.generic (m, n, k) in [128, 32, 8] reads(%x[m, k] : memref<128x8xf32>, %w[n floordiv 32, k, n mod 32] : memref<1x8x32xf32>) writes([m, n] add into %u : memref<128x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 8, 16]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 8>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return
}
func.func private @blocks(%y: memref<128x8xf32>, %w: memref<1x8x32xf32>, %n: memref<i64>, %v: memref<128x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, block = 32>]} {
  loop.generic (m, n, k) in [128, 32, 8] reads(%y[m, k] : memref<128x8xf32>, %w[n floordiv 32, k, n mod 32] : memref<1x8x32xf32>) writes([m, n] add into %v : memref<128x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 8, 16]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 8>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return
}

// -----

// What is looked up ends at the limits of the reads, also where not all rows of the nest are known to end. Without a limit,
// or with one that is computed, it has no end.
// CHECK-LABEL: @main
// CHECK-SAME:    %t: memref<1024x4xf32> {lamina.limits = [4 : i64, -1 : i64]}
// CHECK-SAME:    %u: memref<1024x4xf32>, %w: memref<1024x4xf32>, %i: memref<64xi64>, %n:
func.func @main(%t: memref<1024x4xf32>, %u: memref<1024x4xf32>, %w: memref<1024x4xf32>, %i: memref<64xi64>, %n: memref<i64> {lamina.kind = "input"}, %y: memref<64x4xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @look(%t, %u, %w, %i, %n, %y) : (memref<1024x4xf32>, memref<1024x4xf32>, memref<1024x4xf32>, memref<64xi64>, memref<i64>, memref<64x4xf32>) -> ()
  func.return
}
func.func private @look(%t: memref<1024x4xf32>, %u: memref<1024x4xf32>, %w: memref<1024x4xf32>, %i: memref<64xi64>, %n: memref<i64>, %y: memref<64x4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic (d0, d1) in [64, 4] reads(%i[d0] : memref<64xi64>, %n[] : memref<i64>) sources(%t : memref<1024x4xf32>, %u : memref<1024x4xf32>, %w : memref<1024x4xf32>) writes([d0, d1] store into %y : memref<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4, unroll = 1>} {
  ^bb0(%p: i64, %m: i64, %s: memref<1024x4xf32>, %r: memref<1024x4xf32>, %q: memref<1024x4xf32>):
    %end = arith.index_cast %m : i64 to index
    %one = arith.constant 1 : index
    %less = arith.subi %end, %one : index
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    %a = loop.read %s[%row below %end, %column] : memref<1024x4xf32>
    %b = loop.read %r[%row, %column] : memref<1024x4xf32>
    %c = loop.read %q[%row below %less, %column] : memref<1024x4xf32>
    %d = arith.addf %a, %b : f32
    %e = arith.addf %c, %d : f32
    loop.yield %e : f32
  }
  func.return
}

// -----

// One read of two that has no limit is enough, and so is a read of the whole beside one that has.
// CHECK-LABEL: @main
// CHECK-SAME:    %t: memref<1024x4xf32>, %u: memref<1024x4xf32>, %i:
func.func @main(%t: memref<1024x4xf32>, %u: memref<1024x4xf32>, %i: memref<1024xi64>, %n: memref<i64> {lamina.kind = "input"}, %y: memref<1024x4xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @look(%t, %u, %i, %n, %y) : (memref<1024x4xf32>, memref<1024x4xf32>, memref<1024xi64>, memref<i64>, memref<1024x4xf32>) -> ()
  func.return
}
func.func private @look(%t: memref<1024x4xf32>, %u: memref<1024x4xf32>, %i: memref<1024xi64>, %n: memref<i64>, %y: memref<1024x4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic (d0, d1) in [1024, 4] reads(%i[d0] : memref<1024xi64>, %n[] : memref<i64>, %u[d0, d1] : memref<1024x4xf32>) sources(%t : memref<1024x4xf32>, %u : memref<1024x4xf32>) writes([d0, d1] store into %y : memref<1024x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4, unroll = 1>} {
  ^bb0(%p: i64, %m: i64, %z: f32, %s: memref<1024x4xf32>, %r: memref<1024x4xf32>):
    %end = arith.index_cast %m : i64 to index
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    %a = loop.read %s[%row below %end, %column] : memref<1024x4xf32>
    %b = loop.read %s[%row, %column] : memref<1024x4xf32>
    %c = loop.read %r[%row below %end, %column] : memref<1024x4xf32>
    %d = arith.addf %a, %b : f32
    %e = arith.addf %c, %d : f32
    %f = arith.addf %e, %z : f32
    loop.yield %f : f32
  }
  func.return
}

// -----

// Complex numbers, which kernels have as pairs: indices of the numbers end where those of the pairs do.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<32x8xcomplex<f32>> {lamina.limits = [1 : i64, -1 : i64]}
func.func @main(%x: memref<32x8xcomplex<f32>>, %n: memref<i64> {lamina.kind = "input"}, %y: memref<32x8xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  %0 = loop.reshape %x : memref<32x8xcomplex<f32>> -> memref<32x8x2xf32>
  func.call @parts(%0, %n, %y) : (memref<32x8x2xf32>, memref<i64>, memref<32x8xf32>) -> ()
  func.return
}
func.func private @parts(%x: memref<32x8x2xf32>, %n: memref<i64>, %y: memref<32x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i, j) in [32, 8] reads(%x[i, j, 0] : memref<32x8x2xf32>) writes([i, j] store into %y : memref<32x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 32]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// A size that is twice another: rows in pairs end where those of the other do. One of three times as much ends no pairs, and
// what is written whole ends nowhere.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x8xf32> {lamina.limits = [1 : i64, -1 : i64]}
// CHECK-SAME:    %y: memref<128x8xf32> {lamina.kind = "output", lamina.sizes = [1 : i64, -1 : i64], lamina.limits = [5 : i64, -1 : i64]}
// CHECK-SAME:    %z: memref<128x8xf32> {lamina.kind = "output", lamina.sizes = [1 : i64, -1 : i64]}
func.func @main(%x: memref<64x8xf32>, %n: memref<i64>, %y: memref<128x8xf32> {lamina.kind = "output", lamina.sizes = [1, -1]}, %z: memref<128x8xf32> {lamina.kind = "output", lamina.sizes = [1, -1]}, %thrice: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1 * 3>}, %twice: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1 * 2>}) attributes {lamina.entry} {
  %0 = loop.reshape %y : memref<128x8xf32> -> memref<64x2x8xf32>
  func.call @pairs(%x, %n, %0) : (memref<64x8xf32>, memref<i64>, memref<64x2x8xf32>) -> ()
  func.call @whole(%z) : (memref<128x8xf32>) -> ()
  func.return
}
func.func private @pairs(%x: memref<64x8xf32>, %n: memref<i64>, %y: memref<64x2x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i, j, k) in [64, 2, 8] reads(%x[i, k] : memref<64x8xf32>) writes([i, j, k] store into %y : memref<64x2x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg1 of 64, 2, 8]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
func.func private @whole(%z: memref<128x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i, j) in [128, 8] writes([i, j] store into %z : memref<128x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
    %a = arith.constant 0.0 : f32
    loop.yield %a : f32
  }
  func.return
}

// -----

// Rows in groups of four, of which there are as many as a size has whole: they end at the size, but the first group is touched
// whatever that is. What ends at groups of a number that follows otherwise ends nowhere, and results have no room for a group.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x8xf32> {lamina.limits = [1 : i64, -1 : i64], lamina.touched = [4 : i64, 1 : i64]}
// CHECK-SAME:    %y: memref<64x8xf32> {lamina.kind = "output"}
// CHECK-SAME:    %z: memref<64x8xf32>, %w:
func.func @main(%x: memref<64x8xf32>, %n: memref<i64>, %y: memref<64x8xf32> {lamina.kind = "output"}, %z: memref<64x8xf32>, %w: memref<64x8xf32> {lamina.kind = "output"}, %arena: memref<128xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 64 : index
  %q = memref.view %arena[%c0][] : memref<128xi8> to memref<i64>
  %r = memref.view %arena[%c1][] : memref<128xi8> to memref<i64>
  func.call @quotient(%n, %q, %r) : (memref<i64>, memref<i64>, memref<i64>) -> ()
  func.call @fours(%x, %q, %y) : (memref<64x8xf32>, memref<i64>, memref<64x8xf32>) -> ()
  func.call @rows(%x, %n, %w) : (memref<64x8xf32>, memref<i64>, memref<64x8xf32>) -> ()
  func.call @fours(%z, %r, %w) : (memref<64x8xf32>, memref<i64>, memref<64x8xf32>) -> ()
  func.return
}
func.func private @quotient(%n: memref<i64>, %q: memref<i64>, %r: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic () in [] reads(%n[] : memref<i64>) writes([] store into %q : memref<i64>, [] store into %r : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64):
    %four = arith.constant 4 : i64
    %whole = arith.floordivsi %v, %four : i64
    %more = arith.addi %whole, %four : i64
    loop.yield %whole, %more : i64, i64
  }
  func.return
}
func.func private @fours(%x: memref<64x8xf32>, %q: memref<i64>, %y: memref<64x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i, j, k) in [16, 4, 8] reads(%x[(i * 4) + j, k] : memref<64x8xf32>) writes([(i * 4) + j, k] store into %y : memref<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg1 of 16, 4, 8]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
func.func private @rows(%x: memref<64x8xf32>, %n: memref<i64>, %y: memref<64x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i, j) in [64, 8] reads(%x[i, j] : memref<64x8xf32>) writes([i, j] store into %y : memref<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 8]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// Rows side by side are those that count.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<128x64xf32> {lamina.limits = [1 : i64, -1 : i64]}
func.func @main(%x: memref<128x64xf32>, %n: memref<i64> {lamina.kind = "input"}, %k: memref<i64> {lamina.kind = "input"}, %y: memref<128xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @beside(%x, %n, %k, %y) : (memref<128x64xf32>, memref<i64>, memref<i64>, memref<128xf32>) -> ()
  func.return
}
func.func private @beside(%x: memref<128x64xf32>, %n: memref<i64>, %k: memref<i64>, %y: memref<128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, jam = 4>]} {
  loop.generic (i, j) in [128, 64] reads(%x[i, j] : memref<128x64xf32>) writes([i] max into %y : memref<128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 128]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// All rows run where their loops end at a number of the call, too: memory is read behind those that count.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<128x64xf32>, %n:
func.func @main(%x: memref<128x64xf32>, %n: memref<i64> {lamina.kind = "input"}, %k: memref<i64> {lamina.kind = "input"}, %y: memref<128xf32> {lamina.kind = "output"}, %m: memref<64xi1> {lamina.kind = "input"}) attributes {lamina.entry} {
  func.call @beside(%x, %n, %k, %y, %m) : (memref<128x64xf32>, memref<i64>, memref<i64>, memref<128xf32>, memref<64xi1>) -> ()
  func.return
}
func.func private @beside(%x: memref<128x64xf32>, %n: memref<i64>, %k: memref<i64>, %y: memref<128xf32>, %m: memref<64xi1>) attributes {lamina.kernel, lamina.masks = array<i64: 4, 2>, lamina.schedule = [#loop.rows<parallel, jam = 4>]} {
  loop.generic (i, j) in [128, 64] reads(%m[j] : memref<64xi1>, %x[i, j] : memref<128x64xf32>) writes([i] max into %y : memref<128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 128]>, lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [2]>]} {
  ^bb0(%counts: i1, %a: f32):
    %low = arith.constant 0xFF800000 : f32
    %b = arith.select %counts, %a, %low : f32
    loop.yield %b : f32
  }
  func.return
}
