// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v3"}' --split-input-file --verify-diagnostics | filecheck %s

// What is said fits: it stays.
func.func private @fits(%x: memref<4x200000xf32>, %y: memref<4xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [4, 200000] reads(%x[i, j] : memref<4x200000xf32>) writes([i] add into %y : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<cache_read = [0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @fits
// CHECK:         cache_read = [0]

// -----

func.func private @copied(%x: memref<4x1000000xf32>, %y: memref<4xf32>) attributes {lamina.kernel} {
  // expected-error@below {{cache_read = [0]: a task takes 4000000 bytes of scratch, and there are 1048576; without the clause it takes 0}}
  loop.generic (i, j) in [4, 1000000] reads(%x[i, j] : memref<4x1000000xf32>) writes([i] add into %y : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<cache_read = [0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// Totals of so many columns are 4 bytes each.
func.func private @columns(%x: memref<400x1000000xf32>, %y: memref<1000000xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  // expected-error@below {{tile = d1 x 800000: a task takes 3200000 bytes of scratch, and there are 1048576; the largest that fits: tile = d1 x 262144}}
  loop.generic (i, j) in [400, 1000000] reads(%x[i, j] : memref<400x1000000xf32>) writes([j] add into %y : memref<1000000xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8, tile = d1 x 800000, rfactor = d0 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// What a kernel keeps whatever is said, here a row, is never refused; what is said beside that is.
func.func private @long_rows(%x: memref<4x500000xf32>, %z: memref<4xf32>, %y: memref<4x500000xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  %e = memref.alloc() : memref<4x500000xf32>
  loop.generic (i, j) in [4, 500000] reads(%x[i, j] : memref<4x500000xf32>) writes([i, j] store into %e : memref<4x500000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %w = math.exp %v : f32
    loop.yield %w : f32
  }
  loop.generic (i, j) in [4, 500000] reads(%e[i, j] : memref<4x500000xf32>) writes([i] add into %z : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [4, 500000] reads(%e[i, j] : memref<4x500000xf32>, %z[i] : memref<4xf32>) writes([i, j] store into %y : memref<4x500000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %s: f32):
    %w = arith.divf %v, %s : f32
    loop.yield %w : f32
  }
  func.return
}
// CHECK-LABEL: @long_rows
// CHECK:         #loop.rows<parallel

// -----

func.func private @long_rows_copied(%x: memref<4x500000xf32>, %z: memref<4xf32>, %y: memref<4x500000xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<4x500000xf32>
  // expected-error@below {{cache_read = [0]: a task takes 4000000 bytes of scratch, and there are 2000000; without the clause it takes 2000000}}
  loop.generic (i, j) in [4, 500000] reads(%x[i, j] : memref<4x500000xf32>) writes([i, j] store into %e : memref<4x500000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<cache_read = [0]>} {
  ^bb0(%v: f32):
    %w = math.exp %v : f32
    loop.yield %w : f32
  }
  loop.generic (i, j) in [4, 500000] reads(%e[i, j] : memref<4x500000xf32>) writes([i] add into %z : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [4, 500000] reads(%e[i, j] : memref<4x500000xf32>, %z[i] : memref<4xf32>) writes([i, j] store into %y : memref<4x500000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %s: f32):
    %w = arith.divf %v, %s : f32
    loop.yield %w : f32
  }
  func.return
}
