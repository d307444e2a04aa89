// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics

// Columns in the lanes of vectors over rows.

func.func private @part(%x: memref<16x4xf32>, %y: memref<4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false, inner = [0]>]} {
  // expected-error@below {{jam = d1 x 2: with vectors along a reduced dimension, all of a kept one}}
  loop.generic (i, j) in [16, 4] reads(%x[i, j] : memref<16x4xf32>) writes([j] add into %y : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<vectorize = d0 x 4, jam = d1 x 2>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

func.func private @position(%x: memref<16x4xf32>, %y: memref<4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false, inner = [0]>]} {
  // expected-error@below {{jam = d1 x 4: of a nest alone whose body asks for no position in either, and looks nothing up}}
  loop.generic (i, j) in [16, 4] reads(%x[i, j] : memref<16x4xf32>) writes([j] add into %y : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<vectorize = d0 x 4, jam = d1 x 4>} {
  ^bb0(%a: f32):
    %i = loop.index 0 : index
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %d = arith.mulf %a, %f : f32
    loop.yield %d : f32
  }
  func.return
}

// -----

func.func private @padded(%x: memref<16x4xf32>, %y: memref<4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false, inner = [0]>]} {
  // expected-error@below {{jam = d1 x 4: of reads without a pad, by combiners that have a name}}
  loop.generic (i, j) in [17, 4] reads(%x[i - 1, j] pad 0.0 : f32 : memref<16x4xf32>) writes([j] add into %y : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<vectorize = d0 x 4, jam = d1 x 4>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
