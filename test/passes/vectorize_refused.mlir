// RUN: lamina-opt %s -p vectorize --split-input-file --verify-diagnostics

func.func private @rows(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  // expected-error@below {{its rows are not in tasks yet: run parallelize first}}
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @clause(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  // expected-error@below {{terms: only of packed products}}
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) attributes {lamina.schedule = #loop.schedule<vectorize = d0 x 4, terms = 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
