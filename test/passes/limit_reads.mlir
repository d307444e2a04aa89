// RUN: lamina-opt %s -p limit-reads --split-input-file | filecheck %s

// Places that are not below a number of the call become the extent, which the read refuses: it ends at the number.
// CHECK-LABEL: @guarded
// CHECK:         loop.generic (d0, d1) in [64, 4] reads(%g[d0] : tensor<64xi64>, %n[] : tensor<i64>) sources(%t : tensor<1024x4xf32>)
// CHECK-NEXT:    ^bb0([[P:%\S+]]: i64, [[M:%\S+]]: i64, [[S:%\S+]]: tensor<1024x4xf32>):
// CHECK-NEXT:      [[N:%\S+]] = arith.index_cast [[M]] : i64 to index
// CHECK-NEXT:      [[Q:%\S+]] = arith.index_cast [[P]] : i64 to index
// CHECK-NEXT:      [[C:%\S+]] = loop.index 1 : index
// CHECK-NEXT:      loop.read [[S]]{{\[}}[[Q]] below [[N]], [[C]]] : tensor<1024x4xf32>
func.func @guarded(%t: tensor<1024x4xf32>, %i: tensor<64xi64>, %n: tensor<i64>) -> tensor<64x4xf32> {
  %g = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>, %n[] : tensor<i64>) writes([i] store : tensor<64xi64>) {
  ^bb0(%p: i64, %m: i64):
    %zero = arith.constant 0 : i64
    %low = arith.cmpi slt, %p, %zero : i64
    %high = arith.cmpi sge, %p, %m : i64
    %outside = arith.ori %low, %high : i1
    %most = arith.constant 1024 : i64
    %safe = arith.select %outside, %most, %p : i64
    loop.yield %safe : i64
  }
  %r = loop.generic (i, j) in [64, 4] reads(%g[i] : tensor<64xi64>) sources(%t : tensor<1024x4xf32>) writes([i, j] store : tensor<64x4xf32>) {
  ^bb0(%p: i64, %s: tensor<1024x4xf32>):
    %q = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    %v = loop.read %s[%q, %c] : tensor<1024x4xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// As `bound-dynamic-shapes` has it: one nest for each step, 0 in the padding of the places, and negative ones counted from
// the end once more, which none is.
// CHECK-LABEL: @in_steps
// CHECK:         loop.read {{%\S+}}[{{%\S+}} below {{%\S+}}, {{%\S+}}] : tensor<1024x4xf32>
func.func @in_steps(%t: tensor<1024x4xf32>, %i: tensor<64xi64>, %n: tensor<i64>, %k: tensor<i64>) -> tensor<64x4xf32> {
  %low = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>) writes([i] store : tensor<64xi1>) {
  ^bb0(%p: i64):
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %p, %zero : i64
    loop.yield %below : i1
  }
  %wide = loop.generic (i) in [64] reads(%n[] : tensor<i64>) writes([i] store : tensor<64xi64>) {
  ^bb0(%m: i64):
    loop.yield %m : i64
  }
  %high = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>, %wide[i] : tensor<64xi64>) writes([i] store : tensor<64xi1>) {
  ^bb0(%p: i64, %m: i64):
    %above = arith.cmpi sge, %p, %m : i64
    loop.yield %above : i1
  }
  %outside = loop.generic (i) in [64] reads(%high[i] : tensor<64xi1>, %low[i] : tensor<64xi1>) writes([i] store : tensor<64xi1>) {
  ^bb0(%a: i1, %b: i1):
    %either = arith.ori %a, %b : i1
    loop.yield %either : i1
  }
  %safe = loop.generic (i) in [64] reads(%outside[i] : tensor<64xi1>, %i[i] : tensor<64xi64>) writes([i] store : tensor<64xi64>) {
  ^bb0(%on: i1, %p: i64):
    %most = arith.constant 1024 : i64
    %v = arith.select %on, %most, %p : i64
    loop.yield %v : i64
  }
  %g = loop.generic (i) in [64] reads(%safe[i] : tensor<64xi64>, %k[] : tensor<i64>) writes([i] store : tensor<64xi64>) {
  ^bb0(%p: i64, %m: i64):
    %at = loop.index 0 : index
    %here = arith.index_cast %at : index to i64
    %counts = arith.cmpi slt, %here, %m : i64
    %zero = arith.constant 0 : i64
    %v = arith.select %counts, %p, %zero : i64
    %negative = arith.cmpi slt, %v, %zero : i64
    %extent = arith.constant 1024 : i64
    %wrapped = arith.addi %v, %extent : i64
    %w = arith.select %negative, %wrapped, %v : i64
    loop.yield %w : i64
  }
  %r = loop.generic (i, j) in [64, 4] reads(%g[i] : tensor<64xi64>) sources(%t : tensor<1024x4xf32>) writes([i, j] store : tensor<64x4xf32>) {
  ^bb0(%p: i64, %s: tensor<1024x4xf32>):
    %q = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    %v = loop.read %s[%q, %c] : tensor<1024x4xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// Here places behind become one that is read.
// CHECK-LABEL: @inside
// CHECK-NOT:     below
func.func @inside(%t: tensor<1024x4xf32>, %i: tensor<64xi64>, %n: tensor<i64>) -> tensor<64x4xf32> {
  %g = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>, %n[] : tensor<i64>) writes([i] store : tensor<64xi64>) {
  ^bb0(%p: i64, %m: i64):
    %zero = arith.constant 0 : i64
    %low = arith.cmpi slt, %p, %zero : i64
    %high = arith.cmpi sge, %p, %m : i64
    %outside = arith.ori %low, %high : i1
    %most = arith.constant 1023 : i64
    %safe = arith.select %outside, %most, %p : i64
    loop.yield %safe : i64
  }
  %r = loop.generic (i, j) in [64, 4] reads(%g[i] : tensor<64xi64>) sources(%t : tensor<1024x4xf32>) writes([i, j] store : tensor<64x4xf32>) {
  ^bb0(%p: i64, %s: tensor<1024x4xf32>):
    %q = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    %v = loop.read %s[%q, %c] : tensor<1024x4xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// What is compared is another index.
// CHECK-LABEL: @other
// CHECK-NOT:     below
func.func @other(%t: tensor<1024x4xf32>, %i: tensor<64xi64>, %n: tensor<i64>, %k: tensor<64xi64>) -> tensor<64x4xf32> {
  %g = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>, %n[] : tensor<i64>, %k[i] : tensor<64xi64>) writes([i] store : tensor<64xi64>) {
  ^bb0(%p: i64, %m: i64, %o: i64):
    %zero = arith.constant 0 : i64
    %low = arith.cmpi slt, %o, %zero : i64
    %high = arith.cmpi sge, %o, %m : i64
    %outside = arith.ori %low, %high : i1
    %most = arith.constant 1024 : i64
    %safe = arith.select %outside, %most, %p : i64
    loop.yield %safe : i64
  }
  %r = loop.generic (i, j) in [64, 4] reads(%g[i] : tensor<64xi64>) sources(%t : tensor<1024x4xf32>) writes([i, j] store : tensor<64x4xf32>) {
  ^bb0(%p: i64, %s: tensor<1024x4xf32>):
    %q = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    %v = loop.read %s[%q, %c] : tensor<1024x4xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// Negative places are not refused.
// CHECK-LABEL: @negative
// CHECK-NOT:     below
func.func @negative(%t: tensor<1024x4xf32>, %i: tensor<64xi64>, %n: tensor<i64>) -> tensor<64x4xf32> {
  %g = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>, %n[] : tensor<i64>) writes([i] store : tensor<64xi64>) {
  ^bb0(%p: i64, %m: i64):
    %zero = arith.constant 0 : i64
    %low = arith.cmpi slt, %p, %zero : i64
    %high = arith.cmpi sge, %p, %m : i64
    %outside = arith.ori %high, %high : i1
    %most = arith.constant 1024 : i64
    %safe = arith.select %outside, %most, %p : i64
    loop.yield %safe : i64
  }
  %r = loop.generic (i, j) in [64, 4] reads(%g[i] : tensor<64xi64>) sources(%t : tensor<1024x4xf32>) writes([i, j] store : tensor<64x4xf32>) {
  ^bb0(%p: i64, %s: tensor<1024x4xf32>):
    %q = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    %v = loop.read %s[%q, %c] : tensor<1024x4xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// The number itself is a place as well.
// CHECK-LABEL: @reaches
// CHECK-NOT:     below
func.func @reaches(%t: tensor<1024x4xf32>, %i: tensor<64xi64>, %n: tensor<i64>) -> tensor<64x4xf32> {
  %g = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>, %n[] : tensor<i64>) writes([i] store : tensor<64xi64>) {
  ^bb0(%p: i64, %m: i64):
    %zero = arith.constant 0 : i64
    %low = arith.cmpi slt, %p, %zero : i64
    %high = arith.cmpi sgt, %p, %m : i64
    %outside = arith.ori %low, %high : i1
    %most = arith.constant 1024 : i64
    %safe = arith.select %outside, %most, %p : i64
    loop.yield %safe : i64
  }
  %r = loop.generic (i, j) in [64, 4] reads(%g[i] : tensor<64xi64>) sources(%t : tensor<1024x4xf32>) writes([i, j] store : tensor<64x4xf32>) {
  ^bb0(%p: i64, %s: tensor<1024x4xf32>):
    %q = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    %v = loop.read %s[%q, %c] : tensor<1024x4xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// Each place has a number of its own.
// CHECK-LABEL: @numbers
// CHECK-NOT:     below
func.func @numbers(%t: tensor<1024x4xf32>, %i: tensor<64xi64>, %n: tensor<64xi64>) -> tensor<64x4xf32> {
  %g = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>, %n[i] : tensor<64xi64>) writes([i] store : tensor<64xi64>) {
  ^bb0(%p: i64, %m: i64):
    %zero = arith.constant 0 : i64
    %low = arith.cmpi slt, %p, %zero : i64
    %high = arith.cmpi sge, %p, %m : i64
    %outside = arith.ori %low, %high : i1
    %most = arith.constant 1024 : i64
    %safe = arith.select %outside, %most, %p : i64
    loop.yield %safe : i64
  }
  %r = loop.generic (i, j) in [64, 4] reads(%g[i] : tensor<64xi64>) sources(%t : tensor<1024x4xf32>) writes([i, j] store : tensor<64x4xf32>) {
  ^bb0(%p: i64, %s: tensor<1024x4xf32>):
    %q = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    %v = loop.read %s[%q, %c] : tensor<1024x4xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<64x4xf32>
}

// -----

// Places that are computed and cannot be that far: the last one less a position, the least of a position and the last one,
// and remainders.
// CHECK-LABEL: @flipped
// CHECK:         loop.read {{%\S+}}[{{%\S+}} below {{%\S+}}, {{%\S+}}] : tensor<64x4xf32>
func.func @flipped(%t: tensor<64x4xf32>, %n: tensor<i64>) -> tensor<64x4xf32> {
  %last = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) {
  ^bb0(%m: i64):
    %one = arith.constant 1 : i64
    %less = arith.subi %m, %one : i64
    loop.yield %less : i64
  }
  %places = loop.generic (i) in [64] reads(%last[] : tensor<i64>) writes([i] store : tensor<64xi64>) {
  ^bb0(%m: i64):
    %d = loop.index 0 : index
    %i = arith.index_cast %d : index to i64
    %back = arith.subi %m, %i : i64
    %zero = arith.constant 0 : i64
    %natural = arith.maxsi %back, %zero : i64
    %most = arith.constant 63 : i64
    %place = arith.minsi %natural, %most : i64
    %all = arith.constant 64 : i64
    %wrapped = arith.addi %place, %all : i64
    %negative = arith.cmpi slt, %place, %zero : i64
    %q = arith.select %negative, %wrapped, %place : i64
    loop.yield %q : i64
  }
  %r = loop.generic (i, j) in [64, 4] reads(%places[i] : tensor<64xi64>) sources(%t : tensor<64x4xf32>) writes([i, j] store : tensor<64x4xf32>) {
  ^bb0(%p: i64, %s: tensor<64x4xf32>):
    %q = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    %v = loop.read %s[%q, %c] : tensor<64x4xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<64x4xf32>
}

// CHECK-LABEL: @clamped
// CHECK:         loop.read {{%\S+}}[{{%\S+}} below {{%\S+}}] : tensor<64xf32>
func.func @clamped(%t: tensor<64xf32>, %n: tensor<i64>) -> tensor<64xf32> {
  %r = loop.generic (i) in [64] reads(%n[] : tensor<i64>) sources(%t : tensor<64xf32>) writes([i] store : tensor<64xf32>) {
  ^bb0(%m: i64, %s: tensor<64xf32>):
    %one = arith.constant 1 : i64
    %last = arith.subi %m, %one : i64
    %d = loop.index 0 : index
    %i = arith.index_cast %d : index to i64
    %least = arith.minsi %i, %last : i64
    %zero = arith.constant 0 : i64
    %place = arith.maxsi %least, %zero : i64
    %q = arith.index_cast %place : i64 to index
    %v = loop.read %s[%q] : tensor<64xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<64xf32>
}

// CHECK-LABEL: @rolled
// CHECK:         loop.read {{%\S+}}[{{%\S+}} below {{%\S+}}] : tensor<64xf32>
func.func @rolled(%t: tensor<64xf32>, %n: tensor<i64>) -> tensor<64xf32> {
  %r = loop.generic (i) in [64] reads(%n[] : tensor<i64>) sources(%t : tensor<64xf32>) writes([i] store : tensor<64xf32>) {
  ^bb0(%m: i64, %s: tensor<64xf32>):
    %one = arith.constant 1 : i64
    %by = arith.maxsi %m, %one : i64
    %d = loop.index 0 : index
    %i = arith.index_cast %d : index to i64
    %before = arith.subi %i, %one : i64
    %rest = arith.remsi %before, %by : i64
    %zero = arith.constant 0 : i64
    %some = arith.cmpi ne, %rest, %zero : i64
    %low = arith.cmpi slt, %rest, %zero : i64
    %odd = arith.cmpi slt, %by, %zero : i64
    %differ = arith.xori %low, %odd : i1
    %on = arith.andi %some, %differ : i1
    %more = arith.addi %rest, %by : i64
    %place = arith.select %on, %more, %rest : i64
    %q = arith.index_cast %place : i64 to index
    %v = loop.read %s[%q] : tensor<64xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<64xf32>
}

// -----

// The least of a position and the number itself is one more; what is taken away may be negative; a remainder that is as
// often added as not may be the number.
// CHECK-LABEL: @too_far
// CHECK-NOT:     below
func.func @too_far(%t: tensor<64xf32>, %n: tensor<i64>, %by: tensor<64xi64>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %r, %u, %w = loop.generic (i) in [64] reads(%n[] : tensor<i64>, %by[i] : tensor<64xi64>) sources(%t : tensor<64xf32>) writes([i] store : tensor<64xf32>, [i] store : tensor<64xf32>, [i] store : tensor<64xf32>) {
  ^bb0(%m: i64, %b: i64, %s: tensor<64xf32>):
    %d = loop.index 0 : index
    %i = arith.index_cast %d : index to i64
    %least = arith.minsi %i, %m : i64
    %q = arith.index_cast %least : i64 to index
    %v = loop.read %s[%q] : tensor<64xf32>
    %one = arith.constant 1 : i64
    %last = arith.subi %m, %one : i64
    %back = arith.subi %last, %b : i64
    %zero = arith.constant 0 : i64
    %natural = arith.maxsi %back, %zero : i64
    %p = arith.index_cast %natural : i64 to index
    %x = loop.read %s[%p] : tensor<64xf32>
    %modulus = arith.maxsi %m, %one : i64
    %rest = arith.remsi %b, %modulus : i64
    %some = arith.cmpi ne, %rest, %zero : i64
    %more = arith.addi %rest, %modulus : i64
    %place = arith.select %some, %more, %rest : i64
    %o = arith.index_cast %place : i64 to index
    %y = loop.read %s[%o] : tensor<64xf32>
    loop.yield %v, %x, %y : f32, f32, f32
  }
  func.return %r, %u, %w : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// A number that follows from those of the call alone is one, too, and a remainder is below its modulus; one that is made of
// elements is none.
// CHECK-LABEL: @numbers_that_follow
// CHECK:         loop.generic (d0) in [64] reads({{.*}}, [[HALF:%\S+]][] : tensor<i64>
// CHECK:           loop.read {{%\S+}}[{{%\S+}} below {{%\S+}}] : tensor<64xf32>
// CHECK:           loop.read {{%\S+}}[{{%\S+}} below {{%\S+}}] : tensor<64xf32>
// CHECK:           loop.read {{%\S+}}[{{%\S+}}] : tensor<64xf32>
func.func @numbers_that_follow(%t: tensor<64xf32>, %n: tensor<i64>, %by: tensor<64xi64>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %half = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) {
  ^bb0(%a: i64):
    %two = arith.constant 2 : i64
    %b = arith.divsi %a, %two : i64
    loop.yield %b : i64
  }
  %most = loop.generic (i) in [64] reads(%by[i] : tensor<64xi64>) writes([] max : tensor<i64>) {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  %r, %u, %w = loop.generic (i) in [64] reads(%half[] : tensor<i64>, %by[i] : tensor<64xi64>, %most[] : tensor<i64>) sources(%t : tensor<64xf32>) writes([i] store : tensor<64xf32>, [i] store : tensor<64xf32>, [i] store : tensor<64xf32>) {
  ^bb0(%m: i64, %b: i64, %e: i64, %s: tensor<64xf32>):
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %last = arith.subi %m, %one : i64
    %least = arith.minsi %b, %last : i64
    %natural = arith.maxsi %least, %zero : i64
    %q = arith.index_cast %natural : i64 to index
    %v = loop.read %s[%q] : tensor<64xf32>
    %modulus = arith.maxsi %m, %one : i64
    %times = arith.divsi %b, %modulus : i64
    %whole = arith.muli %times, %modulus : i64
    %left = arith.subi %b, %whole : i64
    %rest = arith.maxsi %left, %zero : i64
    %o = arith.index_cast %rest : i64 to index
    %y = loop.read %s[%o] : tensor<64xf32>
    %end = arith.subi %e, %one : i64
    %within = arith.minsi %b, %end : i64
    %inside = arith.maxsi %within, %zero : i64
    %p = arith.index_cast %inside : i64 to index
    %x = loop.read %s[%p] : tensor<64xf32>
    loop.yield %v, %y, %x : f32, f32, f32
  }
  func.return %r, %u, %w : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
