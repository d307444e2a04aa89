// RUN: lamina-opt %s -p derive-sizes --split-input-file | filecheck %s
// RUN: lamina-opt %s -p derive-sizes,derive-sizes --split-input-file | filecheck %s

// A sum that one kernel computes, and what another makes of it through a buffer in between: a difference, a multiple, a part,
// rounded down or to zero, and the larger of two. An input that is copied follows, too.
// CHECK-LABEL: @main
// CHECK-SAME:    %sum: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg0 + arg1>}
// CHECK-SAME:    %twice: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1 * 2>}
// CHECK-SAME:    %half: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<(arg0 + arg1 - 3) floordiv 2>}
// CHECK-SAME:    %above: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<max((arg0 + arg1 - 3) divsi 2, 0)>}
// CHECK-SAME:    %apart: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<min((arg0 + arg1) * arg0 + arg1 * -1, 7)>}
// CHECK-SAME:    %same: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1>}
func.func @main(%a: memref<i64>, %b: memref<i64>, %sum: memref<i64> {lamina.kind = "size"}, %twice: memref<i64> {lamina.kind = "size"}, %half: memref<i64> {lamina.kind = "size"}, %above: memref<i64> {lamina.kind = "size"}, %apart: memref<i64> {lamina.kind = "size"}, %same: memref<i64> {lamina.kind = "size"}, %arena: memref<64xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  %0 = arith.constant 0 : index
  %less = memref.view %arena[%0][] : memref<64xi8> to memref<i64>
  func.call @first(%a, %b, %sum, %twice, %same, %less) : (memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>) -> ()
  func.call @second(%less, %a, %b, %sum, %half, %above, %apart) : (memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>) -> ()
  func.return
}
func.func private @first(%a: memref<i64>, %b: memref<i64>, %sum: memref<i64>, %twice: memref<i64>, %same: memref<i64>, %less: memref<i64>) attributes {lamina.kernel} {
  loop.generic () in [] reads(%a[] : memref<i64>, %b[] : memref<i64>) writes([] store into %sum : memref<i64>, [] store into %twice : memref<i64>, [] store into %same : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64, %w: i64):
    %s = arith.addi %v, %w : i64
    %t = arith.addi %w, %w : i64
    loop.yield %s, %t, %w : i64, i64, i64
  }
  loop.generic () in [] reads(%sum[] : memref<i64>) writes([] store into %less : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64):
    %3 = arith.constant 3 : i64
    %l = arith.subi %v, %3 : i64
    loop.yield %l : i64
  }
  func.return
}
func.func private @second(%less: memref<i64>, %a: memref<i64>, %b: memref<i64>, %sum: memref<i64>, %half: memref<i64>, %above: memref<i64>, %apart: memref<i64>) attributes {lamina.kernel} {
  %own = memref.alloc() {alignment = 64 : i64} : memref<i64>
  loop.generic () in [] reads(%less[] : memref<i64>) writes([] store into %half : memref<i64>, [] store into %above : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64):
    %0 = arith.constant 0 : i64
    %2 = arith.constant 2 : i64
    %h = arith.floordivsi %v, %2 : i64
    %t = arith.divsi %v, %2 : i64
    %m = arith.maxsi %t, %0 : i64
    loop.yield %h, %m : i64, i64
  }
  loop.generic () in [] reads(%a[] : memref<i64>, %b[] : memref<i64>, %sum[] : memref<i64>) writes([] store into %own : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64, %w: i64, %s: i64):
    %p = arith.muli %s, %v : i64
    %d = arith.subi %p, %w : i64
    loop.yield %d : i64
  }
  loop.generic () in [] reads(%own[] : memref<i64>) writes([] store into %apart : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64):
    %7 = arith.constant 7 : i64
    %m = arith.minsi %v, %7 : i64
    loop.yield %m : i64
  }
  func.return
}

// -----

// What is noted and does not follow is forgotten: a count of elements, what an op makes that no formula has, a quotient by a
// size, a number of another type, what is added to what stood there, and what is written twice, or read before it is written.
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.derived
func.func @main(%x: memref<8xi1>, %a: memref<i64>, %b: memref<i64>, %f: memref<i32>, %count: memref<i64> {lamina.kind = "size", lamina.derived = #lamina.formula<arg1>}, %mixed: memref<i64> {lamina.kind = "size"}, %part: memref<i64> {lamina.kind = "size"}, %narrow: memref<i64> {lamina.kind = "size"}, %added: memref<i64> {lamina.kind = "size"}, %twice: memref<i64> {lamina.kind = "size"}, %before: memref<i64> {lamina.kind = "size"}) attributes {lamina.entry} {
  func.call @counted(%x, %count) : (memref<8xi1>, memref<i64>) -> ()
  func.call @numbers(%a, %b, %f, %mixed, %part, %narrow, %added, %twice, %before) : (memref<i64>, memref<i64>, memref<i32>, memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>, memref<i64>) -> ()
  func.call @again(%a, %twice) : (memref<i64>, memref<i64>) -> ()
  func.return
}
func.func private @counted(%x: memref<8xi1>, %count: memref<i64>) attributes {lamina.kernel} {
  loop.generic (i) in [8] reads(%x[i] : memref<8xi1>) writes([] add into %count : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i1):
    %w = arith.extui %v : i1 to i64
    loop.yield %w : i64
  }
  func.return
}
func.func private @numbers(%a: memref<i64>, %b: memref<i64>, %f: memref<i32>, %mixed: memref<i64>, %part: memref<i64>, %narrow: memref<i64>, %added: memref<i64>, %twice: memref<i64>, %before: memref<i64>) attributes {lamina.kernel} {
  %later = memref.alloc() {alignment = 64 : i64} : memref<i64>
  loop.generic () in [] reads(%a[] : memref<i64>, %b[] : memref<i64>, %f[] : memref<i32>) writes([] store into %mixed : memref<i64>, [] store into %part : memref<i64>, [] store into %narrow : memref<i64>, [] store into %twice : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64, %w: i64, %n: i32):
    %m = arith.xori %v, %w : i64
    %p = arith.floordivsi %v, %w : i64
    %e = arith.extsi %n : i32 to i64
    loop.yield %m, %p, %e, %v : i64, i64, i64, i64
  }
  loop.generic () in [] reads(%a[] : memref<i64>) writes([] add into %added : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64):
    loop.yield %v : i64
  }
  loop.generic () in [] reads(%mixed[] : memref<i64>) writes([] store into %before : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64):
    %1 = arith.constant 1 : i64
    %w = arith.addi %v, %1 : i64
    loop.yield %w : i64
  }
  func.return
}
func.func private @again(%a: memref<i64>, %twice: memref<i64>) attributes {lamina.kernel} {
  loop.generic () in [] reads(%a[] : memref<i64>) writes([] store into %twice : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64):
    loop.yield %v : i64
  }
  func.return
}

// -----

// In a branch nothing is known; nor is of what an extern kernel makes.
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.derived
func.func @main(%a: memref<i64>, %on: i1, %n: memref<i64> {lamina.kind = "size"}) attributes {lamina.entry} {
  scf.if %on {
    func.call @copied(%a, %n) : (memref<i64>, memref<i64>) -> ()
  }
  func.return
}
func.func private @copied(%a: memref<i64>, %n: memref<i64>) attributes {lamina.kernel} {
  loop.generic () in [] reads(%a[] : memref<i64>) writes([] store into %n : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64):
    loop.yield %v : i64
  }
  func.return
}

// -----

// A formula that would be too long is none: each step doubles what the one before says.
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.derived
func.func @main(%a: memref<i64>, %b: memref<i64>, %n: memref<i64> {lamina.kind = "size"}) attributes {lamina.entry} {
  func.call @long(%a, %b, %n) : (memref<i64>, memref<i64>, memref<i64>) -> ()
  func.return
}
func.func private @long(%a: memref<i64>, %b: memref<i64>, %n: memref<i64>) attributes {lamina.kernel} {
  loop.generic () in [] reads(%a[] : memref<i64>, %b[] : memref<i64>) writes([] store into %n : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i64, %w: i64):
    %0 = arith.maxsi %v, %w : i64
    %1 = arith.muli %0, %0 : i64
    %2 = arith.minsi %1, %0 : i64
    %3 = arith.muli %2, %2 : i64
    %4 = arith.minsi %3, %2 : i64
    %5 = arith.muli %4, %4 : i64
    %6 = arith.minsi %5, %4 : i64
    %7 = arith.muli %6, %6 : i64
    loop.yield %7 : i64
  }
  func.return
}
