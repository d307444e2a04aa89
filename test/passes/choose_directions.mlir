// RUN: lamina-opt %s -p 'choose-directions{target="x86-64-v4;cores=2"}' --split-input-file | filecheck %s

// A step reads 1 MB of weights, as all others do. What the text says of the second of two such products stays.
func.func @main(%x: memref<5x1x512xf32>, %w: memref<16x512x32xf32>, %h: memref<1x512xf32>, %s: memref<1x512xf32>, %t: memref<1x512xf32>) attributes {lamina.entry} {
  %zero = arith.constant 0 : index
  %end = arith.constant 5 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %end step %one {
    %row = loop.row %x[%i] : memref<5x1x512xf32> -> memref<1x512xf32>
    func.call @step(%h, %w, %s) : (memref<1x512xf32>, memref<16x512x32xf32>, memref<1x512xf32>) -> ()
    func.call @said(%s, %w, %t) : (memref<1x512xf32>, memref<16x512x32xf32>, memref<1x512xf32>) -> ()
    func.call @other(%row, %t, %h) : (memref<1x512xf32>, memref<1x512xf32>, memref<1x512xf32>) -> ()
  }
  func.return
}
// CHECK-LABEL: func.func private @step(
// CHECK-SAME:    lamina.schedule = [#loop.products<parallel, columns = 4, alternate>]
func.func private @step(%a: memref<1x512xf32>, %b: memref<16x512x32xf32>, %c: memref<1x512xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, columns = 4>]} {
  loop.generic (n, k) in [512, 512] reads(%a[0, k] : memref<1x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x512x32xf32>) writes([0, n] add into %c : memref<1x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 2>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: func.func private @said(
// CHECK-SAME:    lamina.schedule = [#loop.products<parallel, columns = 4, alternate = false>]
func.func private @said(%a: memref<1x512xf32>, %b: memref<16x512x32xf32>, %c: memref<1x512xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, columns = 4, alternate = false>]} {
  loop.generic (n, k) in [512, 512] reads(%a[0, k] : memref<1x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x512x32xf32>) writes([0, n] add into %c : memref<1x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 2>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: func.func private @other(
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel, inner = [0]>]
func.func private @other(%a: memref<1x512xf32>, %b: memref<1x512xf32>, %c: memref<1x512xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (i) in [512] reads(%a[0, i] : memref<1x512xf32>, %b[0, i] : memref<1x512xf32>) writes([0, i] store into %c : memref<1x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 1>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// Not where weights are other ones in each step (loop of @layers), stay in the nearer caches (@small), or are multiplied by
// several tiles of rows, while the next panel is fetched (@rows).
// CHECK-LABEL: func.func @main
// CHECK-NOT:     alternate
func.func @main(%w: memref<6x16x512x32xf32>, %v: memref<1x32x32xf32>, %u: memref<16x512x32xf32>, %h: memref<1x512xf32>, %s: memref<1x512xf32>, %i: memref<1x32xf32>, %o: memref<1x32xf32>, %m: memref<20x512xf32>, %n: memref<20x512xf32>) attributes {lamina.entry} {
  %zero = arith.constant 0 : index
  %end = arith.constant 6 : index
  %one = arith.constant 1 : index
  scf.for %k = %zero to %end step %one {
    %row = loop.row %w[%k] : memref<6x16x512x32xf32> -> memref<16x512x32xf32>
    func.call @layers(%h, %row, %s) : (memref<1x512xf32>, memref<16x512x32xf32>, memref<1x512xf32>) -> ()
    "memref.copy"(%s, %h) : (memref<1x512xf32>, memref<1x512xf32>) -> ()
  }
  scf.for %k = %zero to %end step %one {
    func.call @small(%i, %v, %o) : (memref<1x32xf32>, memref<1x32x32xf32>, memref<1x32xf32>) -> ()
    "memref.copy"(%o, %i) : (memref<1x32xf32>, memref<1x32xf32>) -> ()
  }
  scf.for %k = %zero to %end step %one {
    func.call @rows(%m, %u, %n) : (memref<20x512xf32>, memref<16x512x32xf32>, memref<20x512xf32>) -> ()
    "memref.copy"(%n, %m) : (memref<20x512xf32>, memref<20x512xf32>) -> ()
  }
  func.return
}
func.func private @layers(%a: memref<1x512xf32>, %b: memref<16x512x32xf32>, %c: memref<1x512xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, columns = 4>]} {
  loop.generic (n, k) in [512, 512] reads(%a[0, k] : memref<1x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x512x32xf32>) writes([0, n] add into %c : memref<1x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 2>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @small(%a: memref<1x32xf32>, %b: memref<1x32x32xf32>, %c: memref<1x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel>]} {
  loop.generic (n, k) in [32, 32] reads(%a[0, k] : memref<1x32xf32>, %b[n floordiv 32, k, n mod 32] : memref<1x32x32xf32>) writes([0, n] add into %c : memref<1x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 2>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @rows(%a: memref<20x512xf32>, %b: memref<16x512x32xf32>, %c: memref<20x512xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, block = 20>]} {
  loop.generic (m, n, k) in [20, 512, 512] reads(%a[m, k] : memref<20x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x512x32xf32>) writes([m, n] add into %c : memref<20x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 10, prefetch_panels = 1>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
