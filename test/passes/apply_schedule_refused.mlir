// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics
// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v3"},apply-schedule' --split-input-file --verify-diagnostics

// Clauses that would have no effect.

func.func private @scan(%x: memref<64x64xf32>, %y: memref<64x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<jam = 4, lanes = 8, prefetch = [0]>]} {
  // expected-error@below {{lanes, prefetch: loop.scan here may have parallel, jam}}
  loop.scan (d0, d1) in [64, 64] along 1 reads(%x[d0, d1] : memref<64x64xf32>) carries(0.0 : f32) outs(%y : memref<64x64xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return
}

// -----

func.func private @scatter(%x: memref<5xf32>, %t: memref<10xf32>, %y: memref<10xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<jam = 4>]} {
  // expected-error@below {{jam: loop.scatter here may have parallel}}
  loop.scatter (d0) in [5] reads(%x[d0] : memref<5xf32>) into(%t : memref<10xf32> -> %y : memref<10xf32>) {
  ^bb0(%v: f32, %old: f32):
    %i = loop.index 0 : index
    loop.yield %i, %v : index, f32
  }
  func.return
}

// -----

func.func private @scattered_columns(%i: memref<4xi64>, %x: memref<5x4xf32>, %t: memref<5x8xf32>, %y: memref<5x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<lanes = 4>]} {
  // expected-error@below {{lanes = 4: its rows do not go to elements side by side}}
  loop.scatter (d0, d1) in [5, 4] reads(%i[d1] : memref<4xi64>, %x[d0, d1] : memref<5x4xf32>) into(%t : memref<5x8xf32> -> %y : memref<5x8xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = loop.index 0 : index
    %column = arith.index_cast %p : i64 to index
    loop.yield %row, %column, %v : index, index, f32
  }
  func.return
}

// -----

func.func private @numbers(%o: memref<65xi64>, %x: memref<500xi64>, %y: memref<64xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<unroll = 2>]} {
  // expected-error@below {{unroll: loop.segment_reduce here may have parallel}}
  loop.segment_reduce (d0, d1) in [64, 500] offsets(%o : memref<65xi64>) reads(%x[d1] : memref<500xi64>) carries(0 : i64) outs(%y : memref<64xi64>) {
  ^bb0(%v: i64, %sum: i64):
    %next = arith.addi %sum, %v : i64
    loop.yield %next : i64
  }
  func.return
}

// -----

func.func private @segments(%o: memref<65xi64>, %x: memref<500x20xf32>, %y: memref<64x20xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<algorithm = merge>]} {
  // expected-error@below {{algorithm: loop.segment_reduce here may have parallel, lanes, unroll, prefetch}}
  loop.segment_reduce (d0, d1, d2) in [64, 500, 20] offsets(%o : memref<65xi64>) reads(%x[d1, d2] : memref<500x20xf32>) carries(0.0 : f32) outs(%y : memref<64x20xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next : f32
  }
  func.return
}

// -----

func.func private @first(%x: memref<4x5000xf32>, %v: memref<4x5xf32>, %p: memref<4x5xi64>, %w: memref<4x5005xf32>, %q: memref<4x5005xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<algorithm = insertion, lanes = 8, unroll = 2>]} {
  // expected-error@below {{unroll: of vectors, where algorithm is one of merge, rank, selection}}
  loop.sort %x outs(%v, %p, %w, %q : memref<4x5xf32>, memref<4x5xi64>, memref<4x5005xf32>, memref<4x5005xi64>) {descending, taken = array<i64: 0, 5>} : memref<4x5000xf32>
  func.return
}

// -----

func.func private @known(%x: memref<4x5000xf32>, %v: memref<4x500xf32>, %p: memref<4x500xi64>, %w: memref<4x5500xf32>, %q: memref<4x5500xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<algorithm = selection, lanes = 8, few = 10>]} {
  // expected-error@below {{few, left_out: where algorithm = selection, and a number is taken}}
  loop.sort %x outs(%v, %p, %w, %q : memref<4x500xf32>, memref<4x500xi64>, memref<4x5500xf32>, memref<4x5500xi64>) {taken = array<i64: 0, 500>} : memref<4x5000xf32>
  func.return
}

// -----

func.func private @not_all(%x: memref<4x5000xf32>, %n: memref<i64>, %v: memref<4x500xf32>, %p: memref<4x500xi64>, %w: memref<4x5500xf32>, %q: memref<4x5500xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<algorithm = selection, lanes = 8, left_out = 5>]} {
  // expected-error@below {{left_out: only where all 5000 elements of a row may be taken}}
  loop.sort %x outs(%v, %p, %w, %q : memref<4x500xf32>, memref<4x500xi64>, memref<4x5500xf32>, memref<4x5500xi64>) {lamina.nest = #loop.nest<taken = [arg1 of 500]>, taken = array<i64: 0, 500>} : memref<4x5000xf32>
  func.return
}

// -----

func.func private @scalars(%x: memref<4x100xf32>, %v: memref<4x100xf32>, %p: memref<4x100xi64>, %w: memref<4x100xf32>, %q: memref<4x100xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<algorithm = merge, lanes = 1, unroll = 2>]} {
  // expected-error@below {{unroll: of vectors, where algorithm is one of merge, rank, selection}}
  loop.sort %x outs(%v, %p, %w, %q : memref<4x100xf32>, memref<4x100xi64>, memref<4x100xf32>, memref<4x100xi64>) : memref<4x100xf32>
  func.return
}

// -----

func.func private @shared(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %t = memref.alloc() : memref<8x45xf32>
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %t : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  // expected-error@below {{vectorize, unroll: a nest that shares loops may have compute_with, prefetch, prefetch_bytes, nontemporal, nontemporal_from}}
  loop.generic (i, j) in [8, 45] reads(%t[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_with, vectorize = d1 x 4, unroll = 2>} {
  ^bb0(%v: f32):
    %r = arith.negf %v : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

func.func private @kept(%a: memref<96x58x58xf32>, %w: memref<96x3x3xf32>, %c: memref<96x56x56xf32>) attributes {lamina.kernel} {
  // expected-error@below {{unroll_dims = d1: reduced, of a nest with jam: d3, d4}}
  loop.generic (c, y, x, i, j) in [96, 56, 56, 3, 3] reads(%a[c, y + i, x + j] : memref<96x58x58xf32>, %w[c, i, j] : memref<96x3x3xf32>) writes([c, y, x] add into %c : memref<96x56x56xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d2 x 8, unroll = 2, jam = d1 x 4, unroll_dims = [d1]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @long(%a: memref<96x58x58xf32>, %w: memref<96x3x3xf32>, %c: memref<96x56x56xf32>) attributes {lamina.kernel} {
  // expected-error@below {{unroll_dims = d3, d4: 1008 copies; 512 are the most}}
  loop.generic (c, y, x, i, j) in [96, 56, 56, 3, 3] reads(%a[c, y + i, x + j] : memref<96x58x58xf32>, %w[c, i, j] : memref<96x3x3xf32>) writes([c, y, x] add into %c : memref<96x56x56xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d2 x 8, unroll = 4, jam = d1 x 28, unroll_dims = [d3, d4]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @no_jam(%x: memref<8x64xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  // expected-error@below {{unroll_dims = d1: reduced, of a nest with jam: none}}
  loop.generic (i, j) in [8, 64] reads(%x[i, j] : memref<8x64xf32>) writes([i] add into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<unroll_dims = [d1]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
