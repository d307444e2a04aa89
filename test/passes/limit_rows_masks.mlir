// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// Padding of two dimensions is the same number where one mask chooses it inside of another: updates end at both sizes.
// CHECK-LABEL: @main
func.func @main(%t: tensor<30x4xf32>, %x: tensor<16x8x4xf32>, %i: tensor<16x8xi64>, %n: tensor<i64> {lamina.kind = "input"}, %m: tensor<i64> {lamina.kind = "input"}) -> (tensor<30x4xf32>, tensor<30x4xf32>) {
  %0 = func.call @both(%t, %i, %x, %n, %m) : (tensor<30x4xf32>, tensor<16x8xi64>, tensor<16x8x4xf32>, tensor<i64>, tensor<i64>) -> tensor<30x4xf32>
  %1 = func.call @other(%t, %i, %x, %n, %m) : (tensor<30x4xf32>, tensor<16x8xi64>, tensor<16x8x4xf32>, tensor<i64>, tensor<i64>) -> tensor<30x4xf32>
  func.return %0, %1 : tensor<30x4xf32>, tensor<30x4xf32>
}
// CHECK-LABEL: func.func private @both(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg5 of 16, arg6 of 8, 4]>
func.func private @both(%t: tensor<30x4xf32>, %i: tensor<16x8xi64>, %x: tensor<16x8x4xf32>, %n: tensor<i64>, %m: tensor<i64>) -> tensor<30x4xf32> attributes {lamina.kernel} {
  %0 = loop.scatter (d0, d1, d2) in [16, 8, 4] reads(%i[d0, d1] : tensor<16x8xi64>, %x[d0, d1, d2] : tensor<16x8x4xf32>, %n[] : tensor<i64>, %m[] : tensor<i64>) into(%t : tensor<30x4xf32>) {
  ^bb0(%p: i64, %v: f32, %e: i64, %f: i64, %old: f32):
    %d = loop.index 0 : index
    %q = arith.index_cast %d : index to i64
    %c = arith.cmpi slt, %q, %e : i64
    %g = loop.index 1 : index
    %r = arith.index_cast %g : index to i64
    %h = arith.cmpi slt, %r, %f : i64
    %k = arith.constant 30 : i64
    %s = arith.select %c, %p, %k : i64
    %u = arith.select %h, %s, %k : i64
    %on = arith.cmpi ne, %u, %k : i64
    %row = arith.index_cast %u : i64 to index
    %column = loop.index 2 : index
    loop.yield %row, %column, %v, %on : index, index, f32, i1
  }
  func.return %0 : tensor<30x4xf32>
}

// Another number behind one of the sizes is written where it says: updates end at the other size alone.
// CHECK-LABEL: func.func private @other(
// CHECK:         lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [16, arg5 of 8, 4]>
func.func private @other(%t: tensor<30x4xf32>, %i: tensor<16x8xi64>, %x: tensor<16x8x4xf32>, %n: tensor<i64>, %m: tensor<i64>) -> tensor<30x4xf32> attributes {lamina.kernel} {
  %0 = loop.scatter (d0, d1, d2) in [16, 8, 4] reads(%i[d0, d1] : tensor<16x8xi64>, %x[d0, d1, d2] : tensor<16x8x4xf32>, %n[] : tensor<i64>, %m[] : tensor<i64>) into(%t : tensor<30x4xf32>) {
  ^bb0(%p: i64, %v: f32, %e: i64, %f: i64, %old: f32):
    %d = loop.index 0 : index
    %q = arith.index_cast %d : index to i64
    %c = arith.cmpi slt, %q, %e : i64
    %g = loop.index 1 : index
    %r = arith.index_cast %g : index to i64
    %h = arith.cmpi slt, %r, %f : i64
    %k = arith.constant 30 : i64
    %l = arith.constant 7 : i64
    %s = arith.select %c, %p, %l : i64
    %u = arith.select %h, %s, %k : i64
    %on = arith.cmpi ne, %u, %k : i64
    %row = arith.index_cast %u : i64 to index
    %column = loop.index 2 : index
    loop.yield %row, %column, %v, %on : index, index, f32, i1
  }
  func.return %0 : tensor<30x4xf32>
}
