// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' --split-input-file | filecheck %s --check-prefixes CHECK,WIDE
// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v3"}' --split-input-file | filecheck %s --check-prefixes CHECK,NARROW

// Vectors of bytes are as long as the register where bytes have masks.
func.func private @bytes(%x: memref<450xi8>, %y: memref<450xi8>) attributes {lamina.kernel} {
  loop.generic (i) in [450] reads(%x[i] : memref<450xi8>) writes([i] store into %y : memref<450xi8>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: i8):
    %u = arith.addi %v, %v : i8
    loop.yield %u : i8
  }
  func.return
}
// CHECK-LABEL: @bytes
// WIDE:          vectorize = d0 x 64
// NARROW:        vectorize = d0 x 8

// -----

// What is computed in f32 decides for all of the nest.
func.func private @widened(%x: memref<450xbf16>, %y: memref<450xbf16>) attributes {lamina.kernel} {
  loop.generic (i) in [450] reads(%x[i] : memref<450xbf16>) writes([i] store into %y : memref<450xbf16>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: bf16):
    %w = arith.extf %v : bf16 to f32
    %u = arith.addf %w, %w : f32
    %r = arith.truncf %u : f32 to bf16
    loop.yield %r : bf16
  }
  func.return
}
// CHECK-LABEL: @widened
// WIDE:          vectorize = d0 x 16
// NARROW:        vectorize = d0 x 8

// -----

// A copy of half floats.
func.func private @copied(%x: memref<450xf16>, %y: memref<450xf16>) attributes {lamina.kernel} {
  loop.generic (i) in [450] reads(%x[i] : memref<450xf16>) writes([i] store into %y : memref<450xf16>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f16):
    loop.yield %v : f16
  }
  func.return
}
// CHECK-LABEL: @copied
// WIDE:          vectorize = d0 x 32
// NARROW:        vectorize = d0 x 8
