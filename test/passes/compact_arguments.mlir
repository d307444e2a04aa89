// RUN: lamina-opt %s -p compact-arguments --split-input-file | filecheck %s
// RUN: lamina-opt %s -p compact-arguments,apply-schedule --split-input-file | filecheck %s --check-prefix APPLIED

// Rows of arguments lie as far apart as a call has columns: addresses are computed so, by entry and kernel alike.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x256xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64]}, %a:
// CHECK-SAME:    %y: memref<64x256xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64]}
// CHECK:       func.func private @twice(%a: memref<i64>, %x: memref<64x256xf32> {lamina.extents = [0 : i64, 2 : i64]}, %b: memref<i64>, %y: memref<64x256xf32> {lamina.extents = [0 : i64, 2 : i64]})
// APPLIED:     func.func private @twice(%a: memref<i64>, %x: memref<64x256xf32>, %b: memref<i64>, %y: memref<64x256xf32>)
// APPLIED:       %[[COLUMNS:[0-9]+]] = arith.minsi
// APPLIED:       scf.for %[[COLUMN:[0-9]+]] =
// APPLIED:         %[[LINE:[0-9]+]] = arith.muli %[[ROW:[0-9]+]], %[[COLUMNS]]
// APPLIED:         %[[AT:[0-9]+]] = arith.addi
// APPLIED:         vector.load %{{.*}}[%[[AT]]]
func.func @main(%x: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, 2]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %y: memref<64x256xf32> {lamina.kind = "output", lamina.counts = ["a", "b"], lamina.limits = [1, 2]}) attributes {lamina.entry, lamina.compact} {
  func.call @twice(%a, %x, %b, %y) : (memref<i64>, memref<64x256xf32>, memref<i64>, memref<64x256xf32>) -> ()
  func.return
}
func.func private @twice(%a: memref<i64>, %x: memref<64x256xf32>, %b: memref<i64>, %y: memref<64x256xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [64, 256] reads(%x[i, j] : memref<64x256xf32>) writes([i, j] store into %y : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg0 of 64, arg2 of 256]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%v: f32):
    %w = arith.addf %v, %v : f32
    loop.yield %w : f32
  }
  func.return
}

// -----

// Columns that are turned in tiles are as far apart; so are rows that are reduced.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x256xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64]}, %a:
// CHECK-SAME:    %y: memref<256x64xf32> {{{.*}}lamina.extents = [2 : i64, 1 : i64]}
// CHECK-SAME:    %z: memref<64xf32> {lamina.kind = "output"}
func.func @main(%x: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, 2]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %y: memref<256x64xf32> {lamina.kind = "output", lamina.counts = ["b", "a"], lamina.limits = [2, 1]}, %z: memref<64xf32> {lamina.kind = "output"}, %m: memref<256xi1>) attributes {lamina.entry, lamina.compact} {
  func.call @turned(%a, %x, %b, %y) : (memref<i64>, memref<64x256xf32>, memref<i64>, memref<256x64xf32>) -> ()
  func.call @reduced(%a, %x, %b, %z, %m) : (memref<i64>, memref<64x256xf32>, memref<i64>, memref<64xf32>, memref<256xi1>) -> ()
  func.return
}
func.func private @turned(%a: memref<i64>, %x: memref<64x256xf32>, %b: memref<i64>, %y: memref<256x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0, 1]>]} {
  loop.generic (i, j) in [64, 256] reads(%x[i, j] : memref<64x256xf32>) writes([j, i] store into %y : memref<256x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg0 of 64, arg2 of 256]>, lamina.schedule = #loop.schedule<order = [d1, d0], vectorize = d0 x 8, transpose = d1>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @reduced(%a: memref<i64>, %x: memref<64x256xf32>, %b: memref<i64>, %z: memref<64xf32>, %m: memref<256xi1>) attributes {lamina.kernel, lamina.masks = array<i64: 4, 2>, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i, j) in [64, 256] reads(%m[j] : memref<256xi1>, %x[i, j] : memref<64x256xf32>) writes([i] add into %z : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg0 of 64]>, lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [2]>], lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%on: i1, %v: f32):
    %zero = arith.constant 0.0 : f32
    %w = arith.select %on, %v, %zero : f32
    loop.yield %w : f32
  }
  func.return
}

// -----

// A scatter into a copy: what counts is copied at once, and rows that are added to begin where they do in the call.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x256x8xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64, -1 : i64]}, %a:
// CHECK-SAME:    %u: memref<64x256x8xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64, -1 : i64]}, %i:
// CHECK-SAME:    %y: memref<64x256x8xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64, -1 : i64]}
// APPLIED-LABEL: func.func private @added
// APPLIED-SAME:    (%x: memref<64x256x8xf32>, %u: memref<64x256x8xf32>, %i: memref<256xi64>, %a: memref<i64>, %b: memref<i64>, %y: memref<64x256x8xf32>)
func.func @main(%x: memref<64x256x8xf32> {lamina.counts = ["a", "b", ""], lamina.limits = [1, 2, -1]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %u: memref<64x256x8xf32> {lamina.counts = ["a", "b", ""], lamina.limits = [1, 2, -1]}, %i: memref<256xi64>, %y: memref<64x256x8xf32> {lamina.kind = "output", lamina.counts = ["a", "b", ""], lamina.limits = [1, 2, -1]}) attributes {lamina.entry, lamina.compact} {
  func.call @added(%x, %u, %i, %a, %b, %y) : (memref<64x256x8xf32>, memref<64x256x8xf32>, memref<256xi64>, memref<i64>, memref<i64>, memref<64x256x8xf32>) -> ()
  func.return
}
func.func private @added(%x: memref<64x256x8xf32>, %u: memref<64x256x8xf32>, %i: memref<256xi64>, %a: memref<i64>, %b: memref<i64>, %y: memref<64x256x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<lanes = 8>]} {
  loop.scatter (i, j, k) in [64, 256, 8] reads(%i[j] : memref<256xi64>, %u[i, j, k] : memref<64x256x8xf32>) into(%x : memref<64x256x8xf32> -> %y : memref<64x256x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg3 of 64, arg4 of 256, 8], copied = [arg3 of 64, arg4 of 256, 8]>} {
  ^bb0(%at: i64, %v: f32, %old: f32):
    %row = loop.index 0 : index
    %place = arith.index_cast %at : i64 to index
    %column = loop.index 2 : index
    %new = arith.addf %old, %v : f32
    loop.yield %row, %place, %column, %new : index, index, index, f32
  }
  func.return
}

// -----

// Vectors along rows would need a stride between their lanes, and an argument whose indices end elsewhere than it does is as
// its type says. So are results that one kernel of two needs so, and what a scatter looks up in.
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.extents
func.func @main(%x: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, 2]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %t: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, 2]}, %u: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, -1]}, %y: memref<64x256xf32> {lamina.kind = "output", lamina.counts = ["a", "b"], lamina.limits = [1, 2]}) attributes {lamina.entry, lamina.compact} {
  func.call @along_rows(%a, %x, %b, %y) : (memref<i64>, memref<64x256xf32>, memref<i64>, memref<64x256xf32>) -> ()
  func.call @looked_up(%a, %t, %u, %b, %y) : (memref<i64>, memref<64x256xf32>, memref<64x256xf32>, memref<i64>, memref<64x256xf32>) -> ()
  func.return
}
func.func private @along_rows(%a: memref<i64>, %x: memref<64x256xf32>, %b: memref<i64>, %y: memref<64x256xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (i, j) in [64, 256] reads(%x[i, j] : memref<64x256xf32>) writes([i, j] store into %y : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg0 of 64, arg2 of 256]>, lamina.schedule = #loop.schedule<vectorize = d0 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @looked_up(%a: memref<i64>, %t: memref<64x256xf32>, %u: memref<64x256xf32>, %b: memref<i64>, %y: memref<64x256xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<>]} {
  loop.scatter (i, j) in [64, 256] sources(%t : memref<64x256xf32>) into(%u : memref<64x256xf32> -> %y : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg0 of 64, arg3 of 256], copied = [arg0 of 64, arg3 of 256]>} {
  ^bb0(%s: memref<64x256xf32>, %old: f32):
    %i = loop.index 0 : index
    %j = loop.index 1 : index
    %w = loop.read %s[%i, %j] : memref<64x256xf32>
    loop.yield %i, %j, %w : index, index, f32
  }
  func.return
}

// -----

// An entry that does not say so is called with what its types say.
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.extents
func.func @main(%x: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, 2]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %y: memref<64x256xf32> {lamina.kind = "output", lamina.counts = ["a", "b"], lamina.limits = [1, 2]}) attributes {lamina.entry} {
  func.call @same(%a, %x, %b, %y) : (memref<i64>, memref<64x256xf32>, memref<i64>, memref<64x256xf32>) -> ()
  func.return
}
func.func private @same(%a: memref<i64>, %x: memref<64x256xf32>, %b: memref<i64>, %y: memref<64x256xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [64, 256] reads(%x[i, j] : memref<64x256xf32>) writes([i, j] store into %y : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg0 of 64, arg2 of 256]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// What lies in another shape is as compact where open dimensions stay: pairs of the last one, and one in front of all.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x256x8xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64, -1 : i64]}, %a:
// CHECK-SAME:    %y: memref<64x256x8xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64, -1 : i64]}
// CHECK:       func.func private @pairs(%a: memref<i64>, %x: memref<1x64x256x4x2xf32> {lamina.extents = [-1 : i64, 0 : i64, 2 : i64, -1 : i64, -1 : i64]}, %b: memref<i64>, %y: memref<64x256x8xf32> {lamina.extents = [0 : i64, 2 : i64, -1 : i64]})
func.func @main(%x: memref<64x256x8xf32> {lamina.counts = ["a", "b", ""], lamina.limits = [1, 2, -1]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %y: memref<64x256x8xf32> {lamina.kind = "output", lamina.counts = ["a", "b", ""], lamina.limits = [1, 2, -1]}) attributes {lamina.entry, lamina.compact} {
  %p = loop.reshape %x : memref<64x256x8xf32> -> memref<1x64x256x4x2xf32>
  func.call @pairs(%a, %p, %b, %y) : (memref<i64>, memref<1x64x256x4x2xf32>, memref<i64>, memref<64x256x8xf32>) -> ()
  func.return
}
func.func private @pairs(%a: memref<i64>, %x: memref<1x64x256x4x2xf32>, %b: memref<i64>, %y: memref<64x256x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (i, j, k, l) in [64, 256, 4, 2] reads(%x[0, i, j, k, l] : memref<1x64x256x4x2xf32>) writes([i, j, k * 2 + l] store into %y : memref<64x256x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg0 of 64, arg2 of 256]>, lamina.schedule = #loop.schedule<vectorize = d3 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// An open dimension that is joined with another is none of that shape: its elements would not follow one another.
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.extents
func.func @main(%x: memref<64x256x8xf32> {lamina.counts = ["a", "b", ""], lamina.limits = [1, 2, -1]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %y: memref<64x2048xf32> {lamina.kind = "output"}) attributes {lamina.entry, lamina.compact} {
  %p = loop.reshape %x : memref<64x256x8xf32> -> memref<64x2048xf32>
  func.call @joined(%a, %p, %b, %y) : (memref<i64>, memref<64x2048xf32>, memref<i64>, memref<64x2048xf32>) -> ()
  func.return
}
func.func private @joined(%a: memref<i64>, %x: memref<64x2048xf32>, %b: memref<i64>, %y: memref<64x2048xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (i, j) in [64, 2048] reads(%x[i, j] : memref<64x2048xf32>) writes([i, j] store into %y : memref<64x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg0 of 64, 2048]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// What is looked up in is reached by strides of the call: at a place that is checked, and along what is contiguous.
// CHECK-LABEL: @main
// CHECK-SAME:    %t: memref<64x256xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64]}, %a:
// APPLIED-LABEL: func.func private @rows
// APPLIED:       %[[COLUMNS:[0-9]+]] = arith.minsi
// APPLIED:       %[[INSIDE:[0-9]+]] = arith.cmpi ult, %[[ROW:[0-9]+]], %{{.*}} : index
// APPLIED-NEXT:  %[[SAFE:[0-9]+]] = arith.select %[[INSIDE]], %[[ROW]]
// APPLIED-NEXT:  cf.assert %[[INSIDE]]
// APPLIED:       scf.for %[[COLUMN:[0-9]+]] =
// APPLIED:         %[[LINE:[0-9]+]] = arith.muli %[[SAFE]], %[[COLUMNS]] : index
// APPLIED:         %[[AT:[0-9]+]] = arith.addi %[[LINE]], %[[COLUMN]] : index
// APPLIED:         vector.load %{{.*}}[%[[AT]]] : memref<16384xf32>
func.func @main(%t: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, 2]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %i: memref<64xi64>, %y: memref<64x256xf32> {lamina.kind = "output", lamina.counts = ["a", "b"], lamina.limits = [1, 2]}) attributes {lamina.entry, lamina.compact} {
  func.call @rows(%a, %t, %i, %b, %y) : (memref<i64>, memref<64x256xf32>, memref<64xi64>, memref<i64>, memref<64x256xf32>) -> ()
  func.return
}
func.func private @rows(%a: memref<i64>, %t: memref<64x256xf32>, %i: memref<64xi64>, %b: memref<i64>, %y: memref<64x256xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [64, 256] reads(%i[i] : memref<64xi64>, %a[] : memref<i64>) sources(%t : memref<64x256xf32>) writes([i, j] store into %y : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg0 of 64, arg3 of 256]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%p: i64, %m: i64, %s: memref<64x256xf32>):
    %n = arith.index_cast %m : i64 to index
    %q = arith.index_cast %p : i64 to index
    %j = loop.index 1 : index
    %w = loop.read %s[%q below %n, %j] : memref<64x256xf32>
    loop.yield %w : f32
  }
  func.return
}

// -----

// A result whose size is twice another, in pairs: its rows begin where pairs of the call do. Groups of three are none of twice.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x128x8xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64, -1 : i64]}
// CHECK-SAME:    %y: memref<64x256x8xf32> {{{.*}}lamina.extents = [1 : i64, 5 : i64, -1 : i64]}
// CHECK-SAME:    %z: memref<64x384x8xf32> {lamina.kind = "output", lamina.counts = ["a", "", ""], lamina.limits = [1 : i64, 5 : i64, -1 : i64], lamina.sizes = [-1 : i64, 0 : i64, -1 : i64]}
// CHECK:       func.func private @pairs(%x: memref<64x128x8xf32> {lamina.extents = [1 : i64, 2 : i64, -1 : i64]}, %a: memref<i64>, %b: memref<i64>, %y: memref<64x128x2x8xf32> {lamina.extents = [1 : i64, 2 : i64, -1 : i64, -1 : i64]})
// CHECK:       func.func private @threes(%x: memref<64x128x8xf32> {lamina.extents = [1 : i64, 2 : i64, -1 : i64]}, %a: memref<i64>, %b: memref<i64>, %y: memref<64x128x3x8xf32>)
func.func @main(%x: memref<64x128x8xf32> {lamina.counts = ["a", "b", ""], lamina.limits = [1, 2, -1]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %y: memref<64x256x8xf32> {lamina.kind = "output", lamina.counts = ["a", "", ""], lamina.limits = [1, 5, -1], lamina.sizes = [-1, 0, -1]}, %z: memref<64x384x8xf32> {lamina.kind = "output", lamina.counts = ["a", "", ""], lamina.limits = [1, 5, -1], lamina.sizes = [-1, 0, -1]}, %twice: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg2 * 2>}) attributes {lamina.entry, lamina.compact} {
  %0 = loop.reshape %y : memref<64x256x8xf32> -> memref<64x128x2x8xf32>
  func.call @pairs(%x, %a, %b, %0) : (memref<64x128x8xf32>, memref<i64>, memref<i64>, memref<64x128x2x8xf32>) -> ()
  %1 = loop.reshape %z : memref<64x384x8xf32> -> memref<64x128x3x8xf32>
  func.call @threes(%x, %a, %b, %1) : (memref<64x128x8xf32>, memref<i64>, memref<i64>, memref<64x128x3x8xf32>) -> ()
  func.return
}
func.func private @pairs(%x: memref<64x128x8xf32>, %a: memref<i64>, %b: memref<i64>, %y: memref<64x128x2x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [2, 3]>]} {
  loop.generic (i, j, k, l) in [64, 128, 2, 8] reads(%x[i, j, l] : memref<64x128x8xf32>) writes([i, j, k, l] store into %y : memref<64x128x2x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2, d3], live = [arg1 of 64, arg2 of 128, 2, 8]>, lamina.schedule = #loop.schedule<vectorize = d3 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @threes(%x: memref<64x128x8xf32>, %a: memref<i64>, %b: memref<i64>, %y: memref<64x128x3x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [2, 3]>]} {
  loop.generic (i, j, k, l) in [64, 128, 3, 8] reads(%x[i, j, l] : memref<64x128x8xf32>) writes([i, j, k, l] store into %y : memref<64x128x3x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2, d3], live = [arg1 of 64, arg2 of 128, 3, 8]>, lamina.schedule = #loop.schedule<vectorize = d3 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// A scatter whose result lies together copies what does not, row by row: where it begins in each is as far apart.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1 : i64, -1 : i64]}
// CHECK-SAME:    %y: memref<64x256xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64]}
// APPLIED-LABEL: func.func private @copied
// APPLIED:       %[[ROWS:[0-9]+]] = loop.reshape %x
// APPLIED:       scf.for %[[ROW:[0-9]+]] =
// APPLIED-DAG:     %[[FROM:[0-9]+]] = arith.muli %[[ROW]], %[[WHOLE:[0-9]+]]
// APPLIED-DAG:     %[[TO:[0-9]+]] = arith.muli %[[ROW]], %[[COLUMNS:[0-9]+]]
// APPLIED:         scf.for
// APPLIED-DAG:       arith.addi %[[FROM]]
// APPLIED-DAG:       arith.addi %[[TO]]
// APPLIED:           vector.load %[[ROWS]]
func.func @main(%x: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, -1]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %i: memref<64xi64>, %u: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, 2]}, %y: memref<64x256xf32> {lamina.kind = "output", lamina.counts = ["a", "b"], lamina.limits = [1, 2]}) attributes {lamina.entry, lamina.compact} {
  func.call @copied(%x, %i, %u, %a, %b, %y) : (memref<64x256xf32>, memref<64xi64>, memref<64x256xf32>, memref<i64>, memref<i64>, memref<64x256xf32>) -> ()
  func.return
}
func.func private @copied(%x: memref<64x256xf32>, %i: memref<64xi64>, %u: memref<64x256xf32>, %a: memref<i64>, %b: memref<i64>, %y: memref<64x256xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<>]} {
  loop.scatter (i, j) in [64, 256] reads(%i[i] : memref<64xi64>, %u[i, j] : memref<64x256xf32>) into(%x : memref<64x256xf32> -> %y : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 64, arg4 of 256], copied = [arg3 of 64, arg4 of 256]>} {
  ^bb0(%at: i64, %v: f32, %old: f32):
    %row = arith.index_cast %at : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v : index, index, f32
  }
  func.return
}

// -----

// A kernel that has not been given a number gets it, where that comes with the call. What ends at another number than that of
// its own extent lies as its type says.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x256xf32> {{{.*}}lamina.extents = [1 : i64, 2 : i64]}
// CHECK-SAME:    %z: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1 : i64, 1 : i64]}
// CHECK:         func.call @fours(%x, %q, %y, %a, %b)
// CHECK:       func.func private @fours(%x: memref<64x256xf32> {lamina.extents = [3 : i64, 4 : i64]}, %q: memref<i64>, %y: memref<16x256xf32>, %extent: memref<i64>, %extent_1: memref<i64>)
func.func @main(%x: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, 2]}, %a: memref<i64> {lamina.name = "a"}, %b: memref<i64> {lamina.name = "b"}, %z: memref<64x256xf32> {lamina.counts = ["a", "b"], lamina.limits = [1, 1]}, %q: memref<i64> {lamina.name = "q"}, %y: memref<16x256xf32> {lamina.kind = "output"}, %w: memref<16x256xf32> {lamina.kind = "output"}) attributes {lamina.entry, lamina.compact} {
  func.call @fours(%x, %q, %y) : (memref<64x256xf32>, memref<i64>, memref<16x256xf32>) -> ()
  func.call @whole(%z, %w) : (memref<64x256xf32>, memref<16x256xf32>) -> ()
  func.return
}
func.func private @fours(%x: memref<64x256xf32>, %q: memref<i64>, %y: memref<16x256xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [16, 256] reads(%x[i * 4, j] : memref<64x256xf32>) writes([i, j] store into %y : memref<16x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 16, 256]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @whole(%x: memref<64x256xf32>, %y: memref<16x256xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [16, 256] reads(%x[i * 4, j] : memref<64x256xf32>) writes([i, j] store into %y : memref<16x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
