// RUN: %invalid

func.func private @whole(%x: memref<8x4xf32>, %n: memref<i64>, %y: memref<8x4xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1) in [8, 4] reads(%x[d0, d1] : memref<8x4xf32>) writes([d0, d1] store into %y : memref<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 8, 4], visited = [d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: loop.generic: lamina.nest: visited = [d1]: rows that end at numbers are [d0]

// -----

func.func private @all(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (d0) in [8] reads(%x[d0] : memref<8xf32>) writes([d0] store into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], visited = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: loop.generic: lamina.nest: visited = [d0]: rows that end at numbers are []

// -----

func.func private @sorted(%x: tensor<4x10xf32>, %n: tensor<i64>) -> tensor<4x10xf32> {
  %v, %i, %w, %j = loop.sort %x {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 4, 10], visited = [d0]>} : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
  func.return %v : tensor<4x10xf32>
}
// CHECK: loop.sort: lamina.nest: visited: only of loop.generic schedules of readers say so
