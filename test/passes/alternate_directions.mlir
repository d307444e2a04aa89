// RUN: lamina-opt %s -p alternate-directions --split-input-file --verify-diagnostics | filecheck %s

// Of five steps two are taken in a round, the second one backwards, and one behind the loop.
// CHECK-LABEL: func.func @main
// CHECK:         scf.for [[I:%\S+]] = %{{\S+}} to [[END:%\S+]] step [[TWO:%\S+]] {
// CHECK:           loop.row %x{{\[}}[[I]]]
// CHECK-NEXT:      func.call @step(
// CHECK-NEXT:      func.call @other(
// CHECK-NEXT:      memref.copy
// CHECK:           [[J:%\S+]] = arith.addi [[I]],
// CHECK-NEXT:      loop.row %x{{\[}}[[J]]]
// CHECK-NEXT:      func.call @step_back(
// CHECK-NEXT:      func.call @other(
// CHECK-NEXT:      memref.copy
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.row %x{{\[}}[[END]]]
// CHECK-NEXT:    func.call @step(
// CHECK-NEXT:    func.call @other(
// CHECK-NEXT:    memref.copy
// CHECK-NEXT:    func.return
func.func @main(%x: memref<5x1x512xf32>, %w: memref<16x512x32xf32>, %h: memref<1x512xf32>, %s: memref<1x512xf32>, %t: memref<1x512xf32>) attributes {lamina.entry} {
  %zero = arith.constant 0 : index
  %end = arith.constant 5 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %end step %one {
    %row = loop.row %x[%i] : memref<5x1x512xf32> -> memref<1x512xf32>
    func.call @step(%h, %w, %s) : (memref<1x512xf32>, memref<16x512x32xf32>, memref<1x512xf32>) -> ()
    func.call @other(%row, %s, %t) : (memref<1x512xf32>, memref<1x512xf32>, memref<1x512xf32>) -> ()
    "memref.copy"(%t, %h) : (memref<1x512xf32>, memref<1x512xf32>) -> ()
  }
  func.return
}
// CHECK-LABEL: func.func private @step(
// CHECK-SAME:    lamina.schedule = [#loop.products<parallel, columns = 4>]
// CHECK-LABEL: func.func private @step_back(
// CHECK-SAME:    lamina.schedule = [#loop.products<parallel, columns = 4, backward>]
func.func private @step(%a: memref<1x512xf32>, %b: memref<16x512x32xf32>, %c: memref<1x512xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, columns = 4, alternate>]} {
  loop.generic (n, k) in [512, 512] reads(%a[0, k] : memref<1x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x512x32xf32>) writes([0, n] add into %c : memref<1x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 2>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @other(%a: memref<1x512xf32>, %b: memref<1x512xf32>, %c: memref<1x512xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0]>]} {
  loop.generic (i) in [512] reads(%a[0, i] : memref<1x512xf32>, %b[0, i] : memref<1x512xf32>) writes([0, i] store into %c : memref<1x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 1>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// A loop that calls no such kernel stays, and so does one that calls a kernel walked in one direction.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     arith.addi
// CHECK-NOT:     _back
func.func @main(%w: memref<1x32x32xf32>, %h: memref<1x32xf32>, %s: memref<1x32xf32>) attributes {lamina.entry} {
  %zero = arith.constant 0 : index
  %end = arith.constant 6 : index
  %one = arith.constant 1 : index
  scf.for %k = %zero to %end step %one {
    func.call @one(%h, %w, %s) : (memref<1x32xf32>, memref<1x32x32xf32>, memref<1x32xf32>) -> ()
    "memref.copy"(%s, %h) : (memref<1x32xf32>, memref<1x32xf32>) -> ()
  }
  func.return
}
func.func private @one(%a: memref<1x32xf32>, %b: memref<1x32x32xf32>, %c: memref<1x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, alternate = false>]} {
  loop.generic (n, k) in [32, 32] reads(%a[0, k] : memref<1x32xf32>, %b[n floordiv 32, k, n mod 32] : memref<1x32x32xf32>) writes([0, n] add into %c : memref<1x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 2>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// A kernel that no loop calls has no second step.
// CHECK: error: func.func: lamina.schedule: alternate: of kernels that are called in a loop of an entry, of two or more steps, without branches and loops within
func.func @main(%w: memref<1x32x32xf32>, %h: memref<1x32xf32>, %s: memref<1x32xf32>) attributes {lamina.entry} {
  func.call @once(%h, %w, %s) : (memref<1x32xf32>, memref<1x32x32xf32>, memref<1x32xf32>) -> ()
  func.return
}
func.func private @once(%a: memref<1x32xf32>, %b: memref<1x32x32xf32>, %c: memref<1x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, alternate>]} {
  loop.generic (n, k) in [32, 32] reads(%a[0, k] : memref<1x32xf32>, %b[n floordiv 32, k, n mod 32] : memref<1x32x32xf32>) writes([0, n] add into %c : memref<1x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 2>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
