// RUN: lamina-opt %s -p limit-arguments --split-input-file | filecheck %s
// RUN: lamina-opt %s -p apply-schedule --split-input-file | filecheck %s --check-prefix APPLIED

// Lines that are turned in tiles are not read from the number on at which a mask leaves them out: the last one that
// there is stands for them.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x64xf32> {lamina.limits = [2 : i64, -1 : i64]}
// APPLIED-LABEL: func.func private @turned
// APPLIED:         memref.load %{{.*}} : memref<1xi64>
// APPLIED-COUNT-16: arith.minsi
// APPLIED:         vector.shuffle
func.func @main(%x: memref<64x64xf32>, %m: memref<64xi1>, %n: memref<i64> {lamina.kind = "input"}, %y: memref<4x64x16xf32>) attributes {lamina.entry} {
  func.call @turned(%x, %m, %n, %y) : (memref<64x64xf32>, memref<64xi1>, memref<i64>, memref<4x64x16xf32>) -> ()
  func.return
}
func.func private @turned(%x: memref<64x64xf32>, %m: memref<64xi1>, %n: memref<i64>, %y: memref<4x64x16xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 1, 2>, lamina.schedule = [#loop.rows<inner = [1, 2]>]} {
  loop.generic (p, j, i) in [4, 64, 16] reads(%x[(p * 16) + i, j] : memref<64x64xf32>, %m[(p * 16) + i] : memref<64xi1>) writes([p, j, i] store into %y : memref<4x64x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%a: f32, %c: i1):
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// Not where what is left out is wanted.
// CHECK-LABEL: @main
// CHECK-SAME:    %x: memref<64x64xf32>, %m
// APPLIED-LABEL: func.func private @turned
// APPLIED-NOT:     arith.minsi
// APPLIED:         vector.shuffle
func.func @main(%x: memref<64x64xf32>, %m: memref<64xi1>, %n: memref<i64> {lamina.kind = "input"}, %y: memref<4x64x16xf32>) attributes {lamina.entry} {
  func.call @turned(%x, %m, %n, %y) : (memref<64x64xf32>, memref<64xi1>, memref<i64>, memref<4x64x16xf32>) -> ()
  func.return
}
func.func private @turned(%x: memref<64x64xf32>, %m: memref<64xi1>, %n: memref<i64>, %y: memref<4x64x16xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 1, 2>, lamina.schedule = [#loop.rows<inner = [1, 2]>]} {
  loop.generic (p, j, i) in [4, 64, 16] reads(%x[(p * 16) + i, j] : memref<64x64xf32>, %m[(p * 16) + i] : memref<64xi1>) writes([p, j, i] store into %y : memref<4x64x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%a: f32, %c: i1):
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %z, %a : f32
    loop.yield %v : f32
  }
  func.return
}
