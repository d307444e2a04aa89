// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v4"},choose-schedule{target="x86-64-v4"},apply-schedule' --split-input-file | filecheck %s

// A maximum and the sum of exponentials less it are one walk, in blocks of eight vectors; a second
// and a third follow only for rows without a positive sum.
func.func private @normalizer(%x: memref<64x2048xf32>, %m: memref<64xf32>, %s: memref<64xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [64, 2048] reads(%x[i, j] : memref<64x2048xf32>) writes([i] max into %m : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [64, 2048] reads(%x[i, j] : memref<64x2048xf32>, %m[i] : memref<64xf32>) writes([i] add into %s : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %t: f32):
    %d = arith.subf %v, %t : f32
    %e = math.exp %d : f32
    loop.yield %e : f32
  }
  func.return
}
// CHECK-LABEL: @normalizer
// CHECK:         scf.for
// CHECK-COUNT-8: vector.load
// CHECK:         %[[RISES:.*]] = vector.reduction <or>
// CHECK-NEXT:    {{.*}} = scf.if %[[RISES]]
// CHECK-COUNT-9: math.exp {{.*}} : vector<16xf32>
// CHECK:         %[[GOOD:.*]] = arith.cmpf ogt
// CHECK-NEXT:    {{.*}} = scf.if %[[GOOD]] -> (f32, f32) {
// CHECK-NEXT:      scf.yield
// CHECK-NEXT:    } else {
// CHECK:           arith.maximumf
// CHECK:           math.exp

// -----

// The sum is of other values than the maximum: two walks.
func.func private @doubled(%x: memref<64x2048xf32>, %m: memref<64xf32>, %s: memref<64xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [64, 2048] reads(%x[i, j] : memref<64x2048xf32>) writes([i] max into %m : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [64, 2048] reads(%x[i, j] : memref<64x2048xf32>, %m[i] : memref<64xf32>) writes([i] add into %s : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %t: f32):
    %w = arith.addf %v, %v : f32
    %d = arith.subf %w, %t : f32
    %e = math.exp %d : f32
    loop.yield %e : f32
  }
  func.return
}
// CHECK-LABEL: @doubled
// CHECK-NOT:     scf.if

// -----

// Short rows stay in the nearest cache: two walks.
func.func private @short(%x: memref<64x512xf32>, %m: memref<64xf32>, %s: memref<64xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [64, 512] reads(%x[i, j] : memref<64x512xf32>) writes([i] max into %m : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [64, 512] reads(%x[i, j] : memref<64x512xf32>, %m[i] : memref<64xf32>) writes([i] add into %s : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %t: f32):
    %d = arith.subf %v, %t : f32
    %e = math.exp %d : f32
    loop.yield %e : f32
  }
  func.return
}
// CHECK-LABEL: @short
// CHECK-NOT:     scf.if
