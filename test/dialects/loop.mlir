// RUN: lamina-opt %s | lamina-opt | filecheck %s
// RUN: lamina-opt %s --print-op-generic | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @generic
func.func @generic(%a: tensor<128x32xf32>, %x: tensor<64x32xf32>, %t: tensor<10x4xf32>)
    -> tensor<128x64xf32> {
  // CHECK: loop.generic (d0, d1, d2) in [128, 64, 32]
  // CHECK-SAME: reads(%{{.*}}[d0, d2] : tensor<128x32xf32>, %{{.*}}[d1, d2 + -1] pad 0.000000e+00 : f32 : tensor<64x32xf32>)
  // CHECK-SAME: sources(%{{.*}} : tensor<10x4xf32>)
  // CHECK-SAME: writes([d0, d1] add : tensor<128x64xf32>)
  %r = loop.generic (i, j, k) in [128, 64, 32]
      reads(%a[i, k] : tensor<128x32xf32>, %x[j, k - 1] pad 0.0 : f32 : tensor<64x32xf32>)
      sources(%t : tensor<10x4xf32>)
      writes([i, j] add : tensor<128x64xf32>) {
  ^bb0(%p: f32, %q: f32, %table: tensor<10x4xf32>):
    // CHECK: loop.index 2 : index
    %i = loop.index 2 : index
    %c = arith.constant 0 : index
    // CHECK: loop.read %{{.*}}[%{{.*}}, %{{.*}}] : tensor<10x4xf32>
    %z = loop.read %table[%c, %c] : tensor<10x4xf32>
    // CHECK: loop.read %{{.*}}[%[[I:.*]], %{{.*}} below %[[I]]] : tensor<10x4xf32>
    %l = loop.read %table[%i, %c below %i] : tensor<10x4xf32>
    %v = arith.mulf %p, %q : f32
    %w = arith.mulf %v, %z : f32
    loop.yield %w : f32
  }
  func.return %r : tensor<128x64xf32>
}

// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  // CHECK: loop.kernel(%{{.*}} = %{{.*}} : tensor<4x8xf32>) -> (tensor<32xf32>)
  %k = loop.kernel(%y = %x : tensor<4x8xf32>) -> (tensor<32xf32>) {
    // CHECK: loop.reshape %{{.*}} : tensor<4x8xf32> -> tensor<32xf32>
    %r = loop.reshape %y : tensor<4x8xf32> -> tensor<32xf32>
    // CHECK: loop.return %{{.*}} : tensor<32xf32>
    loop.return %r : tensor<32xf32>
  }
  func.return %k : tensor<32xf32>
}

// CHECK-LABEL: func.func @memory
func.func @memory(%x: memref<16xf32>, %y: memref<16xf32>) {
  // CHECK: writes([d0] store into %{{.*}} : memref<16xf32>)
  loop.generic (d0) in [16] reads(%x[d0] : memref<16xf32>)
      writes([d0] store into %y : memref<16xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}

// CHECK-LABEL: func.func @scheduled
func.func @scheduled(%m: memref<64xf32>, %i: index, %a: vector<8xf32>, %b: vector<8xf32>) {
  %offsets = arith.constant dense<[0, 2, 4, 6, 8, 10, 12, 14]> : vector<8xi64>
  // CHECK: loop.cmpf %{{.*}}, %{{.*}} {predicate = 4 : i64} : vector<8xf32>, vector<8xf32> -> vector<8xi1>
  %mask = loop.cmpf %a, %b {predicate = 4 : i64} : vector<8xf32>, vector<8xf32> -> vector<8xi1>
  // CHECK: loop.gather %{{.*}}[%{{.*}}] [%{{.*}}], %{{.*}}, %{{.*}} : memref<64xf32>, vector<8xi64>, vector<8xi1>, vector<8xf32> -> vector<8xf32>
  %g = loop.gather %m[%i] [%offsets], %mask, %a : memref<64xf32>, vector<8xi64>, vector<8xi1>, vector<8xf32> -> vector<8xf32>
  // CHECK: loop.select
  %s = loop.select %mask, %g, %b : vector<8xi1>, vector<8xf32>, vector<8xf32> -> vector<8xf32>
  // CHECK: loop.fptosi %{{.*}} : vector<8xf32> -> vector<8xi32>
  %n = loop.fptosi %s : vector<8xf32> -> vector<8xi32>
  // CHECK: loop.prefetch %{{.*}}[%{{.*}}] : memref<64xf32>
  loop.prefetch %m[%i] : memref<64xf32>
  // CHECK: loop.prefetch %{{.*}}[%{{.*}}] {locality = 2 : i64} : memref<64xf32>
  loop.prefetch %m[%i] {locality = 2 : i64} : memref<64xf32>
  func.return
}

// CHECK-LABEL: @extern
// CHECK: loop.extern "linalg.qr" {mode = "reduced", sizes = [1 : i64, 2 : i64]}(%a : tensor<4x3xf32>) : tensor<4x3xf32>, tensor<3x3xf32>
func.func @extern(%a: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>) {
  %q, %r = loop.extern "linalg.qr" {mode = "reduced", sizes = [1, 2]} (%a : tensor<4x3xf32>) : tensor<4x3xf32>, tensor<3x3xf32>
  func.return %q, %r : tensor<4x3xf32>, tensor<3x3xf32>
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%at: tensor<5xi64>, %x: tensor<5x4xf32>, %t: tensor<10x4xf32>)
    -> tensor<10x4xf32> {
  // CHECK: loop.scatter (d0, d1) in [5, 4]
  // CHECK-SAME: reads(%{{.*}}[d0] : tensor<5xi64>, %{{.*}}[d0, d1] : tensor<5x4xf32>)
  // CHECK-SAME: into(%{{.*}} : tensor<10x4xf32>)
  %r = loop.scatter (a, b) in [5, 4] reads(%at[a] : tensor<5xi64>, %x[a, b] : tensor<5x4xf32>)
      into(%t : tensor<10x4xf32>) {
  ^bb0(%i: i64, %v: f32, %old: f32):
    %row = arith.index_cast %i : i64 to index
    %column = loop.index 1 : index
    %sum = arith.addf %old, %v : f32
    loop.yield %row, %column, %sum : index, index, f32
  }
  func.return %r : tensor<10x4xf32>
}

// CHECK-LABEL: func.func @scatter_memory
func.func @scatter_memory(%at: memref<5xi64>, %t: memref<10xf32>, %out: memref<10xf32>) {
  // CHECK: into(%{{.*}} : memref<10xf32> -> %{{.*}} : memref<10xf32>)
  loop.scatter (a) in [5] reads(%at[a] : memref<5xi64>)
      into(%t : memref<10xf32> -> %out : memref<10xf32>) {
  ^bb0(%i: i64, %old: f32):
    %place = arith.index_cast %i : i64 to index
    loop.yield %place, %old : index, f32
  }
  func.return
}

// CHECK-LABEL: func.func @scan
func.func @scan(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  // CHECK: loop.scan (d0, d1) in [4, 10] along 1 reads(%{{.*}}[d0, d1] : tensor<4x10xf32>)
  // CHECK-SAME: carries(0.000000e+00 : f64) gives(tensor<4x10xf32>)
  %r = loop.scan (d0, d1) in [4, 10] along 1 reads(%x[d0, d1] : tensor<4x10xf32>)
      carries(0.0 : f64) gives(tensor<4x10xf32>) {
  ^bb0(%v: f32, %sum: f64):
    %wide = arith.extf %v : f32 to f64
    %next = arith.addf %sum, %wide : f64
    %out = arith.truncf %next : f64 to f32
    loop.yield %next, %out : f64, f32
  }
  func.return %r : tensor<4x10xf32>
}

// CHECK-LABEL: func.func @segment_reduce
func.func @segment_reduce(%o: tensor<5xi64>, %i: tensor<10xi64>, %t: tensor<7x8xf32>) -> tensor<4x8xf32> {
  // CHECK: loop.segment_reduce (d0, d1, d2) in [4, 10, 8] offsets(%{{.*}} : tensor<5xi64>)
  // CHECK-SAME: reads(%{{.*}}[d1] : tensor<10xi64>) sources(%{{.*}} : tensor<7x8xf32>)
  // CHECK-SAME: carries(0.000000e+00 : f32, false) gives(tensor<4x8xf32>)
  %r = loop.segment_reduce (s, p, c) in [4, 10, 8] offsets(%o : tensor<5xi64>)
      reads(%i[p] : tensor<10xi64>) sources(%t : tensor<7x8xf32>)
      carries(0.0 : f32, false) gives(tensor<4x8xf32>) {
  ^bb0(%at: i64, %source: tensor<7x8xf32>, %best: f32, %begun: i1):
    %row = arith.index_cast %at : i64 to index
    %column = loop.index 2 : index
    %v = loop.read %source[%row, %column] : tensor<7x8xf32>
    %yes = arith.constant true
    %next = arith.select %begun, %best, %v : f32
    loop.yield %next, %yes : f32, i1
  }
  func.return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @segment_reduce_memory
func.func @segment_reduce_memory(%o: memref<5xi64>, %x: memref<10xf32>, %out: memref<4xf32>) {
  // CHECK: carries(0.000000e+00 : f32) outs(%{{.*}} : memref<4xf32>)
  loop.segment_reduce (s, p) in [4, 10] offsets(%o : memref<5xi64>)
      reads(%x[p] : memref<10xf32>) carries(0.0 : f32) outs(%out : memref<4xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next : f32
  }
  func.return
}

// CHECK-LABEL: func.func @sort
func.func @sort(%x: tensor<4x10xf32>) -> (tensor<4x10xf32>, tensor<4x10xi64>) {
  // CHECK: loop.sort %{{.*}} {descending} : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
  %v, %i, %w, %j = loop.sort %x {descending} : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
  func.return %v, %i : tensor<4x10xf32>, tensor<4x10xi64>
}

// CHECK-LABEL: func.func @fourier
func.func @fourier(%x: tensor<4x64xf32>, %t: tensor<64x2xf32>, %y: memref<8x15x2xf64>, %u: memref<8x2xf64>, %z: memref<8x15x2xf64>) -> tensor<4x33x2xf32> {
  // CHECK: loop.fourier %x by %t {kind = "r2c", scale = 1.000000e+00 : f64} : tensor<4x64xf32>, tensor<64x2xf32> -> tensor<4x33x2xf32>
  %r = loop.fourier %x by %t {kind = "r2c", scale = 1.0 : f64} : tensor<4x64xf32>, tensor<64x2xf32> -> tensor<4x33x2xf32>
  // CHECK: loop.fourier %y by %u outs(%z : memref<8x15x2xf64>) {kind = "c2c", inverse, columns, scale = 1.250000e-01 : f64} : memref<8x15x2xf64>, memref<8x2xf64>
  loop.fourier %y by %u outs(%z : memref<8x15x2xf64>) {kind = "c2c", inverse, columns, scale = 0.125 : f64} : memref<8x15x2xf64>, memref<8x2xf64>
  func.return %r : tensor<4x33x2xf32>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: memref<5x4xf32>, %poll: memref<1xi8>, %i: index) {
  // CHECK: loop.row %x[%i] : memref<5x4xf32> -> memref<4xf32>
  %r = loop.row %x[%i] : memref<5x4xf32> -> memref<4xf32>
  // CHECK: loop.poll through %poll : memref<1xi8>
  loop.poll through %poll : memref<1xi8>
  func.return
}

// The first elements of each sorted row; a single one.
// CHECK-LABEL: func.func @part_of_a_sort
func.func @part_of_a_sort(%x: tensor<4x10xf32>) -> (tensor<4x3xf32>, tensor<4x1xi64>) {
  // CHECK: loop.sort %{{.*}} {descending, taken = array<i64: 0, 3>} : tensor<4x10xf32> -> tensor<4x3xf32>, tensor<4x3xi64>, tensor<4x13xf32>, tensor<4x13xi64>
  %v, %i, %w, %j = loop.sort %x {descending, taken = array<i64: 0, 3>} : tensor<4x10xf32> -> tensor<4x3xf32>, tensor<4x3xi64>, tensor<4x13xf32>, tensor<4x13xi64>
  // CHECK: loop.sort %{{.*}} {taken = array<i64: 7, 1>}
  %a, %b, %c, %d = loop.sort %x {taken = array<i64: 7, 1>} : tensor<4x10xf32> -> tensor<4x1xf32>, tensor<4x1xi64>, tensor<4x11xf32>, tensor<4x11xi64>
  func.return %v, %b : tensor<4x3xf32>, tensor<4x1xi64>
}

// Matrix tiles: rows of a sum, by columns whose sums come in pairs.
// CHECK-LABEL: func.func @tiles
func.func @tiles(%a: memref<512xbf16>, %out: memref<256xf32>, %at: index, %step: index) {
  // CHECK: loop.tile_zero : vector<7x16xf32>
  %z = loop.tile_zero : vector<7x16xf32>
  // CHECK: loop.tile_load %a[%at], %step : memref<512xbf16>, vector<7x20xbf16>
  %l = loop.tile_load %a[%at], %step : memref<512xbf16>, vector<7x20xbf16>
  %r = loop.tile_load %a[%at], %step : memref<512xbf16>, vector<10x32xbf16>
  // CHECK: loop.tile_dot %{{.*}}, %{{.*}}, %{{.*}} : vector<7x20xbf16>, vector<10x32xbf16>, vector<7x16xf32> -> vector<7x16xf32>
  %s = loop.tile_dot %l, %r, %z : vector<7x20xbf16>, vector<10x32xbf16>, vector<7x16xf32> -> vector<7x16xf32>
  // CHECK: loop.tile_store %{{.*}}, %out[%at], %step : vector<7x16xf32>, memref<256xf32>
  loop.tile_store %s, %out[%at], %step : vector<7x16xf32>, memref<256xf32>
  func.return
}

// Lanes moved together.
// CHECK-LABEL: func.func @compressed
func.func @compressed(%v: vector<8xf64>, %m: vector<8xi1>) -> vector<8xf64> {
  // CHECK: loop.compress %v, %m : vector<8xf64>, vector<8xi1> -> vector<8xf64>
  %c = loop.compress %v, %m : vector<8xf64>, vector<8xi1> -> vector<8xf64>
  func.return %c : vector<8xf64>
}

// Dot products of pairs, lane by lane.
// CHECK-LABEL: func.func @dots
func.func @dots(%a: vector<32xbf16>, %b: vector<32xbf16>, %t: vector<16xf32>) -> vector<16xf32> {
  // CHECK: loop.dot_pairs %a, %b, %t : vector<32xbf16>, vector<32xbf16>, vector<16xf32> -> vector<16xf32>
  %s = loop.dot_pairs %a, %b, %t : vector<32xbf16>, vector<32xbf16>, vector<16xf32> -> vector<16xf32>
  func.return %s : vector<16xf32>
}

// A reduction of two values at once: a combining region and its identities, beside a sum.
// CHECK-LABEL: func.func @largest
func.func @largest(%x: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xi32>) {
  // CHECK: loop.generic (d0, d1) in [8, 64]
  // CHECK-SAME: writes([d0] combine : tensor<8xf32>, [d0] add : tensor<8xf32>, [d0] combine : tensor<8xi32>)
  %v, %s, %i = loop.generic (i, j) in [8, 64] reads(%x[i, j] : tensor<8x64xf32>)
      writes([i] combine : tensor<8xf32>, [i] add : tensor<8xf32>, [i] combine : tensor<8xi32>) {
  ^bb0(%p: f32):
    %at = loop.index 1 : index
    %k = arith.index_cast %at : index to i32
    loop.yield %p, %p, %k : f32, f32, i32
  // CHECK: } combine(0xff800000 : f32, 2147483647 : i32) {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: i32):
  } combine(0xFF800000 : f32, 2147483647 : i32) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i32):
    %above = arith.cmpf ogt, %a, %b : f32
    %same = arith.cmpf oeq, %a, %b : f32
    %before = arith.cmpi slt, %m, %n : i32
    %tie = arith.andi %same, %before : i1
    %left = arith.ori %above, %tie : i1
    %value = arith.select %left, %a, %b : f32
    %place = arith.select %left, %m, %n : i32
    // CHECK: loop.yield %{{.*}}, %{{.*}} : f32, i32
    loop.yield %value, %place : f32, i32
  }
  func.return %v, %s, %i : tensor<8xf32>, tensor<8xf32>, tensor<8xi32>
}

// Extents, and numbers in index maps, that are values.
// CHECK-LABEL: @sizes
func.func @sizes(%x: tensor<?x8xf32>, %n: index, %k: index) -> tensor<?xf32> {
  // CHECK: loop.generic (d0, d1)[s0 = %n, s1 = %k] in [s0, 8] reads(%x[s1 + (d0 * -1), d1] pad 0.000000e+00 : f32 : tensor<?x8xf32>) writes([d0, d1] store : tensor<?x8xf32>)
  %r = loop.generic (i, j)[rows = %n, last = %k] in [rows, 8] reads(%x[last - i, j] pad 0.0 : f32 : tensor<?x8xf32>) writes([i, j] store : tensor<?x8xf32>) {
  ^bb0(%v: f32):
    // CHECK: loop.size 1 : index
    %s = loop.size 1 : index
    %i = arith.index_cast %s : index to i64
    %f = arith.sitofp %i : i64 to f32
    %w = arith.addf %v, %f : f32
    loop.yield %w : f32
  }
  %c8 = arith.constant 8 : index
  %m = arith.muli %n, %c8 : index
  // CHECK: loop.reshape %r[%m] : tensor<?x8xf32> -> tensor<?xf32>
  %q = loop.reshape %r[%m] : tensor<?x8xf32> -> tensor<?xf32>
  func.return %q : tensor<?xf32>
}

// So of nests whose points depend on one another.
// CHECK-LABEL: @scan_of_sizes
func.func @scan_of_sizes(%x: tensor<?x8xf32>, %n: index, %k: index) -> tensor<?x8xf32> {
  // CHECK: loop.scan (d0, d1)[s0 = %n, s1 = %k] in [s0, 8] along 0 reads(%x[s1 + (d0 * -1), d1] : tensor<?x8xf32>) carries(0.000000e+00 : f32) gives(tensor<?x8xf32>)
  %r = loop.scan (i, j)[rows = %n, last = %k] in [rows, 8] along 0 reads(%x[last - i, j] : tensor<?x8xf32>)
      carries(0.0 : f32) gives(tensor<?x8xf32>) {
  ^bb0(%v: f32, %sum: f32):
    // CHECK: loop.size 0 : index
    %s = loop.size 0 : index
    %i = arith.index_cast %s : index to i64
    %f = arith.sitofp %i : i64 to f32
    %w = arith.divf %v, %f : f32
    %next = arith.addf %sum, %w : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<?x8xf32>
}

// CHECK-LABEL: @scatter_of_sizes
func.func @scatter_of_sizes(%at: tensor<?xi64>, %x: tensor<?x4xf32>, %table: tensor<?x4xf32>, %n: index) -> tensor<?x4xf32> {
  // CHECK: loop.scatter (d0, d1)[s0 = %n] in [s0, 4] reads(%at[d0] : tensor<?xi64>, %x[(s0 + (d0 * -1)) + -1, d1] : tensor<?x4xf32>) into(%table : tensor<?x4xf32>)
  %r = loop.scatter (i, j)[n = %n] in [n, 4] reads(%at[i] : tensor<?xi64>, %x[n - i - 1, j] : tensor<?x4xf32>)
      into(%table : tensor<?x4xf32>) {
  ^bb0(%i: i64, %v: f32, %old: f32):
    %row = arith.index_cast %i : i64 to index
    %column = loop.index 1 : index
    %end = loop.size 0 : index
    %kept = arith.cmpi slt, %row, %end : index
    loop.yield %row, %column, %v, %kept : index, index, f32, i1
  }
  func.return %r : tensor<?x4xf32>
}

// CHECK-LABEL: @segments_of_sizes
func.func @segments_of_sizes(%o: tensor<?xi64>, %x: tensor<?x8xf32>, %n: index, %k: index) -> tensor<?x8xf32> {
  // CHECK: loop.segment_reduce (d0, d1, d2)[s0 = %n, s1 = %k] in [s0, s1, 8] offsets(%o : tensor<?xi64>)
  // CHECK-SAME: reads(%x[d1, d2] : tensor<?x8xf32>) carries(0.000000e+00 : f32) gives(tensor<?x8xf32>)
  %r = loop.segment_reduce (s, p, c)[segments = %n, places = %k] in [segments, places, 8] offsets(%o : tensor<?xi64>)
      reads(%x[p, c] : tensor<?x8xf32>) carries(0.0 : f32) gives(tensor<?x8xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next : f32
  }
  func.return %r : tensor<?x8xf32>
}

// Of a call each dimension that its results leave open has a value.
// CHECK-LABEL: @call_of_sizes
func.func @call_of_sizes(%x: tensor<?x3xf32>, %n: index, %k: index) -> (tensor<?x3xf32>, tensor<4xf32>, tensor<3x?xf32>) {
  // CHECK: loop.extern "mine.f" {option = 1 : i64}(%x : tensor<?x3xf32>) sizes[%n, %k] : tensor<?x3xf32>, tensor<4xf32>, tensor<3x?xf32>
  %a, %b, %c = loop.extern "mine.f" {option = 1 : i64} (%x : tensor<?x3xf32>) sizes [%n, %k] : tensor<?x3xf32>, tensor<4xf32>, tensor<3x?xf32>
  func.return %a, %b, %c : tensor<?x3xf32>, tensor<4xf32>, tensor<3x?xf32>
}

// Of transforms the rows may be open.
// CHECK-LABEL: @open_rows
func.func @open_rows(%x: tensor<?x8x?xf32>, %t: tensor<8x2xf32>) -> tensor<?x5x?x2xf32> {
  // CHECK: loop.fourier %x by %t {kind = "r2c", columns, scale = 1.000000e+00 : f64} : tensor<?x8x?xf32>, tensor<8x2xf32> -> tensor<?x5x?x2xf32>
  %y = loop.fourier %x by %t {kind = "r2c", columns, scale = 1.0 : f64} : tensor<?x8x?xf32>, tensor<8x2xf32> -> tensor<?x5x?x2xf32>
  func.return %y : tensor<?x5x?x2xf32>
}
