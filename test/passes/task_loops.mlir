// RUN: lamina-opt %s -p verify-bufferized --split-input-file --verify-diagnostics | filecheck %s

// Loops around nests, written by hand: rows on threads, columns in turns.
func.func private @hand(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c45 = arith.constant 45 : index
  %c16 = arith.constant 16 : index
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%n: index):
    scf.for %j = %c0 to %c45 step %c16 {
      loop.generic (i, j) in [8, 45] slice(i = %n, j = %j x 16) reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
      ^bb0(%v: f32):
        loop.yield %v : f32
      }
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @hand

// -----

func.func private @outside(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %n = %c0 to %c9 step %c1 {
    loop.generic (i, j) in [8, 45] slice(i = %n) reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
  }
  func.return
}
// CHECK: error: loop.generic: slice of d0: begins at 0 to 8, there are 8 positions

// -----

func.func private @anywhere(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %n = %c0 to %c8 step %c1 {
    %m = arith.subi %n, %c1 : index
    loop.generic (i, j) in [8, 45] slice(i = %m) reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
  }
  func.return
}
// CHECK: error: loop.generic: slice of d0: begins anywhere, there are 8 positions

// -----

// Threads that run the same row.
func.func private @same(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c4 = arith.constant 4 : index
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%n: index):
    %m = arith.remui %n, %c4 : index
    loop.generic (i, j) in [8, 45] slice(i = %m) reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK: error: loop.generic: steps of the parallel loop around it run the same points

// -----

// Threads that add to the same sum.
func.func private @sum(%x: memref<8x45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%n: index):
    loop.generic (i, j) in [8, 45] slice(i = %n) reads(%x[i, j] : memref<8x45xf32>) writes([j] add into %y : memref<45xf32>) {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK: error: loop.generic: steps of the parallel loop around it run the same points

// -----

// Parts of a loop that overlap.
func.func private @overlap(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  "scf.parallel"(%c0, %c5, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%n: index):
    %low = arith.muli %n, %c8 : index
    loop.generic (i) in [45] slice(i = %low x 9) reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK: error: loop.generic: steps of the parallel loop around it run the same points

// -----

// What one thread makes, another would read.
func.func private @shared(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %t = memref.alloc() : memref<45xf32>
  "scf.parallel"(%c0, %c5, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%n: index):
    %low = arith.muli %n, %c9 : index
    loop.generic (i) in [45] slice(i = %low x 9) reads(%x[i] : memref<45xf32>) writes([i] store into %t : memref<45xf32>) {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    loop.generic (i) in [45] slice(i = %low x 9) reads(%t[44 - i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK: error: loop.generic: slice of d0: it reads elsewhere what others write

// -----

// Nests of one task that run different rows.
func.func private @rows(%x: memref<8x4xf32>, %y: memref<8x4xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c7 = arith.constant 7 : index
  %t = memref.alloc() : memref<8x4xf32>
  scf.for %n = %c0 to %c8 step %c1 {
    %m = arith.addi %n, %c1 : index
    %l = arith.minsi %m, %c7 : index
    loop.generic (i, j) in [8, 4] slice(i = %l) reads(%x[i, j] : memref<8x4xf32>) writes([i, j] store into %t : memref<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    loop.generic (i, j) in [8, 4] slice(i = %n) reads(%t[i, j] : memref<8x4xf32>) writes([i, j] store into %y : memref<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: its slices of rows are not those of a nest in front of it

// -----

func.func private @carried(%x: memref<8xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %n = %c0 to %c8 step %c1 iter_args(%a = %c0) -> (index) {
    loop.generic (i) in [8] slice(i = %n) writes([i] store into %x : memref<8xf32>) {
      %v = arith.constant 0.0 : f32
      loop.yield %v : f32
    }
    scf.yield %a : index
  }
  func.return
}
// CHECK: error: scf.for: a loop around nests has one counter, between known numbers, and no values

// -----

// Columns of what is kept that another step has made.
func.func private @turned(%x: memref<8x12xf32>, %y: memref<8x12xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<tile = 4>]} {
  %t = memref.alloc() : memref<8x12xf32>
  loop.generic (i, j) in [8, 12] reads(%x[i, j] : memref<8x12xf32>) writes([i, j] store into %t : memref<8x12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8, 12] reads(%t[i, 11 - j] : memref<8x12xf32>) writes([i, j] store into %y : memref<8x12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: tile: what a row hands on is not divided as the tasks are

// -----

// Steps that are computed: a fourth of the rows that count, which the counter of the loop does not reach.
func.func private @computed_steps(%x: memref<32x45xf32>, %n: memref<i64>, %y: memref<32xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = loop.live_count(%n) in <[arg0 of 32]> : memref<i64>
  %s = arith.divui %rows, %c4 : index
  "scf.parallel"(%c0, %s, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%r: index):
    loop.generic (i, j) in [32, 45] slice(i = %r x 4 step %s) reads(%x[i, j] : memref<32x45xf32>) writes([i] add into %y : memref<32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @computed_steps
// CHECK:         [[S:%\S+]] = arith.divui
// CHECK:         slice(d0 = [[R:%\S+]] x 4 step [[S]])

// -----

// Five fourths are more than there are.
func.func private @five_of_four(%x: memref<32x45xf32>, %n: memref<i64>, %y: memref<32xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = loop.live_count(%n) in <[arg0 of 32]> : memref<i64>
  %s = arith.divui %rows, %c4 : index
  "scf.parallel"(%c0, %s, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%r: index):
    loop.generic (i, j) in [32, 45] slice(i = %r x 5 step %s) reads(%x[i, j] : memref<32x45xf32>) writes([i] add into %y : memref<32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK: error: loop.generic: slice of d0: a step that is computed is arith.divui of a number of rows by 5, and ends the loop whose counter the slice begins at

// -----

// A loop that goes further than its steps are apart.
func.func private @another_loop(%x: memref<32x45xf32>, %n: memref<i64>, %y: memref<32xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = loop.live_count(%n) in <[arg0 of 32]> : memref<i64>
  %s = arith.divui %rows, %c4 : index
  "scf.parallel"(%c0, %c4, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%r: index):
    loop.generic (i, j) in [32, 45] slice(i = %r x 4 step %s) reads(%x[i, j] : memref<32x45xf32>) writes([i] add into %y : memref<32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK: error: loop.generic: slice of d0: a step that is computed is arith.divui of a number of rows by 4, and ends the loop whose counter the slice begins at

// -----

// A share of more rows than there are.
func.func private @more_rows(%x: memref<32x45xf32>, %n: memref<i64>, %y: memref<32xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = loop.live_count(%n) in <[arg0 of 64]> : memref<i64>
  %s = arith.divui %rows, %c4 : index
  "scf.parallel"(%c0, %s, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%r: index):
    loop.generic (i, j) in [32, 45] slice(i = %r x 4 step %s) reads(%x[i, j] : memref<32x45xf32>) writes([i] add into %y : memref<32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK: error: loop.generic: slice of d0: a step that is computed is arith.divui of a number of rows by 4, and ends the loop whose counter the slice begins at

// -----

// A slice that begins elsewhere.
func.func private @elsewhere(%x: memref<32x45xf32>, %n: memref<i64>, %y: memref<32xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = loop.live_count(%n) in <[arg0 of 32]> : memref<i64>
  %s = arith.divui %rows, %c4 : index
  "scf.parallel"(%c0, %s, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%r: index):
    %at = arith.muli %r, %c1 : index
    loop.generic (i, j) in [32, 45] slice(i = %at x 4 step %s) reads(%x[i, j] : memref<32x45xf32>) writes([i] add into %y : memref<32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK: error: loop.generic: slice of d0: a step that is computed is arith.divui of a number of rows by 4, and ends the loop whose counter the slice begins at

// -----

// A step for each slice that has no number for it.
func.func private @no_step(%x: memref<32x45xf32>, %y: memref<32xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  "loop.generic"(%x, %y, %c0) <{domain = array<i64: 32, 45>, input_maps = [affine_map<(d0, d1) -> (d0, d1)>], pads = [unit], output_maps = [affine_map<(d0, d1) -> (d0)>], combiners = ["add"], operandSegmentSizes = array<i32: 1, 0, 1, 1, 0>, slices = [#loop.slice<[0] x 4 step ?>]}> ({
  ^bb0(%v: f32):
    loop.yield %v : f32
  }) : (memref<32x45xf32>, memref<32xf32>, index) -> ()
  func.return
}
// CHECK: Operation does not verify: loop.generic: 1 slices with 1 computed steps and 1 symbols
