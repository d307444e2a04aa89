// RUN: lamina-opt %s -p elide-joins --split-input-file | filecheck %s

// Position p of the result is at (p / w, p mod w) of what is made, whose rows follow one another as those of the call
// do: it is made where it is wanted. Nobody needs the places any more.
// CHECK-LABEL: func.func @main
// CHECK:         func.call @sizes(
// CHECK-NEXT:    %[[SAME:[^ ]*]] = loop.reshape %out : memref<4096xf32> -> memref<64x64xf32>
// CHECK-NEXT:    func.call @maker(%x, %h, %w, %[[SAME]])
// CHECK-NOT:     func.call
// CHECK-NOT:   @joins
func.func @main(%x: memref<64xf32>, %h: memref<i64> {lamina.name = "h"}, %w: memref<i64> {lamina.name = "w"}, %out: memref<4096xf32> {lamina.kind = "output", lamina.sizes = [0], lamina.limits = [4]}, %n: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1 * arg2>}, %arena: memref<82048xi8> {lamina.kind = "arena"}) attributes {lamina.entry, lamina.compact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 16384 : index
  %c2 = arith.constant 49152 : index
  %c3 = arith.constant 81920 : index
  %c4 = arith.constant 81984 : index
  %last = memref.view %arena[%c3][] : memref<82048xi8> to memref<i64>
  %by = memref.view %arena[%c4][] : memref<82048xi8> to memref<i64>
  func.call @sizes(%h, %w, %n, %last, %by) : (memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>) -> ()
  %t = memref.view %arena[%c0][] : memref<82048xi8> to memref<64x64xf32>
  func.call @maker(%x, %h, %w, %t) : (memref<64xf32>, memref<i64>, memref<i64>, memref<64x64xf32>) -> ()
  %q = memref.view %arena[%c1][] : memref<82048xi8> to memref<4096xi64>
  %r = memref.view %arena[%c2][] : memref<82048xi8> to memref<4096xi64>
  func.call @places(%last, %by, %n, %q, %r) : (memref<i64>, memref<i64>, memref<i64>, memref<4096xi64>, memref<4096xi64>) -> ()
  func.call @joins(%q, %r, %h, %w, %t, %n, %out) : (memref<4096xi64>, memref<4096xi64>, memref<i64>, memref<i64>, memref<64x64xf32>, memref<i64>, memref<4096xf32>) -> ()
  func.return
}
func.func private @sizes(%h: memref<i64>, %w: memref<i64>, %n: memref<i64>, %last: memref<i64>, %by: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic () in [] reads(%h[] : memref<i64>, %w[] : memref<i64>) writes([] store into %n : memref<i64>, [] store into %last : memref<i64>, [] store into %by : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %b: i64):
    %one = arith.constant 1 : i64
    %all = arith.muli %a, %b : i64
    %least = arith.maxsi %b, %one : i64
    %less = arith.subi %a, %one : i64
    loop.yield %all, %less, %least : i64, i64, i64
  }
  func.return
}
func.func private @maker(%x: memref<64xf32>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [1, 2]}) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1]>]} {
  loop.generic (i, j) in [64, 64] reads(%x[j] : memref<64xf32>) writes([i, j] store into %t : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, arg2 of 64]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @places(%last: memref<i64>, %by: memref<i64>, %n: memref<i64>, %q: memref<4096xi64>, %r: memref<4096xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%last[] : memref<i64>, %by[] : memref<i64>) writes([p] store into %q : memref<4096xi64>, [p] store into %r : memref<4096xi64>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 4096]>} {
  ^bb0(%l: i64, %b: i64):
    %zero = arith.constant 0 : i64
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %d = arith.divsi %p, %b : i64
    %m = arith.muli %d, %b : i64
    %s = arith.subi %p, %m : i64
    %inside = arith.minsi %d, %l : i64
    %first = arith.maxsi %inside, %zero : i64
    %second = arith.maxsi %s, %zero : i64
    loop.yield %first, %second : i64, i64
  }
  func.return
}
func.func private @joins(%q: memref<4096xi64>, %r: memref<4096xi64>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [2, 3]}, %n: memref<i64>, %out: memref<4096xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%q[p] : memref<4096xi64>, %r[p] : memref<4096xi64>, %h[] : memref<i64>, %w[] : memref<i64>) sources(%t : memref<64x64xf32>) writes([p] store into %out : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg5 of 4096]>} {
  ^bb0(%a: i64, %b: i64, %c: i64, %d: i64, %s: memref<64x64xf32>):
    %row = arith.index_cast %a : i64 to index
    %column = arith.index_cast %b : i64 to index
    %rows = arith.index_cast %c : i64 to index
    %columns = arith.index_cast %d : i64 to index
    %e = loop.read %s[%row below %rows, %column below %columns] : memref<64x64xf32>
    loop.yield %e : f32
  }
  func.return
}

// -----

// Not by a number that is another one than that of a row.
// CHECK-LABEL: func.func @main
// CHECK:         func.call @joins(
func.func @main(%x: memref<64xf32>, %h: memref<i64> {lamina.name = "h"}, %w: memref<i64> {lamina.name = "w"}, %out: memref<4096xf32> {lamina.kind = "output", lamina.sizes = [0], lamina.limits = [4]}, %n: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1 * arg2>}, %arena: memref<82048xi8> {lamina.kind = "arena"}) attributes {lamina.entry, lamina.compact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 16384 : index
  %c2 = arith.constant 49152 : index
  %c3 = arith.constant 81920 : index
  %c4 = arith.constant 81984 : index
  %last = memref.view %arena[%c3][] : memref<82048xi8> to memref<i64>
  %by = memref.view %arena[%c4][] : memref<82048xi8> to memref<i64>
  func.call @sizes(%h, %w, %n, %last, %by) : (memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>) -> ()
  %t = memref.view %arena[%c0][] : memref<82048xi8> to memref<64x64xf32>
  func.call @maker(%x, %h, %w, %t) : (memref<64xf32>, memref<i64>, memref<i64>, memref<64x64xf32>) -> ()
  %q = memref.view %arena[%c1][] : memref<82048xi8> to memref<4096xi64>
  %r = memref.view %arena[%c2][] : memref<82048xi8> to memref<4096xi64>
  func.call @places(%last, %by, %n, %q, %r) : (memref<i64>, memref<i64>, memref<i64>, memref<4096xi64>, memref<4096xi64>) -> ()
  func.call @joins(%q, %r, %h, %w, %t, %n, %out) : (memref<4096xi64>, memref<4096xi64>, memref<i64>, memref<i64>, memref<64x64xf32>, memref<i64>, memref<4096xf32>) -> ()
  func.return
}
func.func private @sizes(%h: memref<i64>, %w: memref<i64>, %n: memref<i64>, %last: memref<i64>, %by: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic () in [] reads(%h[] : memref<i64>, %w[] : memref<i64>) writes([] store into %n : memref<i64>, [] store into %last : memref<i64>, [] store into %by : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %b: i64):
    %one = arith.constant 1 : i64
    %all = arith.muli %a, %b : i64
    %least = arith.maxsi %a, %one : i64
    %less = arith.subi %a, %one : i64
    loop.yield %all, %less, %least : i64, i64, i64
  }
  func.return
}
func.func private @maker(%x: memref<64xf32>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [1, 2]}) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1]>]} {
  loop.generic (i, j) in [64, 64] reads(%x[j] : memref<64xf32>) writes([i, j] store into %t : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, arg2 of 64]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @places(%last: memref<i64>, %by: memref<i64>, %n: memref<i64>, %q: memref<4096xi64>, %r: memref<4096xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%last[] : memref<i64>, %by[] : memref<i64>) writes([p] store into %q : memref<4096xi64>, [p] store into %r : memref<4096xi64>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 4096]>} {
  ^bb0(%l: i64, %b: i64):
    %zero = arith.constant 0 : i64
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %d = arith.divsi %p, %b : i64
    %m = arith.muli %d, %b : i64
    %s = arith.subi %p, %m : i64
    %inside = arith.minsi %d, %l : i64
    %first = arith.maxsi %inside, %zero : i64
    %second = arith.maxsi %s, %zero : i64
    loop.yield %first, %second : i64, i64
  }
  func.return
}
func.func private @joins(%q: memref<4096xi64>, %r: memref<4096xi64>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [2, 3]}, %n: memref<i64>, %out: memref<4096xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%q[p] : memref<4096xi64>, %r[p] : memref<4096xi64>, %h[] : memref<i64>, %w[] : memref<i64>) sources(%t : memref<64x64xf32>) writes([p] store into %out : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg5 of 4096]>} {
  ^bb0(%a: i64, %b: i64, %c: i64, %d: i64, %s: memref<64x64xf32>):
    %row = arith.index_cast %a : i64 to index
    %column = arith.index_cast %b : i64 to index
    %rows = arith.index_cast %c : i64 to index
    %columns = arith.index_cast %d : i64 to index
    %e = loop.read %s[%row below %rows, %column below %columns] : memref<64x64xf32>
    loop.yield %e : f32
  }
  func.return
}

// -----

// Not the other way round.
// CHECK-LABEL: func.func @main
// CHECK:         func.call @joins(
func.func @main(%x: memref<64xf32>, %h: memref<i64> {lamina.name = "h"}, %w: memref<i64> {lamina.name = "w"}, %out: memref<4096xf32> {lamina.kind = "output", lamina.sizes = [0], lamina.limits = [4]}, %n: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1 * arg2>}, %arena: memref<82048xi8> {lamina.kind = "arena"}) attributes {lamina.entry, lamina.compact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 16384 : index
  %c2 = arith.constant 49152 : index
  %c3 = arith.constant 81920 : index
  %c4 = arith.constant 81984 : index
  %last = memref.view %arena[%c3][] : memref<82048xi8> to memref<i64>
  %by = memref.view %arena[%c4][] : memref<82048xi8> to memref<i64>
  func.call @sizes(%h, %w, %n, %last, %by) : (memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>) -> ()
  %t = memref.view %arena[%c0][] : memref<82048xi8> to memref<64x64xf32>
  func.call @maker(%x, %h, %w, %t) : (memref<64xf32>, memref<i64>, memref<i64>, memref<64x64xf32>) -> ()
  %q = memref.view %arena[%c1][] : memref<82048xi8> to memref<4096xi64>
  %r = memref.view %arena[%c2][] : memref<82048xi8> to memref<4096xi64>
  func.call @places(%last, %by, %n, %q, %r) : (memref<i64>, memref<i64>, memref<i64>, memref<4096xi64>, memref<4096xi64>) -> ()
  func.call @joins(%r, %q, %h, %w, %t, %n, %out) : (memref<4096xi64>, memref<4096xi64>, memref<i64>, memref<i64>, memref<64x64xf32>, memref<i64>, memref<4096xf32>) -> ()
  func.return
}
func.func private @sizes(%h: memref<i64>, %w: memref<i64>, %n: memref<i64>, %last: memref<i64>, %by: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic () in [] reads(%h[] : memref<i64>, %w[] : memref<i64>) writes([] store into %n : memref<i64>, [] store into %last : memref<i64>, [] store into %by : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %b: i64):
    %one = arith.constant 1 : i64
    %all = arith.muli %a, %b : i64
    %least = arith.maxsi %b, %one : i64
    %less = arith.subi %a, %one : i64
    loop.yield %all, %less, %least : i64, i64, i64
  }
  func.return
}
func.func private @maker(%x: memref<64xf32>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [1, 2]}) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1]>]} {
  loop.generic (i, j) in [64, 64] reads(%x[j] : memref<64xf32>) writes([i, j] store into %t : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, arg2 of 64]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @places(%last: memref<i64>, %by: memref<i64>, %n: memref<i64>, %q: memref<4096xi64>, %r: memref<4096xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%last[] : memref<i64>, %by[] : memref<i64>) writes([p] store into %q : memref<4096xi64>, [p] store into %r : memref<4096xi64>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 4096]>} {
  ^bb0(%l: i64, %b: i64):
    %zero = arith.constant 0 : i64
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %d = arith.divsi %p, %b : i64
    %m = arith.muli %d, %b : i64
    %s = arith.subi %p, %m : i64
    %inside = arith.minsi %d, %l : i64
    %first = arith.maxsi %inside, %zero : i64
    %second = arith.maxsi %s, %zero : i64
    loop.yield %first, %second : i64, i64
  }
  func.return
}
func.func private @joins(%q: memref<4096xi64>, %r: memref<4096xi64>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [2, 3]}, %n: memref<i64>, %out: memref<4096xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%q[p] : memref<4096xi64>, %r[p] : memref<4096xi64>, %h[] : memref<i64>, %w[] : memref<i64>) sources(%t : memref<64x64xf32>) writes([p] store into %out : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg5 of 4096]>} {
  ^bb0(%a: i64, %b: i64, %c: i64, %d: i64, %s: memref<64x64xf32>):
    %row = arith.index_cast %a : i64 to index
    %column = arith.index_cast %b : i64 to index
    %rows = arith.index_cast %c : i64 to index
    %columns = arith.index_cast %d : i64 to index
    %e = loop.read %s[%row below %rows, %column below %columns] : memref<64x64xf32>
    loop.yield %e : f32
  }
  func.return
}

// -----

// Not what is written beyond the call's rows, for which a result has no room.
// CHECK-LABEL: func.func @main
// CHECK:         func.call @joins(
func.func @main(%x: memref<64xf32>, %h: memref<i64> {lamina.name = "h"}, %w: memref<i64> {lamina.name = "w"}, %out: memref<4096xf32> {lamina.kind = "output", lamina.sizes = [0], lamina.limits = [4]}, %n: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1 * arg2>}, %arena: memref<82048xi8> {lamina.kind = "arena"}) attributes {lamina.entry, lamina.compact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 16384 : index
  %c2 = arith.constant 49152 : index
  %c3 = arith.constant 81920 : index
  %c4 = arith.constant 81984 : index
  %last = memref.view %arena[%c3][] : memref<82048xi8> to memref<i64>
  %by = memref.view %arena[%c4][] : memref<82048xi8> to memref<i64>
  func.call @sizes(%h, %w, %n, %last, %by) : (memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>) -> ()
  %t = memref.view %arena[%c0][] : memref<82048xi8> to memref<64x64xf32>
  func.call @maker(%x, %h, %w, %t) : (memref<64xf32>, memref<i64>, memref<i64>, memref<64x64xf32>) -> ()
  %q = memref.view %arena[%c1][] : memref<82048xi8> to memref<4096xi64>
  %r = memref.view %arena[%c2][] : memref<82048xi8> to memref<4096xi64>
  func.call @places(%last, %by, %n, %q, %r) : (memref<i64>, memref<i64>, memref<i64>, memref<4096xi64>, memref<4096xi64>) -> ()
  func.call @joins(%q, %r, %h, %w, %t, %n, %out) : (memref<4096xi64>, memref<4096xi64>, memref<i64>, memref<i64>, memref<64x64xf32>, memref<i64>, memref<4096xf32>) -> ()
  func.return
}
func.func private @sizes(%h: memref<i64>, %w: memref<i64>, %n: memref<i64>, %last: memref<i64>, %by: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic () in [] reads(%h[] : memref<i64>, %w[] : memref<i64>) writes([] store into %n : memref<i64>, [] store into %last : memref<i64>, [] store into %by : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %b: i64):
    %one = arith.constant 1 : i64
    %all = arith.muli %a, %b : i64
    %least = arith.maxsi %b, %one : i64
    %less = arith.subi %a, %one : i64
    loop.yield %all, %less, %least : i64, i64, i64
  }
  func.return
}
func.func private @maker(%x: memref<64xf32>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [1, 2]}) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1]>]} {
  loop.generic (i, j) in [64, 64] reads(%x[j] : memref<64xf32>) writes([i, j] store into %t : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [64, arg2 of 64]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @places(%last: memref<i64>, %by: memref<i64>, %n: memref<i64>, %q: memref<4096xi64>, %r: memref<4096xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%last[] : memref<i64>, %by[] : memref<i64>) writes([p] store into %q : memref<4096xi64>, [p] store into %r : memref<4096xi64>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 4096]>} {
  ^bb0(%l: i64, %b: i64):
    %zero = arith.constant 0 : i64
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %d = arith.divsi %p, %b : i64
    %m = arith.muli %d, %b : i64
    %s = arith.subi %p, %m : i64
    %inside = arith.minsi %d, %l : i64
    %first = arith.maxsi %inside, %zero : i64
    %second = arith.maxsi %s, %zero : i64
    loop.yield %first, %second : i64, i64
  }
  func.return
}
func.func private @joins(%q: memref<4096xi64>, %r: memref<4096xi64>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [2, 3]}, %n: memref<i64>, %out: memref<4096xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%q[p] : memref<4096xi64>, %r[p] : memref<4096xi64>, %h[] : memref<i64>, %w[] : memref<i64>) sources(%t : memref<64x64xf32>) writes([p] store into %out : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg5 of 4096]>} {
  ^bb0(%a: i64, %b: i64, %c: i64, %d: i64, %s: memref<64x64xf32>):
    %row = arith.index_cast %a : i64 to index
    %column = arith.index_cast %b : i64 to index
    %rows = arith.index_cast %c : i64 to index
    %columns = arith.index_cast %d : i64 to index
    %e = loop.read %s[%row below %rows, %column below %columns] : memref<64x64xf32>
    loop.yield %e : f32
  }
  func.return
}

// -----

// Nor what somebody reads there.
// CHECK-LABEL: func.func @main
// CHECK:         func.call @joins(
func.func @main(%x: memref<64xf32>, %h: memref<i64> {lamina.name = "h"}, %w: memref<i64> {lamina.name = "w"}, %out: memref<4096xf32> {lamina.kind = "output", lamina.sizes = [0], lamina.limits = [4]}, %n: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1 * arg2>}, %arena: memref<82048xi8> {lamina.kind = "arena"}, %y: memref<64xf32> {lamina.kind = "output"}) attributes {lamina.entry, lamina.compact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 16384 : index
  %c2 = arith.constant 49152 : index
  %c3 = arith.constant 81920 : index
  %c4 = arith.constant 81984 : index
  %last = memref.view %arena[%c3][] : memref<82048xi8> to memref<i64>
  %by = memref.view %arena[%c4][] : memref<82048xi8> to memref<i64>
  func.call @sizes(%h, %w, %n, %last, %by) : (memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>) -> ()
  %t = memref.view %arena[%c0][] : memref<82048xi8> to memref<64x64xf32>
  func.call @maker(%x, %h, %w, %t) : (memref<64xf32>, memref<i64>, memref<i64>, memref<64x64xf32>) -> ()
  %q = memref.view %arena[%c1][] : memref<82048xi8> to memref<4096xi64>
  %r = memref.view %arena[%c2][] : memref<82048xi8> to memref<4096xi64>
  func.call @places(%last, %by, %n, %q, %r) : (memref<i64>, memref<i64>, memref<i64>, memref<4096xi64>, memref<4096xi64>) -> ()
  func.call @joins(%q, %r, %h, %w, %t, %n, %out) : (memref<4096xi64>, memref<4096xi64>, memref<i64>, memref<i64>, memref<64x64xf32>, memref<i64>, memref<4096xf32>) -> ()
  func.call @sums(%h, %w, %t, %y) : (memref<i64>, memref<i64>, memref<64x64xf32>, memref<64xf32>) -> ()
  func.return
}
func.func private @sizes(%h: memref<i64>, %w: memref<i64>, %n: memref<i64>, %last: memref<i64>, %by: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic () in [] reads(%h[] : memref<i64>, %w[] : memref<i64>) writes([] store into %n : memref<i64>, [] store into %last : memref<i64>, [] store into %by : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %b: i64):
    %one = arith.constant 1 : i64
    %all = arith.muli %a, %b : i64
    %least = arith.maxsi %b, %one : i64
    %less = arith.subi %a, %one : i64
    loop.yield %all, %less, %least : i64, i64, i64
  }
  func.return
}
func.func private @maker(%x: memref<64xf32>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [1, 2]}) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1]>]} {
  loop.generic (i, j) in [64, 64] reads(%x[j] : memref<64xf32>) writes([i, j] store into %t : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, arg2 of 64]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @places(%last: memref<i64>, %by: memref<i64>, %n: memref<i64>, %q: memref<4096xi64>, %r: memref<4096xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%last[] : memref<i64>, %by[] : memref<i64>) writes([p] store into %q : memref<4096xi64>, [p] store into %r : memref<4096xi64>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 4096]>} {
  ^bb0(%l: i64, %b: i64):
    %zero = arith.constant 0 : i64
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %d = arith.divsi %p, %b : i64
    %m = arith.muli %d, %b : i64
    %s = arith.subi %p, %m : i64
    %inside = arith.minsi %d, %l : i64
    %first = arith.maxsi %inside, %zero : i64
    %second = arith.maxsi %s, %zero : i64
    loop.yield %first, %second : i64, i64
  }
  func.return
}
func.func private @joins(%q: memref<4096xi64>, %r: memref<4096xi64>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [2, 3]}, %n: memref<i64>, %out: memref<4096xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%q[p] : memref<4096xi64>, %r[p] : memref<4096xi64>, %h[] : memref<i64>, %w[] : memref<i64>) sources(%t : memref<64x64xf32>) writes([p] store into %out : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg5 of 4096]>} {
  ^bb0(%a: i64, %b: i64, %c: i64, %d: i64, %s: memref<64x64xf32>):
    %row = arith.index_cast %a : i64 to index
    %column = arith.index_cast %b : i64 to index
    %rows = arith.index_cast %c : i64 to index
    %columns = arith.index_cast %d : i64 to index
    %e = loop.read %s[%row below %rows, %column below %columns] : memref<64x64xf32>
    loop.yield %e : f32
  }
  func.return
}
func.func private @sums(%h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> {lamina.extents = [0, 1]}, %y: memref<64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (j, i) in [64, 64] reads(%t[i, j] : memref<64x64xf32>) writes([j] add into %y : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d0 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// Nor rows that are as far apart as the type says.
// CHECK-LABEL: func.func @main
// CHECK:         func.call @joins(
func.func @main(%x: memref<64xf32>, %h: memref<i64> {lamina.name = "h"}, %w: memref<i64> {lamina.name = "w"}, %out: memref<4096xf32> {lamina.kind = "output", lamina.sizes = [0], lamina.limits = [4]}, %n: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1 * arg2>}, %arena: memref<82048xi8> {lamina.kind = "arena"}) attributes {lamina.entry, lamina.compact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 16384 : index
  %c2 = arith.constant 49152 : index
  %c3 = arith.constant 81920 : index
  %c4 = arith.constant 81984 : index
  %last = memref.view %arena[%c3][] : memref<82048xi8> to memref<i64>
  %by = memref.view %arena[%c4][] : memref<82048xi8> to memref<i64>
  func.call @sizes(%h, %w, %n, %last, %by) : (memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>) -> ()
  %t = memref.view %arena[%c0][] : memref<82048xi8> to memref<64x64xf32>
  func.call @maker(%x, %h, %w, %t) : (memref<64xf32>, memref<i64>, memref<i64>, memref<64x64xf32>) -> ()
  %q = memref.view %arena[%c1][] : memref<82048xi8> to memref<4096xi64>
  %r = memref.view %arena[%c2][] : memref<82048xi8> to memref<4096xi64>
  func.call @places(%last, %by, %n, %q, %r) : (memref<i64>, memref<i64>, memref<i64>, memref<4096xi64>, memref<4096xi64>) -> ()
  func.call @joins(%q, %r, %h, %w, %t, %n, %out) : (memref<4096xi64>, memref<4096xi64>, memref<i64>, memref<i64>, memref<64x64xf32>, memref<i64>, memref<4096xf32>) -> ()
  func.return
}
func.func private @sizes(%h: memref<i64>, %w: memref<i64>, %n: memref<i64>, %last: memref<i64>, %by: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic () in [] reads(%h[] : memref<i64>, %w[] : memref<i64>) writes([] store into %n : memref<i64>, [] store into %last : memref<i64>, [] store into %by : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64, %b: i64):
    %one = arith.constant 1 : i64
    %all = arith.muli %a, %b : i64
    %least = arith.maxsi %b, %one : i64
    %less = arith.subi %a, %one : i64
    loop.yield %all, %less, %least : i64, i64, i64
  }
  func.return
}
func.func private @maker(%x: memref<64xf32>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32> ) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1]>]} {
  loop.generic (i, j) in [64, 64] reads(%x[j] : memref<64xf32>) writes([i, j] store into %t : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64, arg2 of 64]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @places(%last: memref<i64>, %by: memref<i64>, %n: memref<i64>, %q: memref<4096xi64>, %r: memref<4096xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%last[] : memref<i64>, %by[] : memref<i64>) writes([p] store into %q : memref<4096xi64>, [p] store into %r : memref<4096xi64>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg2 of 4096]>} {
  ^bb0(%l: i64, %b: i64):
    %zero = arith.constant 0 : i64
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %d = arith.divsi %p, %b : i64
    %m = arith.muli %d, %b : i64
    %s = arith.subi %p, %m : i64
    %inside = arith.minsi %d, %l : i64
    %first = arith.maxsi %inside, %zero : i64
    %second = arith.maxsi %s, %zero : i64
    loop.yield %first, %second : i64, i64
  }
  func.return
}
func.func private @joins(%q: memref<4096xi64>, %r: memref<4096xi64>, %h: memref<i64>, %w: memref<i64>, %t: memref<64x64xf32>, %n: memref<i64>, %out: memref<4096xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (p) in [4096] reads(%q[p] : memref<4096xi64>, %r[p] : memref<4096xi64>, %h[] : memref<i64>, %w[] : memref<i64>) sources(%t : memref<64x64xf32>) writes([p] store into %out : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg5 of 4096]>} {
  ^bb0(%a: i64, %b: i64, %c: i64, %d: i64, %s: memref<64x64xf32>):
    %row = arith.index_cast %a : i64 to index
    %column = arith.index_cast %b : i64 to index
    %rows = arith.index_cast %c : i64 to index
    %columns = arith.index_cast %d : i64 to index
    %e = loop.read %s[%row below %rows, %column below %columns] : memref<64x64xf32>
    loop.yield %e : f32
  }
  func.return
}
