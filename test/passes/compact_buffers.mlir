// RUN: lamina-opt %s -p compact-buffers --split-input-file | filecheck %s
// RUN: lamina-opt %s -p compact-buffers,apply-schedule --split-input-file | filecheck %s --check-prefix APPLIED

// What one kernel writes up to numbers of the call, and the next one reads, lies row by row. The reader, which has not been given the number of columns, gets it; the program computes it, so that it is kept behind all else.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %arena: memref<65664xi8>
// CHECK:         %[[PLACE:[0-9]+]] = arith.constant 65600 : index
// CHECK:         %n = memref.view %arena[%[[PLACE]]][]
// CHECK:         func.call @reader(%t, %a, %y, %n)
// CHECK:       func.func private @maker(%x: memref<64xf32>, %a: memref<i64>, %b: memref<i64>, %t: memref<64x256xf32> {lamina.extents = [1 : i64, 2 : i64]})
// CHECK:       func.func private @reader(%t: memref<64x256xf32> {lamina.extents = [1 : i64, 3 : i64]}, %a: memref<i64>, %y: memref<64x4xf32>, %extent: memref<i64>)
// APPLIED-LABEL: func.func private @reader
// APPLIED:         %[[STRIDE:[0-9]+]] = arith.minsi
// APPLIED:         arith.muli %{{[0-9]+}}, %[[STRIDE]]
func.func @main(%x: memref<64xf32>, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %y: memref<64x4xf32> {lamina.kind = "output"}, %arena: memref<65600xi8> {lamina.kind = "arena"}) attributes {lamina.entry, lamina.compact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 65536 : index
  %n = memref.view %arena[%c1][] : memref<65600xi8> to memref<i64>
  func.call @more(%b, %n) : (memref<i64>, memref<i64>) -> ()
  %t = memref.view %arena[%c0][] : memref<65600xi8> to memref<64x256xf32>
  func.call @maker(%x, %a, %n, %t) : (memref<64xf32>, memref<i64>, memref<i64>, memref<64x256xf32>) -> ()
  func.call @reader(%t, %a, %y) : (memref<64x256xf32>, memref<i64>, memref<64x4xf32>) -> ()
  func.return
}
func.func private @more(%b: memref<i64>, %n: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic () in [] reads(%b[] : memref<i64>) writes([] store into %n : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64):
    %one = arith.constant 1 : i64
    %w = arith.addi %v, %one : i64
    loop.yield %w : i64
  }
  func.return
}
func.func private @maker(%x: memref<64xf32>, %a: memref<i64>, %b: memref<i64>, %t: memref<64x256xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [64, 256] reads(%x[i] : memref<64xf32>) writes([i, j] store into %t : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, arg2 of 256]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @reader(%t: memref<64x256xf32>, %a: memref<i64>, %y: memref<64x4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [64, 4] reads(%t[i, j] : memref<64x256xf32>) writes([i, j] store into %y : memref<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 4]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// What is written to the end of its type stays as it is; so does what another buffer of the call shares memory with that lies otherwise.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %arena: memref<131136xi8>
// CHECK-NOT:   lamina.extents
func.func @main(%x: memref<64xf32>, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %arena: memref<131136xi8> {lamina.kind = "arena"}) attributes {lamina.entry, lamina.compact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 65536 : index
  %c2 = arith.constant 65600 : index
  %t = memref.view %arena[%c0][] : memref<131136xi8> to memref<64x256xf32>
  func.call @whole(%x, %a, %t) : (memref<64xf32>, memref<i64>, memref<64x256xf32>) -> ()
  %u = memref.view %arena[%c1][] : memref<131136xi8> to memref<64x256xf32>
  %v = memref.view %arena[%c2][] : memref<131136xi8> to memref<64x128xf32>
  func.call @both(%x, %a, %b, %u, %v) : (memref<64xf32>, memref<i64>, memref<i64>, memref<64x256xf32>, memref<64x128xf32>) -> ()
  func.return
}
func.func private @whole(%x: memref<64xf32>, %a: memref<i64>, %t: memref<64x256xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [64, 256] reads(%x[i] : memref<64xf32>) writes([i, j] store into %t : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 256]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @both(%x: memref<64xf32>, %a: memref<i64>, %b: memref<i64>, %u: memref<64x256xf32>, %v: memref<64x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [64, 128] reads(%x[i] : memref<64xf32>) writes([i, j] store into %u : memref<64x256xf32>, [i, j] store into %v : memref<64x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, arg2 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%w: f32):
    loop.yield %w, %w : f32, f32
  }
  func.return
}

// -----

// A reader that has a number joined with all behind it: eight for each are as many as another number says, so that rows are that
// far apart. Another one has no such number.
// CHECK-LABEL: func.func @main
// CHECK:       func.func private @maker(%x: memref<64xf32>, %a: memref<i64>, %b: memref<i64>, %t: memref<64x32x8xf32> {lamina.extents = [1 : i64, 2 : i64, -1 : i64]})
// CHECK:       func.func private @joined(%t: memref<64x256xf32> {lamina.extents = [1 : i64, 2 : i64]}, %a: memref<i64>, %eights: memref<i64>, %y: memref<64x4xf32>)
// CHECK:       func.func private @maker_2(%x: memref<64xf32>, %a: memref<i64>, %b: memref<i64>, %t: memref<64x32x8xf32>)
// CHECK:       func.func private @alone(%t: memref<64x256xf32>, %a: memref<i64>, %y: memref<64x4xf32>)
func.func @main(%x: memref<64xf32>, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %y: memref<64x4xf32> {lamina.kind = "output"}, %z: memref<64x4xf32> {lamina.kind = "output"}, %eights: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg2 * 8>}, %arena: memref<131072xi8> {lamina.kind = "arena"}) attributes {lamina.entry, lamina.compact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 65536 : index
  %t = memref.view %arena[%c0][] : memref<131072xi8> to memref<64x32x8xf32>
  func.call @maker(%x, %a, %b, %t) : (memref<64xf32>, memref<i64>, memref<i64>, memref<64x32x8xf32>) -> ()
  %0 = loop.reshape %t : memref<64x32x8xf32> -> memref<64x256xf32>
  func.call @joined(%0, %a, %eights, %y) : (memref<64x256xf32>, memref<i64>, memref<i64>, memref<64x4xf32>) -> ()
  %u = memref.view %arena[%c1][] : memref<131072xi8> to memref<64x32x8xf32>
  func.call @maker_2(%x, %a, %b, %u) : (memref<64xf32>, memref<i64>, memref<i64>, memref<64x32x8xf32>) -> ()
  %1 = loop.reshape %u : memref<64x32x8xf32> -> memref<64x256xf32>
  func.call @alone(%1, %a, %z) : (memref<64x256xf32>, memref<i64>, memref<64x4xf32>) -> ()
  func.return
}
func.func private @maker(%x: memref<64xf32>, %a: memref<i64>, %b: memref<i64>, %t: memref<64x32x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j, k) in [64, 32, 8] reads(%x[i] : memref<64xf32>) writes([i, j, k] store into %t : memref<64x32x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg1 of 64, arg2 of 32, 8]>, lamina.schedule = #loop.schedule<vectorize = d2 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @joined(%t: memref<64x256xf32>, %a: memref<i64>, %eights: memref<i64>, %y: memref<64x4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [64, 4] reads(%t[i, j] : memref<64x256xf32>, %eights[] : memref<i64>) writes([i, j] store into %y : memref<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 4]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4>} {
  ^bb0(%v: f32, %n: i64):
    loop.yield %v : f32
  }
  func.return
}
func.func private @maker_2(%x: memref<64xf32>, %a: memref<i64>, %b: memref<i64>, %t: memref<64x32x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j, k) in [64, 32, 8] reads(%x[i] : memref<64xf32>) writes([i, j, k] store into %t : memref<64x32x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg1 of 64, arg2 of 32, 8]>, lamina.schedule = #loop.schedule<vectorize = d2 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @alone(%t: memref<64x256xf32>, %a: memref<i64>, %y: memref<64x4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [64, 4] reads(%t[i, j] : memref<64x256xf32>) writes([i, j] store into %y : memref<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, 4]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
