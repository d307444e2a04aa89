// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' --split-input-file | filecheck %s

// Vectors run along rows of tables that are looked up in, though places and masks lie along the other dimension.
// CHECK-LABEL: @rows_of_tables
// CHECK:         vectorize = d1 x 16
func.func private @rows_of_tables(%p: memref<1024xi64>, %q: memref<1024xi64>, %c: memref<1024xi1>, %d: memref<1024xi1>, %e: memref<1024xi1>, %m: memref<1024xi1>, %n: memref<1024xi1>, %s: memref<256x128xf32>, %t: memref<256x128xf32>, %o: memref<1024x128xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1) in [1024, 128] reads(%p[d0] : memref<1024xi64>, %q[d0] : memref<1024xi64>, %c[d0] : memref<1024xi1>, %d[d0] : memref<1024xi1>, %e[d0] : memref<1024xi1>, %m[d0] : memref<1024xi1>, %n[d0] : memref<1024xi1>) sources(%s : memref<256x128xf32>, %t : memref<256x128xf32>) writes([d0, d1] store into %o : memref<1024x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: i64, %b: i64, %f: i1, %g: i1, %h: i1, %r: i1, %u: i1, %x: memref<256x128xf32>, %y: memref<256x128xf32>):
    %j = loop.index 1 : index
    %i = arith.index_cast %a : i64 to index
    %k = arith.index_cast %b : i64 to index
    %v = loop.read %x[%i, %j] : memref<256x128xf32>
    %w = loop.read %y[%k, %j] : memref<256x128xf32>
    %l = arith.andi %f, %g : i1
    %a1 = arith.andi %l, %h : i1
    %a2 = arith.andi %a1, %r : i1
    %a3 = arith.andi %a2, %u : i1
    %z = arith.select %a3, %v, %w : f32
    loop.yield %z : f32
  }
  func.return
}

// -----

// Not where places within a row differ: then neighbours are no elements of a row.
// CHECK-LABEL: @elements_of_tables
// CHECK:         vectorize = d0 x 16
func.func private @elements_of_tables(%p: memref<1024xi64>, %q: memref<128xi64>, %c: memref<1024xi1>, %d: memref<1024xi1>, %e: memref<1024xi1>, %m: memref<1024xi1>, %n: memref<1024xi1>, %n2: memref<1024xi1>, %s: memref<256x128xf32>, %t: memref<128x256xf32>, %o: memref<1024x128xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1) in [1024, 128] reads(%p[d0] : memref<1024xi64>, %q[d1] : memref<128xi64>, %c[d0] : memref<1024xi1>, %d[d0] : memref<1024xi1>, %e[d0] : memref<1024xi1>, %m[d0] : memref<1024xi1>, %n[d0] : memref<1024xi1>, %n2[d0] : memref<1024xi1>) sources(%s : memref<256x128xf32>, %t : memref<128x256xf32>) writes([d0, d1] store into %o : memref<1024x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: i64, %b: i64, %f: i1, %g: i1, %h: i1, %r: i1, %u: i1, %u2: i1, %x: memref<256x128xf32>, %y: memref<128x256xf32>):
    %i = arith.index_cast %a : i64 to index
    %k = arith.index_cast %b : i64 to index
    %v = loop.read %x[%i, %k] : memref<256x128xf32>
    %w = loop.read %y[%k, %i] : memref<128x256xf32>
    %l = arith.andi %f, %g : i1
    %a1 = arith.andi %l, %h : i1
    %a2 = arith.andi %a1, %r : i1
    %a3 = arith.andi %a2, %u : i1
    %a4 = arith.andi %a3, %u2 : i1
    %z = arith.select %a4, %v, %w : f32
    loop.yield %z : f32
  }
  func.return
}
