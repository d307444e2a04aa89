// RUN: lamina-opt %s -p apply-schedule --split-input-file | filecheck %s

// Places are numbers below 64, or 64 of what does not count. One that is kept is both inside and counts: that alone is asked, and
// the others behind it.
// CHECK-LABEL: func.func private @marked(
// CHECK:         %[[AT:[0-9]+]] = memref.load %{{.*}} : memref<512xi64>
// CHECK-NEXT:    %[[PLACE:[0-9]+]] = arith.index_cast %[[AT]] : i64 to index
// CHECK-NEXT:    %[[COUNTS:[0-9]+]] = arith.cmpi ne, %[[AT]], %{{.*}} : i64
// CHECK-NEXT:    %[[KEPT:[0-9]+]] = arith.cmpi ult, %[[PLACE]]
// CHECK-NEXT:    scf.if %[[KEPT]] {
// CHECK-NOT:       cf.assert
// CHECK:           memref.store
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.if %[[COUNTS]] {
// CHECK-NEXT:        %[[INSIDE:[0-9]+]] = arith.cmpi ult, %[[PLACE]]
// CHECK-NEXT:        cf.assert %[[INSIDE]], "index out of range: must be at least 0 and below 64"
// CHECK-NEXT:      }
// CHECK-NEXT:    }
func.func private @marked(%x: memref<64x8xf32>, %u: memref<64x8xf32>, %i: memref<64x8xi64>, %n: memref<i64>, %y: memref<64x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<>]} {
  loop.scatter (i, j) in [64, 8] reads(%u[i, j] : memref<64x8xf32>, %i[i, j] : memref<64x8xi64>) into(%x : memref<64x8xf32> -> %y : memref<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 64, 8], copied = [arg3 of 64, 8]>} {
  ^bb0(%v: f32, %at: i64, %old: f32):
    %place = arith.index_cast %at : i64 to index
    %column = loop.index 1 : index
    %mark = arith.constant 64 : i64
    %counts = arith.cmpi ne, %at, %mark : i64
    loop.yield %place, %column, %v, %counts : index, index, f32, i1
  }
  func.return
}

// -----

// Without a mask a place behind what is kept is checked.
// CHECK-LABEL: func.func private @unmarked(
// CHECK:         %[[AT:[0-9]+]] = memref.load %{{.*}} : memref<512xi64>
// CHECK-NEXT:    %[[PLACE:[0-9]+]] = arith.index_cast %[[AT]] : i64 to index
// CHECK-NEXT:    %[[KEPT:[0-9]+]] = arith.cmpi ult, %[[PLACE]]
// CHECK-NEXT:    scf.if %[[KEPT]] {
// CHECK:         } else {
// CHECK-NEXT:      %[[INSIDE:[0-9]+]] = arith.cmpi ult, %[[PLACE]]
// CHECK-NEXT:      cf.assert %[[INSIDE]]
// CHECK-NEXT:    }
func.func private @unmarked(%x: memref<64x8xf32>, %u: memref<64x8xf32>, %i: memref<64x8xi64>, %n: memref<i64>, %y: memref<64x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<>]} {
  loop.scatter (i, j) in [64, 8] reads(%u[i, j] : memref<64x8xf32>, %i[i, j] : memref<64x8xi64>) into(%x : memref<64x8xf32> -> %y : memref<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 64, 8], copied = [arg3 of 64, 8]>} {
  ^bb0(%v: f32, %at: i64, %old: f32):
    %place = arith.index_cast %at : i64 to index
    %column = loop.index 1 : index
    loop.yield %place, %column, %v : index, index, f32
  }
  func.return
}

// -----

// A mark that is a place inside, or a mask of its own, is asked first; so it is where columns of the updates are more than the
// result has.
// CHECK-LABEL: func.func private @within(
// CHECK:         %[[COUNTS:[0-9]+]] = arith.cmpi ne
// CHECK-NEXT:    scf.if %[[COUNTS]] {
// CHECK:           cf.assert
// CHECK-LABEL: func.func private @masked(
// CHECK:         scf.if
// CHECK:           cf.assert
// CHECK:           scf.if
// CHECK-NOT:       else
// CHECK-LABEL: func.func private @wide(
// CHECK:         cf.assert
// CHECK:         cf.assert
// CHECK:         scf.if
func.func private @within(%x: memref<64x8xf32>, %u: memref<64x8xf32>, %i: memref<64x8xi64>, %n: memref<i64>, %y: memref<64x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<>]} {
  loop.scatter (i, j) in [64, 8] reads(%u[i, j] : memref<64x8xf32>, %i[i, j] : memref<64x8xi64>) into(%x : memref<64x8xf32> -> %y : memref<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 64, 8], copied = [arg3 of 64, 8]>} {
  ^bb0(%v: f32, %at: i64, %old: f32):
    %place = arith.index_cast %at : i64 to index
    %column = loop.index 1 : index
    %mark = arith.constant 63 : i64
    %counts = arith.cmpi ne, %at, %mark : i64
    loop.yield %place, %column, %v, %counts : index, index, f32, i1
  }
  func.return
}
func.func private @masked(%x: memref<64x8xf32>, %u: memref<64x8xf32>, %i: memref<64x8xi64>, %m: memref<64xi1>, %n: memref<i64>, %y: memref<64x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<>]} {
  loop.scatter (i, j) in [64, 8] reads(%u[i, j] : memref<64x8xf32>, %i[i, j] : memref<64x8xi64>, %m[i] : memref<64xi1>) into(%x : memref<64x8xf32> -> %y : memref<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg4 of 64, 8], copied = [arg4 of 64, 8]>} {
  ^bb0(%v: f32, %at: i64, %on: i1, %old: f32):
    %place = arith.index_cast %at : i64 to index
    %column = loop.index 1 : index
    loop.yield %place, %column, %v, %on : index, index, f32, i1
  }
  func.return
}
func.func private @wide(%x: memref<64x4xf32>, %u: memref<64x8xf32>, %i: memref<64x8xi64>, %n: memref<i64>, %y: memref<64x4xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<>]} {
  loop.scatter (i, j) in [64, 8] reads(%u[i, j] : memref<64x8xf32>, %i[i, j] : memref<64x8xi64>) into(%x : memref<64x4xf32> -> %y : memref<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 64, 8], copied = [arg3 of 64, 4]>} {
  ^bb0(%v: f32, %at: i64, %old: f32):
    %place = arith.index_cast %at : i64 to index
    %column = loop.index 1 : index
    loop.yield %place, %column, %v : index, index, f32
  }
  func.return
}
