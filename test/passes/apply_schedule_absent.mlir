// RUN: lamina-opt %s -p apply-schedule | filecheck %s

// A read none of whose lanes is inside names the first element, as there may be no page where the others would be: so it
// is where a row lies outside, which is known of all lanes at once.
// CHECK-LABEL: @rows_outside
// CHECK:         %[[I:[0-9]+]] = arith.cmpi ult, %{{.*}}, %{{.*}} : index
// CHECK:         %[[A:[0-9]+]] = arith.select %[[I]], %{{.*}}, %{{.*}} : index
// CHECK:         vector.maskedload %{{.*}}[%[[A]]]
func.func private @rows_outside(%x: memref<8x64xf32>, %y: memref<12x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic (i, j) in [12, 64] reads(%x[i - 2, j] pad 0.0 : f32 : memref<8x64xf32>) writes([i, j] store into %y : memref<12x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// Lanes that lie outside for themselves are masked where they are.
// CHECK-LABEL: @lanes_outside
// CHECK-NOT:     arith.select
// CHECK:         vector.maskedload
func.func private @lanes_outside(%x: memref<8x64xf32>, %y: memref<8x80xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic (i, j) in [8, 80] reads(%x[i, j - 8] pad 0.0 : f32 : memref<8x64xf32>) writes([i, j] store into %y : memref<8x80xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// So it is where a mask of the call says it of a whole row, but not where a mask is one of lanes.
// CHECK-LABEL: @masked_rows
// CHECK:         %[[R:[0-9]+]] = memref.load %{{.*}} : memref<8xi1>
// CHECK:         %[[A:[0-9]+]] = arith.select %[[R]], %{{.*}}, %{{.*}} : index
// CHECK:         vector.maskedload %{{.*}}[%[[A]]]
func.func private @masked_rows(%m: memref<8xi1>, %x: memref<8x64xf32>, %n: memref<i64>, %y: memref<8x64xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 0, 2>, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic (i, j) in [8, 64] reads(%m[i] : memref<8xi1>, %x[i, j] : memref<8x64xf32>) writes([i, j] store into %y : memref<8x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return
}

// CHECK-LABEL: @masked_lanes
// CHECK-NOT:     arith.select
// CHECK:         vector.maskedload
func.func private @masked_lanes(%m: memref<64xi1>, %x: memref<8x64xf32>, %n: memref<i64>, %y: memref<8x64xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 0, 2>, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic (i, j) in [8, 64] reads(%m[j] : memref<64xi1>, %x[i, j] : memref<8x64xf32>) writes([i, j] store into %y : memref<8x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return
}
