// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v3"},choose-schedule{target="x86-64-v3"},apply-schedule' --split-input-file | filecheck %s

// Little work stays with one thread, and what fills whole vectors needs no mask.
func.func private @little(%x: memref<16x64xf32>, %y: memref<16xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [16, 64] reads(%x[i, j] : memref<16x64xf32>) writes([i] max into %y : memref<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @little
// CHECK-NOT:     scf.parallel
// CHECK-NOT:     vector.create_mask
// CHECK:         scf.for
// CHECK:         func.return

// -----

// A long body fills the pipeline on its own: one accumulator.
func.func private @long_body(%x: memref<16x64xf32>, %y: memref<16xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [16, 64] reads(%x[i, j] : memref<16x64xf32>) writes([i] add into %y : memref<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %a = math.exp %v : f32
    %b = math.log %a : f32
    %c = math.tanh %b : f32
    loop.yield %c : f32
  }
  func.return
}
// CHECK-LABEL: @long_body
// CHECK:         scf.for
// CHECK:         [[R:%\S+]] = scf.for
// CHECK:         vector.load
// CHECK-NOT:     vector.load
// CHECK:         scf.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    vector.reduction <add>, [[R]]

// -----

// Few rows: columns are added up in registers, without totals in scratch.
func.func private @short_columns(%x: memref<3x256xf32>, %y: memref<256xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [3, 256] reads(%x[i, j] : memref<3x256xf32>) writes([j] add into %y : memref<256xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @short_columns
// CHECK-NOT:     memref.alloca
// CHECK:         vector.load
// CHECK-NOT:     memref.alloca
// CHECK:         vector.store
// CHECK-NOT:     memref.alloca
// CHECK:         func.return

// -----

// A tensor that the caches hold is walked row after row: no rows far apart.
func.func private @near_rows(%x: memref<64x1024xf32>, %y: memref<64xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [64, 1024] reads(%x[i, j] : memref<64x1024xf32>) writes([i] add into %y : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @near_rows
// CHECK:         vector.reduction <add>
// CHECK-NEXT:    memref.store
// CHECK-NOT:     memref.store
// CHECK:         func.return
