// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v3"},apply-schedule' --split-input-file --verify-diagnostics

// What is not legal is refused by name, with the line and what would be legal.

func.func private @lanes_of_a_nest(%x: memref<4x64xf32>, %y: memref<4x64xf32>) attributes {lamina.kernel} {
  // expected-error@below {{vectorize: 16 lanes; target x86-64-v3 has 8}}
  loop.generic (i, j) in [4, 64] reads(%x[i, j] : memref<4x64xf32>) writes([i, j] store into %y : memref<4x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @lanes_of_a_sort(%x: memref<4x64xf32>, %v: memref<4x64xf32>, %p: memref<4x64xi64>, %w: memref<4x64xf32>, %q: memref<4x64xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<algorithm = merge, lanes = 32>]} {
  // expected-error@below {{lanes = 32: target x86-64-v3 has 8}}
  loop.sort %x outs(%v, %p, %w, %q : memref<4x64xf32>, memref<4x64xi64>, memref<4x64xf32>, memref<4x64xi64>) : memref<4x64xf32>
  func.return
}

// -----

func.func private @no_dimension(%x: memref<4x64xf32>, %y: memref<4x64xf32>) attributes {lamina.kernel} {
  // expected-error@below {{tile names d2 of a domain of 2, d0 to d1}}
  loop.generic (i, j) in [4, 64] reads(%x[i, j] : memref<4x64xf32>) writes([i, j] store into %y : memref<4x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d2 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @no_read(%x: memref<4x64xf32>, %y: memref<4x64xf32>) attributes {lamina.kernel} {
  // expected-error@below {{prefetch = [1] of 1 reads, 0 to 0}}
  loop.generic (i, j) in [4, 64] reads(%x[i, j] : memref<4x64xf32>) writes([i, j] store into %y : memref<4x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<prefetch = [1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @nothing_before(%x: memref<4x64xf32>, %y: memref<4x64xf32>) attributes {lamina.kernel} {
  // expected-error@below {{compute_with: no nest in front of it has loops in which it runs}}
  loop.generic (i, j) in [4, 64] reads(%x[i, j] : memref<4x64xf32>) writes([i, j] store into %y : memref<4x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_with>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// Each row is added to the same totals.
func.func private @parallel_over_a_dependence(%x: memref<4x64xf32>, %y: memref<64xf32>, %z: memref<4x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j) in [4, 64] reads(%x[i, j] : memref<4x64xf32>) writes([i, j] store into %z : memref<4x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  // expected-error@below {{parallel: one task walks the rows that are summed over, and no row stands in front of them; here parallel = false}}
  loop.generic (i, j) in [4, 64] reads(%z[i, j] : memref<4x64xf32>) writes([j] add into %y : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// The lanes of a dimension that is scanned would each need the one before.
func.func private @vectors_over_a_scan(%x: memref<4x64xf32>, %y: memref<4x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<lanes = 8>]} {
  // expected-error@below {{lanes: loop.scan here may have parallel, jam}}
  loop.scan (d0, d1) in [4, 64] along 1 reads(%x[d0, d1] : memref<4x64xf32>) carries(0.0 : f32) outs(%y : memref<4x64xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return
}

// -----

// expected-error@below {{#loop.rows schedules another kind of kernel, not what #loop.unstructured does}}
func.func private @of_another_kernel(%x: memref<4x64xf32>, %y: memref<4x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.scan (d0, d1) in [4, 64] along 1 reads(%x[d0, d1] : memref<4x64xf32>) carries(0.0 : f32) outs(%y : memref<4x64xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return
}
