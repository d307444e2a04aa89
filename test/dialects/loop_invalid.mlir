// RUN: lamina-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

func.func @outside(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (d0) in [8] reads(%x[d0 + 1] : tensor<8xf32>)
      writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: index 0 of read 0 runs over [1, 8] but the extent there is 8; pad the read or shrink the domain

// -----

func.func @combiner(%x: tensor<8xf32>) -> tensor<f32> {
  %r = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([] mean : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<f32>
}
// CHECK: unknown combiner 'mean'; one of store, add, mul, max, min, and, or

// -----

func.func @store(%x: tensor<8xf32>) -> tensor<f32> {
  %r = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([] store : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<f32>
}
// CHECK: write 0 stores but its map leaves out d0; use a reducing combiner

// -----

func.func @arguments(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f64):
    %v = arith.truncf %p : f64 to f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: body arguments must be the elements of the reads, then the sources: expected (f32), got (f64)

// -----

func.func @yield(%x: tensor<8xf32>) -> tensor<8xf64> {
  %r = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf64>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf64>
}
// CHECK: yields (f32) but writes elements of (f64)

// -----

func.func @unknown_dimension(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8] reads(%x[j] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: 'j' is not a dimension of this domain (i)

// -----

func.func @domain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8, 2] reads(%x[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: the domain names 1 dimensions and gives 2 extents

// -----

func.func @reshape(%x: tensor<8xf32>) -> tensor<9xf32> {
  %r = loop.reshape %x : tensor<8xf32> -> tensor<9xf32>
  func.return %r : tensor<9xf32>
}
// CHECK: loop.reshape may not change the element count: tensor<8xf32> to tensor<9xf32>

// -----

func.func @read(%t: tensor<8x2xf32>) -> tensor<8xf32> {
  %r = loop.generic (d0) in [8] sources(%t : tensor<8x2xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%table: tensor<8x2xf32>):
    %i = loop.index 0 : index
    %v = loop.read %table[%i] : tensor<8x2xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: loop.read gives 1 indices for tensor<8x2xf32>

// -----

func.func @runs(%t: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (d0) in [8] sources(%t : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%table: tensor<8xf32>):
    %i = loop.index 0 : index
    %v = loop.read %table[%i] {lamina.runs = 3 : i64} : tensor<8xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: lamina.runs = 3 : i64: it stands there alone, or not

// -----

func.func @limits(%t: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (d0) in [8] sources(%t : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%table: tensor<8xf32>):
    %i = loop.index 0 : index
    %v = "loop.read"(%table, %i, %i) <{limited = array<i64: 1>, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<8xf32>, index, index) -> f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: loop.read has 1 limits, which cannot be those of the indices [1] of 1

// -----

func.func @no_limit(%t: tensor<8xf32>, %n: tensor<i64>) -> tensor<8xf32> {
  %r = loop.generic (d0) in [8] reads(%n[] : tensor<i64>) sources(%t : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%m: i64, %table: tensor<8xf32>):
    %i = loop.index 0 : index
    %v = loop.read %table[%i below %m] : tensor<8xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: operand is used with type index, but has been previously used or defined with type i64

// -----

func.func @index() -> tensor<8xindex> {
  %r = loop.generic (d0) in [8] writes([d0] store : tensor<8xindex>) {
    %i = loop.index 3 : index
    loop.yield %i : index
  }
  func.return %r : tensor<8xindex>
}
// CHECK: loop.index 3: the domain has 1 dimensions

// -----

func.func @half_written(%x: tensor<8xf32>) -> tensor<16xf32> {
  %r = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0 * 2] store : tensor<16xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<16xf32>
}
// CHECK: write 0 reaches 8 places of a result with 16 elements; a nest writes its whole result

// -----

func.func @pad_of_another_type(%x: tensor<3xf32>) -> tensor<5xf32> {
  %r = loop.generic (d0) in [5] reads(%x[d0 - 1] pad 0 : i64 : tensor<3xf32>)
      writes([d0] store : tensor<5xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<5xf32>
}
// CHECK: loop.generic: pad of read 0 is 0 : i64, the tensor holds f32

// -----

func.func @extern_makes_nothing(%x: tensor<3xf32>) {
  loop.extern "f" {} (%x : tensor<3xf32>)
  func.return
}
// CHECK: loop.extern must make something

// -----

func.func @extern_option_of_another_kind(%x: tensor<3xf32>) -> tensor<3xf32> {
  %r = loop.extern "f" {kind = f32} (%x : tensor<3xf32>) : tensor<3xf32>
  func.return %r : tensor<3xf32>
}
// CHECK: loop.extern: f32 is no option; options are numbers, strings and lists of them

// -----

func.func @scatter_of_another_type(%t: tensor<10xf32>, %x: tensor<5xf64>) -> tensor<10xf32> {
  %r = loop.scatter (d0) in [5] reads(%x[d0] : tensor<5xf64>) into(%t : tensor<10xf32>) {
  ^bb0(%v: f64, %old: f32):
    %i = loop.index 0 : index
    loop.yield %i, %v : index, f64
  }
  func.return %r : tensor<10xf32>
}
// CHECK: loop.scatter: the body must yield (index, f32), it yields (index, f64)

// -----

func.func @scatter_to_where_it_was(%t: tensor<10xi64>) -> tensor<10xi64> {
  %r = loop.scatter (d0) in [5] into(%t : tensor<10xi64>) {
  ^bb0(%old: i64):
    %i = arith.index_cast %old : i64 to index
    loop.yield %i, %old : index, i64
  }
  func.return %r : tensor<10xi64>
}
// CHECK: loop.scatter: the index depends on the element it finds

// -----

func.func @mask_of_what_is_there(%t: tensor<10xf32>) -> tensor<10xf32> {
  %r = loop.scatter (d0) in [5] into(%t : tensor<10xf32>) {
  ^bb0(%old: f32):
    %i = loop.index 0 : index
    %on = arith.cmpf oeq, %old, %old : f32
    loop.yield %i, %old, %on : index, f32, i1
  }
  func.return %r : tensor<10xf32>
}
// CHECK: loop.scatter: the mask depends on the element it finds, or on one at an index

// -----

func.func @mask_at_an_index(%t: tensor<10xf32>, %m: tensor<3xi1>) -> tensor<10xf32> {
  %r = loop.scatter (d0) in [5] sources(%m : tensor<3xi1>) into(%t : tensor<10xf32>) {
  ^bb0(%from: tensor<3xi1>, %old: f32):
    %i = loop.index 0 : index
    %on = loop.read %from[%i] : tensor<3xi1>
    loop.yield %i, %old, %on : index, f32, i1
  }
  func.return %r : tensor<10xf32>
}
// CHECK: loop.scatter: the mask depends on the element it finds, or on one at an index

// -----

func.func @mask_that_is_a_number(%t: tensor<10xf32>) -> tensor<10xf32> {
  %r = loop.scatter (d0) in [5] into(%t : tensor<10xf32>) {
  ^bb0(%old: f32):
    %i = loop.index 0 : index
    loop.yield %i, %old, %i : index, f32, index
  }
  func.return %r : tensor<10xf32>
}
// CHECK: loop.scatter: the body must yield (index, f32, i1), it yields (index, f32, index)

// -----

func.func @scatter_reads_outside(%t: tensor<10xf32>, %x: tensor<4xf32>) -> tensor<10xf32> {
  %r = loop.scatter (d0) in [5] reads(%x[d0] : tensor<4xf32>) into(%t : tensor<10xf32>) {
  ^bb0(%v: f32, %old: f32):
    %i = loop.index 0 : index
    loop.yield %i, %v : index, f32
  }
  func.return %r : tensor<10xf32>
}
// CHECK: loop.scatter: index 0 of read 0 runs over [0, 4] but the extent there is 4

// -----

func.func @scan_along_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = loop.scan (d0) in [4] along 1 reads(%x[d0] : tensor<4xf32>)
      carries(0.0 : f32) gives(tensor<4xf32>) {
  ^bb0(%v: f32, %s: f32):
    loop.yield %v, %v : f32, f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK: loop.scan: the domain has no dimension 1

// -----

func.func @scan_of_another_shape(%x: tensor<4xf32>) -> tensor<5xf32> {
  %r = loop.scan (d0) in [4] along 0 reads(%x[d0] : tensor<4xf32>)
      carries(0.0 : f32) gives(tensor<5xf32>) {
  ^bb0(%v: f32, %s: f32):
    loop.yield %v, %v : f32, f32
  }
  func.return %r : tensor<5xf32>
}
// CHECK: loop.scan: results have the domain's shape [4], not tensor<5xf32>

// -----

func.func @offsets_of_other_segments(%o: tensor<4xi64>, %x: tensor<10xf32>) -> tensor<4xf32> {
  %r = loop.segment_reduce (d0, d1) in [4, 10] offsets(%o : tensor<4xi64>)
      reads(%x[d1] : tensor<10xf32>) carries(0.0 : f32) gives(tensor<4xf32>) {
  ^bb0(%v: f32, %s: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK: loop.segment_reduce: 4 segments have 5 offsets of i64, not tensor<4xi64>

// -----

func.func @segments_of_another_shape(%o: tensor<5xi64>, %x: tensor<10xf32>) -> tensor<10xf32> {
  %r = loop.segment_reduce (d0, d1) in [4, 10] offsets(%o : tensor<5xi64>)
      reads(%x[d1] : tensor<10xf32>) carries(0.0 : f32) gives(tensor<10xf32>) {
  ^bb0(%v: f32, %s: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<10xf32>
}
// CHECK: loop.segment_reduce: results have the domain's shape without its second dimension, [4], not tensor<10xf32>

// -----

func.func @segments_give_what_is_not_carried(%o: tensor<5xi64>, %x: tensor<10xf32>) -> tensor<4xf64> {
  %r = loop.segment_reduce (d0, d1) in [4, 10] offsets(%o : tensor<5xi64>)
      reads(%x[d1] : tensor<10xf32>) carries(0.0 : f32) gives(tensor<4xf64>) {
  ^bb0(%v: f32, %s: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf64>
}
// CHECK: loop.segment_reduce: results are the first of what is carried, (f32), not (f64)

// -----

func.func @sort_without_working_memory(%x: tensor<4xf32>) -> tensor<4xf32> {
  %v, %i = loop.sort %x : tensor<4xf32> -> tensor<4xf32>, tensor<4xi64>
  func.return %v : tensor<4xf32>
}
// CHECK: loop.sort of tensor<4xf32> makes values and positions twice

// -----

func.func @row(%x: memref<5x4xf32>, %i: index) {
  %r = loop.row %x[%i] : memref<5x4xf32> -> memref<5xf32>
  func.return
}
// CHECK: loop.row: memref<5xf32> is no row of memref<5x4xf32>

// -----

func.func @sort_of_more_than_there_is(%x: tensor<4xf32>) -> tensor<3xf32> {
  %v, %i, %w, %j = loop.sort %x {taken = array<i64: 2, 3>} : tensor<4xf32> -> tensor<3xf32>, tensor<3xi64>, tensor<7xf32>, tensor<7xi64>
  func.return %v : tensor<3xf32>
}
// CHECK: taken: rows of 4 do not have 3 elements from 2 on

// -----

func.func @sort_of_the_middle(%x: tensor<9xf32>) -> tensor<3xf32> {
  %v, %i, %w, %j = loop.sort %x {taken = array<i64: 2, 3>} : tensor<9xf32> -> tensor<3xf32>, tensor<3xi64>, tensor<12xf32>, tensor<12xi64>
  func.return %v : tensor<3xf32>
}
// CHECK: taken: 3 elements from 2 on; either start is 0 or count is 1

// -----

func.func @tile_of_too_many_rows() {
  %z = loop.tile_zero : vector<17x16xf32>
  func.return
}
// CHECK: a tile has 1 to 16 rows of whole words of 4 bytes, and of 4 to 64 bytes, not vector<17x16xf32>

// -----

func.func @tile_of_other_elements(%m: memref<512xf32>, %i: index) {
  %t = loop.tile_load %m[%i], %i : memref<512xf32>, vector<16x32xbf16>
  func.return
}
// CHECK: loop.tile_load: memref<512xf32> has other elements than vector<16x32xbf16>

// -----

func.func @tiles_that_do_not_fit(%m: memref<512xbf16>, %i: index) {
  %z = loop.tile_zero : vector<16x16xf32>
  %a = loop.tile_load %m[%i], %i : memref<512xbf16>, vector<16x32xbf16>
  %b = loop.tile_load %m[%i], %i : memref<512xbf16>, vector<8x32xbf16>
  %s = loop.tile_dot %a, %b, %z : vector<16x32xbf16>, vector<8x32xbf16>, vector<16x16xf32> -> vector<16x16xf32>
  func.return
}
// CHECK: 16 rows of 32 terms by 8 pairs of 16 columns do not make 16x16

// -----

func.func @dots_of_too_few_pairs(%a: vector<16xbf16>, %t: vector<16xf32>) {
  %s = loop.dot_pairs %a, %a, %t : vector<16xbf16>, vector<16xbf16>, vector<16xf32> -> vector<16xf32>
  func.return
}
// CHECK: loop.dot_pairs: vector<16xf32> takes vectors of twice as many elements, not vector<16xbf16>

// -----

func.func @compressed_in_odd_lanes(%v: vector<17xf32>, %m: vector<17xi1>) {
  %c = loop.compress %v, %m : vector<17xf32>, vector<17xi1> -> vector<17xf32>
  func.return
}
// CHECK: loop.compress: vector<17xf32>: it takes a power of two lanes

// -----

func.func @compressed_by_another_mask(%v: vector<8xf32>, %m: vector<4xi1>) {
  %c = loop.compress %v, %m : vector<8xf32>, vector<4xi1> -> vector<8xf32>
  func.return
}
// CHECK: loop.compress: the mask has an i1 for each lane of vector<8xf32>

// -----

func.func @dots_of_f16(%a: vector<32xf16>, %t: vector<16xf32>) {
  %s = loop.dot_pairs %a, %a, %t : vector<32xf16>, vector<32xf16>, vector<16xf32> -> vector<16xf32>
  func.return
}
// CHECK: loop.dot_pairs: multiplies bf16 and adds to f32

// -----

func.func @extern_in_place(%x: memref<3x3xf64>) {
  loop.extern "f" {} (%x : memref<3x3xf64>) outs(%x : memref<3x3xf64>)
  func.return
}
// CHECK: loop.extern writes to what it reads; its outs lie apart

// -----

func.func @far_pad(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = loop.generic (i) in [8] reads(%x[i - 99999999999999999999999] pad 0.0 : f32 : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK: index 0 of read 0 runs over [-99999999999999999999999, -99999999999999999999992], beyond 2^59

// -----

func.func @no_region(%x: tensor<8x4xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %r0, %r1 = loop.generic (i, j) in [8, 4] reads(%x[i, j] : tensor<8x4xf32>) writes([] combine : tensor<f32>, [] combine : tensor<i32>) {
  ^bb0(%p: f32):
    %at = loop.index 0 : index
    %k = arith.index_cast %at : index to i32
    loop.yield %p, %k : f32, i32
  }
  func.return %r0, %r1 : tensor<f32>, tensor<i32>
}
// CHECK: 0 combining regions with 0 identities for 2 results with the combiner 'combine'

// -----

func.func @too_few(%x: tensor<8x4xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %r0, %r1 = loop.generic (i, j) in [8, 4] reads(%x[i, j] : tensor<8x4xf32>) writes([] combine : tensor<f32>, [] combine : tensor<i32>) {
  ^bb0(%p: f32):
    %at = loop.index 0 : index
    %k = arith.index_cast %at : index to i32
    loop.yield %p, %k : f32, i32
  } combine(0.0 : f32) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i32):
    %v = arith.addf %a, %b : f32
    loop.yield %v, %m : f32, i32
  }
  func.return %r0, %r1 : tensor<f32>, tensor<i32>
}
// CHECK: 1 combining regions with 1 identities for 2 results

// -----

func.func @identity_type(%x: tensor<8x4xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %r0, %r1 = loop.generic (i, j) in [8, 4] reads(%x[i, j] : tensor<8x4xf32>) writes([] combine : tensor<f32>, [] combine : tensor<i32>) {
  ^bb0(%p: f32):
    %at = loop.index 0 : index
    %k = arith.index_cast %at : index to i32
    loop.yield %p, %k : f32, i32
  } combine(0.0 : f32, 0 : i64) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i32):
    %v = arith.addf %a, %b : f32
    loop.yield %v, %m : f32, i32
  }
  func.return %r0, %r1 : tensor<f32>, tensor<i32>
}
// CHECK: identity 1 is 0 : i64, the result holds i32

// -----

func.func @argument_types(%x: tensor<8x4xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %r0, %r1 = loop.generic (i, j) in [8, 4] reads(%x[i, j] : tensor<8x4xf32>) writes([] combine : tensor<f32>, [] combine : tensor<i32>) {
  ^bb0(%p: f32):
    %at = loop.index 0 : index
    %k = arith.index_cast %at : index to i32
    loop.yield %p, %k : f32, i32
  } combine(0.0 : f32, 0 : i32) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i64):
    %v = arith.addf %a, %b : f32
    loop.yield %v, %m : f32, i32
  }
  func.return %r0, %r1 : tensor<f32>, tensor<i32>
}
// CHECK: a combining region takes two tuples of (f32, i32), got (f32, i32, f32, i64)

// -----

func.func @yielded_types(%x: tensor<8x4xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %r0, %r1 = loop.generic (i, j) in [8, 4] reads(%x[i, j] : tensor<8x4xf32>) writes([] combine : tensor<f32>, [] combine : tensor<i32>) {
  ^bb0(%p: f32):
    %at = loop.index 0 : index
    %k = arith.index_cast %at : index to i32
    loop.yield %p, %k : f32, i32
  } combine(0.0 : f32, 0 : i32) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i32):
    %v = arith.addf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r0, %r1 : tensor<f32>, tensor<i32>
}
// CHECK: a combining region yields (f32, i32)

// -----

func.func @not_pure(%x: tensor<8x4xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %r0, %r1 = loop.generic (i, j) in [8, 4] reads(%x[i, j] : tensor<8x4xf32>) writes([] combine : tensor<f32>, [] combine : tensor<i32>) {
  ^bb0(%p: f32):
    %at = loop.index 0 : index
    %k = arith.index_cast %at : index to i32
    loop.yield %p, %k : f32, i32
  } combine(0.0 : f32, 0 : i32) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i32):
    %v = arith.addf %a, %b : f32
    %w = loop.index 0 : index
    loop.yield %v, %m : f32, i32
  }
  func.return %r0, %r1 : tensor<f32>, tensor<i32>
}
// CHECK: loop.index in a combining region, which holds arith and math alone

// -----

func.func @other_dims(%x: tensor<8x4xf32>, %y: tensor<f32>) -> (tensor<8xf32>, tensor<4xi32>) {
  %r0, %r1 = loop.generic (i, j) in [8, 4] reads(%x[i, j] : tensor<8x4xf32>) writes([i] combine : tensor<8xf32>, [j] combine : tensor<4xi32>) {
  ^bb0(%p: f32):
    %at = loop.index 0 : index
    %k = arith.index_cast %at : index to i32
    loop.yield %p, %k : f32, i32
  } combine(0.0 : f32, 0 : i32) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i32):
    %v = arith.addf %a, %b : f32
    loop.yield %v, %m : f32, i32
  }
  func.return %r0, %r1 : tensor<8xf32>, tensor<4xi32>
}
// CHECK: results that are combined together are reduced over the same dims

// -----

func.func @winograd(%x: tensor<1x7x8x4xf32>, %w: tensor<5x4x3x3xf32>) -> tensor<1x5x6x5xf32> {
  %r = loop.generic (n, y, x, o, i, j, c) in [1, 5, 6, 5, 3, 3, 4] reads(%x[n, y + i, x + j, c] : tensor<1x7x8x4xf32>, %w[o, c, i, j] : tensor<5x4x3x3xf32>) writes([n, y, x, o] add : tensor<1x5x6x5xf32>) attributes {lamina.winograd = "line"} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x5x6x5xf32>
}
// CHECK: lamina.winograd stands on what is no sum of products of floats over windows of 3x3 in steps of one, with even numbers of lines and columns

// -----

func.func @fourier_kind(%x: tensor<4x64xf32>, %t: tensor<64x2xf32>) -> tensor<4x33x2xf32> {
  %r = loop.fourier %x by %t {kind = "dct", scale = 1.0 : f64} : tensor<4x64xf32>, tensor<64x2xf32> -> tensor<4x33x2xf32>
  func.return %r : tensor<4x33x2xf32>
}
// CHECK: kind = 'dct' is none of c2c, r2c, c2r

// -----

func.func @fourier_element(%x: tensor<4x64xf32>, %t: tensor<64x2xf64>) -> tensor<4x33x2xf32> {
  %r = loop.fourier %x by %t {kind = "r2c", scale = 1.0 : f64} : tensor<4x64xf32>, tensor<64x2xf64> -> tensor<4x33x2xf32>
  func.return %r : tensor<4x33x2xf32>
}
// CHECK: loop.fourier: all tensors are of f32, or all of f64

// -----

func.func @fourier_inverse(%x: tensor<4x64xf32>, %t: tensor<64x2xf32>) -> tensor<4x33x2xf32> {
  %r = loop.fourier %x by %t {kind = "r2c", inverse, scale = 1.0 : f64} : tensor<4x64xf32>, tensor<64x2xf32> -> tensor<4x33x2xf32>
  func.return %r : tensor<4x33x2xf32>
}
// CHECK: loop.fourier: 'r2c' is not inverse

// -----

func.func @fourier_forward(%x: tensor<4x33x2xf32>, %t: tensor<64x2xf32>) -> tensor<4x64xf32> {
  %r = loop.fourier %x by %t {kind = "c2r", scale = 1.0 : f64} : tensor<4x33x2xf32>, tensor<64x2xf32> -> tensor<4x64xf32>
  func.return %r : tensor<4x64xf32>
}
// CHECK: loop.fourier: 'c2r' is inverse

// -----

func.func @fourier_pairs(%x: tensor<4x64xf32>, %t: tensor<64x2xf32>) -> tensor<4x64xf32> {
  %r = loop.fourier %x by %t {kind = "c2c", scale = 1.0 : f64} : tensor<4x64xf32>, tensor<64x2xf32> -> tensor<4x64xf32>
  func.return %r : tensor<4x64xf32>
}
// CHECK: complex numbers are a last dimension of 2

// -----

func.func @fourier_half(%x: tensor<4x64xf32>, %t: tensor<64x2xf32>) -> tensor<4x32x2xf32> {
  %r = loop.fourier %x by %t {kind = "r2c", scale = 1.0 : f64} : tensor<4x64xf32>, tensor<64x2xf32> -> tensor<4x32x2xf32>
  func.return %r : tensor<4x32x2xf32>
}
// CHECK: 'r2c' of 64 numbers: from 64 to 32 is not from 64 to 33

// -----

func.func @fourier_other_rows(%x: tensor<4x64xf32>, %t: tensor<64x2xf32>) -> tensor<5x33x2xf32> {
  %r = loop.fourier %x by %t {kind = "r2c", scale = 1.0 : f64} : tensor<4x64xf32>, tensor<64x2xf32> -> tensor<5x33x2xf32>
  func.return %r : tensor<5x33x2xf32>
}
// CHECK: the operand and the result have other rows

// -----

func.func @fourier_odd(%x: tensor<4x15xf32>, %t: tensor<15x2xf32>) -> tensor<4x8x2xf32> {
  %r = loop.fourier %x by %t {kind = "r2c", scale = 1.0 : f64} : tensor<4x15xf32>, tensor<15x2xf32> -> tensor<4x8x2xf32>
  func.return %r : tensor<4x8x2xf32>
}
// CHECK: 'r2c' of 15 numbers, which is not even

// -----

func.func @fourier_prime(%x: tensor<4x37x2xf32>, %t: tensor<37x2xf32>) -> tensor<4x37x2xf32> {
  %r = loop.fourier %x by %t {kind = "c2c", scale = 1.0 : f64} : tensor<4x37x2xf32>, tensor<37x2xf32> -> tensor<4x37x2xf32>
  func.return %r : tensor<4x37x2xf32>
}
// CHECK: 37 numbers have a prime factor above 32

// -----

func.func @fourier_turns(%x: tensor<4x8x2xf32>, %t: tensor<4x2xf32>) -> tensor<4x8x2xf32> {
  %r = loop.fourier %x by %t {kind = "c2c", scale = 1.0 : f64} : tensor<4x8x2xf32>, tensor<4x2xf32> -> tensor<4x8x2xf32>
  func.return %r : tensor<4x8x2xf32>
}
// CHECK: turns of 8 numbers are 8x2


// -----

func.func @no_size(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xf32>) writes([d0] store : tensor<4xf32>) {
  ^bb0(%v: f32):
    %s = loop.size 0 : index
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK: loop.size 0: the nest has 0 sizes

// -----

func.func @unknown_size(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %r = loop.generic (d0)[s0 = %n] in [s1] reads(%x[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: 's1' is not a size of this domain (s0)

// -----

func.func @negative(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = loop.generic (d0) in [-4] reads(%x[d0] : tensor<4xf32>) writes([d0] store : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK: negative extent -4

// -----

func.func @label(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %r = loop.generic (d0)[s0 = %n] in [s0] reads(%x[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) attributes {lamina.op = 3 : i64} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: lamina.op is a string, or several: not 3 : i64

// -----

func.func @scan_of_sizes(%x: tensor<?x4xf32>, %n: index) -> tensor<?x5xf32> {
  %r = loop.scan (d0, d1)[s0 = %n] in [s0, 4] along 0 reads(%x[d0, d1] : tensor<?x4xf32>) carries(0.0 : f32) gives(tensor<?x5xf32>) {
  ^bb0(%v: f32, %c: f32):
    loop.yield %c, %c : f32, f32
  }
  func.return %r : tensor<?x5xf32>
}
// CHECK: loop.scan: results have the domain's shape [s0, 4], not tensor<?x5xf32>

// -----

func.func @offsets_of_sizes(%o: tensor<?x2xi64>, %x: tensor<?xf32>, %n: index, %k: index) -> tensor<?xf32> {
  %r = loop.segment_reduce (d0, d1)[s0 = %n, s1 = %k] in [s0, s1] offsets(%o : tensor<?x2xi64>)
      reads(%x[d1] : tensor<?xf32>) carries(0.0 : f32) gives(tensor<?xf32>) {
  ^bb0(%v: f32, %s: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.segment_reduce: offsets are a vector of i64, of one more than there are segments, not tensor<?x2xi64>

// -----

func.func @sort_of_unknown_sizes(%x: tensor<4x10xf32>, %k: index) -> tensor<4x?xf32> {
  %a, %b, %c, %d = loop.sort %x[%k] {taken = array<i64: 0, -2>} : tensor<4x10xf32> -> tensor<4x?xf32>, tensor<4x?xi64>, tensor<4x?xf32>, tensor<4x?xi64>
  func.return %a : tensor<4x?xf32>
}
// CHECK: taken: an entry is size 1, and there are 1

// -----

func.func @sort_of_sizes(%x: tensor<4x10xf32>, %k: index) -> tensor<4x10xf32> {
  %a, %b, %c, %d = loop.sort %x[%k] : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
  func.return %a : tensor<4x10xf32>
}
// CHECK: loop.sort: only what is taken has sizes

// -----

func.func @call_without_sizes(%x: tensor<?xf32>, %n: index) -> tensor<?x?xf32> {
  %r = loop.extern "mine.f" {} (%x : tensor<?xf32>) sizes [%n] : tensor<?x?xf32>
  func.return %r : tensor<?x?xf32>
}
// CHECK: loop.extern has 1 sizes for the 2 dimensions that its results leave open

// -----

func.func @transform_of_sizes(%x: tensor<4x?xf32>, %t: tensor<?x2xf32>) -> tensor<4x?x2xf32> {
  %y = loop.fourier %x by %t {kind = "r2c", scale = 1.0 : f64} : tensor<4x?xf32>, tensor<?x2xf32> -> tensor<4x?x2xf32>
  func.return %y : tensor<4x?x2xf32>
}
// CHECK: loop.fourier: of how many numbers a transform is may not be open, only of how many rows there are

// -----

func.func @scan_of_unknown_sizes(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %r = "loop.scan"(%x, %n) <{domain = array<i64: -2>, input_maps = [affine_map<(d0)[s0] -> (d0)>], along = 0 : i64, carries = [0.0 : f32], operandSegmentSizes = array<i32: 1, 0, 0, 1>}> ({
  ^bb0(%v: f32, %c: f32):
    loop.yield %c, %c : f32, f32
  }) : (tensor<?xf32>, index) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
// CHECK: loop.scan: an extent is size 1, and there are 1

// -----

func.func @scan_map_of_sizes(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %r = "loop.scan"(%x, %n) <{domain = array<i64: -1>, input_maps = [affine_map<(d0) -> (d0)>], along = 0 : i64, carries = [0.0 : f32], operandSegmentSizes = array<i32: 1, 0, 0, 1>}> ({
  ^bb0(%v: f32, %c: f32):
    loop.yield %c, %c : f32, f32
  }) : (tensor<?xf32>, index) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
// CHECK: loop.scan: a map of 1 dimensions and 0 sizes, the domain has 1 and 1

// -----

func.func @scan_of_sizes_in_memory(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  "loop.scan"(%x, %y, %n) <{domain = array<i64: -1>, input_maps = [affine_map<(d0)[s0] -> (d0)>], along = 0 : i64, carries = [0.0 : f32], operandSegmentSizes = array<i32: 1, 0, 1, 1>}> ({
  ^bb0(%v: f32, %c: f32):
    loop.yield %c, %c : f32, f32
  }) : (memref<4xf32>, memref<4xf32>, index) -> ()
  func.return
}
// CHECK: loop.scan: a nest in memory has known extents

// -----

func.func @stores(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %r = loop.generic (d0)[s0 = %n] in [s0] reads(%x[d0] pad 0 : i64 : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: the pad 0 : i64 is no element of tensor<?xf32>

// -----

func.func @nest_without_domain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "loop.generic"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> ({
  ^bb0(%a: f32):
    loop.yield %a : f32
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK: property 'domain' expected in operation 'loop.generic'

// -----

func.func @nest_of_a_number(%x: i32) -> tensor<4xf32> {
  %0 = "loop.generic"(%x) <{domain = array<i64: 4>, input_maps = [affine_map<(d0) -> (d0)>], pads = [unit], output_maps = [affine_map<(d0) -> (d0)>], combiners = ["store"], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> ({
  ^bb0(%a: f32):
    loop.yield %a : f32
  }) : (i32) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK: operand 'inputs' at position 0 does not verify
