// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s

// Without a schedule, loops over scalars on one thread.
func.func private @open(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @open
// CHECK:         scf.for
// CHECK:         memref.load
// CHECK:         arith.negf %{{.*}} : f32
// CHECK-NOT:     vector

// -----

// Three vectors of four a step, what is left in single ones, then masked.
func.func private @given(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d0 x 4, unroll = 3>} {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @given
// CHECK:         scf.for
// CHECK-COUNT-3: vector.load {{.*}} vector<4xf32>
// CHECK:         }
// CHECK:         vector.maskedstore

// -----

// Tasks of 16 positions.
func.func private @tiled(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0], tile = 16>]} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @tiled
// CHECK:         %[[THREE:.*]] = arith.constant 3 : index
// CHECK:         scf.parallel

// -----

// expected-error@below {{it is an array of 1, one for each part of the kernel}}
func.func private @parts(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel, lamina.schedule = []} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// expected-error@below {{#loop.products schedules another kind of kernel, not what #loop.rows does}}
func.func private @another(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<>]} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @vectors(%x: memref<4x45xf32>, %y: memref<4xf32>) attributes {lamina.kernel} {
  // expected-error@below {{vectorize = d0: the loops of a task are d1}}
  loop.generic (i, j) in [4, 45] reads(%x[i, j] : memref<4x45xf32>) writes([i] add into %y : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d0 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// A task may not divide what it reduces.
func.func private @divided(%x: memref<4x45xf32>, %y: memref<4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<tile = 9>]} {
  // expected-error@below {{tile: tasks would divide d1, which is reduced: 45 positions at least}}
  loop.generic (i, j) in [4, 45] reads(%x[i, j] : memref<4x45xf32>) writes([i] add into %y : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @alone(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  // expected-error@below {{compute_with: no nest in front of it has loops in which it runs}}
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) attributes {lamina.schedule = #loop.schedule<compute_with>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @streams(%x: memref<10x45xf32>, %y: memref<10xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<jam = 4>]} {
  // expected-error@below {{jam = 4: it divides the rows (10) of a kernel that only reduces them}}
  loop.generic (i, j) in [10, 45] reads(%x[i, j] : memref<10x45xf32>) writes([i] add into %y : memref<10xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @turned(%x: memref<30x20xf32>, %y: memref<30x20xf32>) attributes {lamina.kernel} {
  // expected-error@below {{transpose: no read is contiguous along d0 alone}}
  loop.generic (i, j) in [30, 20] reads(%x[i, j] : memref<30x20xf32>) writes([i, j] store into %y : memref<30x20xf32>) attributes {lamina.schedule = #loop.schedule<vectorize = d1 x 8, transpose = d0>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @ordered(%x: memref<4x45xf32>, %y: memref<4x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  // expected-error@below {{order: each loop of a task once: d1}}
  loop.generic (i, j) in [4, 45] reads(%x[i, j] : memref<4x45xf32>) writes([i, j] store into %y : memref<4x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<order = [d0, d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @nothing_fetched(%x: memref<4x45xf32>, %y: memref<4x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  // expected-error@below {{prefetch_bytes: only with prefetch, of reads [0]}}
  loop.generic (i, j) in [4, 45] reads(%x[i, j] : memref<4x45xf32>) writes([i, j] store into %y : memref<4x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<prefetch_bytes = 64>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @too_near(%x: memref<4x45xf32>, %y: memref<4x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  // expected-error@below {{prefetch_bytes = 3: from 4, the bytes of an element, to 1048576}}
  loop.generic (i, j) in [4, 45] reads(%x[i, j] : memref<4x45xf32>) writes([i, j] store into %y : memref<4x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<prefetch = [0], prefetch_bytes = 3>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @no_product(%x: memref<4x45xf32>, %y: memref<4x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  // expected-error@below {{terms: only of packed products}}
  loop.generic (i, j) in [4, 45] reads(%x[i, j] : memref<4x45xf32>) writes([i, j] store into %y : memref<4x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<terms = 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @dots_of_floats(%x: memref<4x64xf32>, %y: memref<4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  // expected-error@below {{dot_pairs: only of a sum of products of two bf16, with vectors along neighbouring terms}}
  loop.generic (i, j) in [4, 64] reads(%x[i, j] : memref<4x64xf32>) writes([i] add into %y : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, dot_pairs>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @tiled_sum(%x: memref<6x45xf32>, %y: memref<6xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c16 = arith.constant 16 : index
  %c45 = arith.constant 45 : index
  scf.for %r = %c0 to %c6 step %c1 {
    scf.for %t = %c0 to %c45 step %c16 {
      // expected-error@below {{tile: tasks would divide d1, which is reduced: 45 positions at least}}
      loop.generic (d0, d1) in [6, 45] slice(d0 = %r, d1 = %t x 16) reads(%x[d0, d1] : memref<6x45xf32>) writes([d0] add into %y : memref<6xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
      ^bb0(%v: f32):
        loop.yield %v : f32
      }
    }
  }
  func.return
}

// -----

func.func private @turned_tile(%x: memref<6x45x20xf32>, %y: memref<6x45x20xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c16 = arith.constant 16 : index
  %c45 = arith.constant 45 : index
  scf.for %r = %c0 to %c6 step %c1 {
    scf.for %t = %c0 to %c45 step %c16 {
      // expected-error@below {{order: tasks divide the outermost loop: d1 in front of d2}}
      loop.generic (d0, d1, d2) in [6, 45, 20] slice(d0 = %r, d1 = %t x 16) reads(%x[d0, d1, d2] : memref<6x45x20xf32>) writes([d0, d1, d2] store into %y : memref<6x45x20xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<order = [d2, d1]>} {
      ^bb0(%v: f32):
        loop.yield %v : f32
      }
    }
  }
  func.return
}

// -----

func.func private @all_live(%a: memref<128x32xf32>, %b: memref<2x32x32xf32>, %c: memref<128x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 64, num_threads = 2>]} {
  // expected-error@below {{num_threads: only live rows of a product are shared so}}
  loop.generic (m, n, k) in [128, 64, 32] reads(%a[m, k] : memref<128x32xf32>, %b[n floordiv 32, k, n mod 32] : memref<2x32x32xf32>) writes([m, n] add into %c : memref<128x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// A tile of the producer is a loop of its own, in which no other nest stands.
func.func private @tiled_producer(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  %e = memref.alloc() : memref<8x45xf32>
  // expected-error@below {{compute_at = d1: it stands in a loop of its own; `tile` is of the nest that reads it}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %e : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1, tile = d1 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8, 45] reads(%e[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @tiled_sum_over_rows(%x: memref<8x45xf32>, %y: memref<45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  // expected-error@below {{tile = d1: it sums over rows; tiles are of nests that store or reduce within a row}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([j] add into %y : memref<45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func @main(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.entry} {
  func.call @past_from(%x, %y) : (memref<8x45xf32>, memref<8x45xf32>) -> ()
  func.return
}
func.func private @past_from(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  // expected-error@below {{nontemporal_from: no result is nontemporal}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<nontemporal_from = 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @kept_result_past_the_caches(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  %e = memref.alloc() : memref<8x45xf32>
  // expected-error@below {{nontemporal: result 0 stays in the kernel; those that leave it: none}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %e : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<nontemporal = [0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8, 45] reads(%e[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
