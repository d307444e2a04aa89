// RUN: lamina-opt %s -p parallelize,tile-nests,compute-at --split-input-file --verify-diagnostics | filecheck %s
// RUN: lamina-opt %s -p parallelize,tile-nests,compute-at,apply-schedule --split-input-file --verify-diagnostics | filecheck %s --check-prefix=LOOPS

// Windows of three overlap by two: 18 elements are made for 16, and no more are kept.
func.func private @windows(%x: memref<8x47xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  %e = memref.alloc() : memref<8x47xf32>
  loop.generic (i, j) in [8, 47] reads(%x[i, j] : memref<8x47xf32>) writes([i, j] store into %e : memref<8x47xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1, vectorize = d1 x 4>} {
  ^bb0(%v: f32):
    %s = math.sin %v : f32
    loop.yield %s : f32
  }
  loop.generic (i, j, k) in [8, 45, 3] reads(%e[i, j + k] : memref<8x47xf32>) writes([i, j] add into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4, tile = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @windows
// CHECK:         "scf.parallel"
// CHECK:         ^bb0(%[[N:.*]]: index):
// CHECK:           scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             loop.generic (d0, d1) in [8, 47] slice(d0 = %[[N]], d1 = %[[T]] x 18)
// CHECK-SAME:        lamina.schedule = #loop.schedule<vectorize = d1 x 4>
// CHECK:             loop.generic (d0, d1, d2) in [8, 45, 3] slice(d0 = %[[N]], d1 = %[[T]] x 16)
// LOOPS-LABEL: @windows
// LOOPS:         "scf.parallel"
// LOOPS:           %[[KEPT:.*]] = memref.alloca() {{.*}} : memref<18xf32>
// LOOPS:           scf.for
// LOOPS:             math.sin
// LOOPS:             vector.store %{{.*}}, %[[KEPT]]
// LOOPS:             vector.load %[[KEPT]]

// -----

// Every second element, from the third on: a slice begins elsewhere, and has other dimensions. A
// reduction is computed so as well.
func.func private @steps(%x: memref<8x95x12xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<8x95xf32>
  loop.generic (i, j, k) in [8, 95, 12] reads(%x[i, j, k] : memref<8x95x12xf32>) writes([i, j] add into %e : memref<8x95xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8, 45] reads(%e[i, (j * 2) + 3] : memref<8x95xf32>, %e[i, j * 2] : memref<8x95xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d1 x 8>} {
  ^bb0(%v: f32, %w: f32):
    %r = arith.subf %v, %w : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @steps
// CHECK:         scf.for %[[N:.*]] =
// CHECK:           scf.for %[[T:.*]] =
// CHECK:             %[[AT:.*]] = arith.muli %[[T]]
// CHECK:             loop.generic (d0, d1, d2) in [8, 95, 12] slice(d0 = %[[N]], d1 = %[[AT]] x 18) reads
// CHECK:             loop.generic (d0, d1) in [8, 45] slice(d0 = %[[N]], d1 = %[[T]] x 8) reads
// LOOPS-LABEL: @steps
// LOOPS:         memref.alloca() {{.*}} : memref<18xf32>

// -----

// What stands in front of it is computed there too, for what that reads.
func.func private @chain(%x: memref<8x47xf32>, %y: memref<8x43xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<8x47xf32>
  %f = memref.alloc() : memref<8x45xf32>
  loop.generic (i, j) in [8, 47] reads(%x[i, j] : memref<8x47xf32>) writes([i, j] store into %e : memref<8x47xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1>} {
  ^bb0(%v: f32):
    %s = math.sin %v : f32
    loop.yield %s : f32
  }
  loop.generic (i, j, k) in [8, 45, 3] reads(%e[i, j + k] : memref<8x47xf32>) writes([i, j] add into %f : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j, k) in [8, 43, 3] reads(%f[i, j + k] : memref<8x45xf32>) writes([i, j] max into %y : memref<8x43xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @chain
// CHECK:         scf.for %[[N:.*]] =
// CHECK:           scf.for %[[T:.*]] =
// CHECK:             loop.generic (d0, d1) in [8, 47] slice(d0 = %[[N]], d1 = %[[T]] x 20) reads
// CHECK:             loop.generic (d0, d1, d2) in [8, 45, 3] slice(d0 = %[[N]], d1 = %[[T]] x 18) reads
// CHECK:             loop.generic (d0, d1, d2) in [8, 43, 3] slice(d0 = %[[N]], d1 = %[[T]] x 16) reads
// LOOPS-LABEL: @chain
// LOOPS-DAG:     memref.alloca() {{.*}} : memref<20xf32>
// LOOPS-DAG:     memref.alloca() {{.*}} : memref<18xf32>

// -----

func.func private @no_loop(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<8x45xf32>
  // expected-error@below {{compute_at = d1: the nest that reads it is in a loop over slices of none; `tile` puts it into one}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %e : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8, 45] reads(%e[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @another_loop(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<8x45xf32>
  // expected-error@below {{compute_at = d0: the nest that reads it is in a loop over slices of d1}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %e : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d0>} {
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

func.func private @leaves(%x: memref<8x45xf32>, %e: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  // expected-error@below {{compute_at = d1: its results leave the kernel}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %e : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1>} {
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

// A total of the row is not computed slice by slice.
func.func private @total(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %m = memref.alloc() : memref<8xf32>
  // expected-error@below {{compute_at = d1: each slice reads all that the nest makes}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i] add into %m : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>, %m[i] : memref<8xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d1 x 16>} {
  ^bb0(%v: f32, %s: f32):
    %r = arith.subf %v, %s : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// Two nests read it, and only one of them in the loop.
func.func private @elsewhere(%x: memref<8x45xf32>, %y: memref<8x45xf32>, %z: memref<8x45xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<8x45xf32>
  // expected-error@below {{compute_at = d1: another nest reads it elsewhere}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %e : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8, 45] reads(%e[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8, 45] reads(%e[i, j] : memref<8x45xf32>) writes([i, j] store into %z : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @beyond(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<8x45xf32>
  // expected-error@below {{compute_at = d1: it is read beyond its edges, or not linearly}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %e : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8, 45] reads(%e[i, j - 1] pad 0.0 : f32 : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @unread(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() : memref<8x45xf32>
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %e : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  // expected-error@below {{compute_at = d1: its results leave the kernel}}
  loop.generic (i, j) in [8, 45] reads(%e[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
