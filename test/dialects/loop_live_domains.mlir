// RUN: %roundtrip
// RUN: %generic_roundtrip

// CHECK: loop.scan (d0, d1, d2) in [8, 5, 3] along 1 {{.*}} attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg1 of 8, arg2 of 5, 3]>}
func.func private @scan(%x: tensor<8x5x3xf32>, %n: tensor<i64>, %m: tensor<i64>) -> tensor<8x5x3xf32> {
  %r = loop.scan (d0, d1, d2) in [8, 5, 3] along 1 reads(%x[d0, d1, d2] : tensor<8x5x3xf32>) carries(0.0 : f32) gives(tensor<8x5x3xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2], live = [arg1 of 8, arg2 of 5, 3]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return %r : tensor<8x5x3xf32>
}

// CHECK: loop.scatter {{.*}} attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 5, 4], copied = [arg4 of 10, 4]>}
func.func private @scatter(%i: tensor<5xi64>, %x: tensor<5x4xf32>, %t: tensor<10x4xf32>, %n: tensor<i64>, %m: tensor<i64>) -> tensor<10x4xf32> {
  %r = loop.scatter (d0, d1) in [5, 4] reads(%i[d0] : tensor<5xi64>, %x[d0, d1] : tensor<5x4xf32>) into(%t : tensor<10x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 5, 4], copied = [arg4 of 10, 4]>} {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v : index, index, f32
  }
  func.return %r : tensor<10x4xf32>
}

// CHECK: loop.segment_reduce {{.*}} attributes {lamina.nest = #loop.nest<rows = [d0], live = [2, arg2 of 2]>}
func.func private @segments(%o: tensor<5xi64>, %x: tensor<10x8xf32>, %n: tensor<i64>) -> tensor<4x8xf32> {
  %r = loop.segment_reduce (d0, d1, d2) in [4, 10, 8] offsets(%o : tensor<5xi64>) reads(%x[d1, d2] : tensor<10x8xf32>) carries(0.0 : f32) gives(tensor<4x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [2, arg2 of 2]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next : f32
  }
  func.return %r : tensor<4x8xf32>
}

// CHECK: loop.sort %x {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 4]>, descending}
func.func private @sort(%x: tensor<4x10xf32>, %n: tensor<i64>) -> tensor<4x10xf32> {
  %v, %i, %w, %j = loop.sort %x {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 4]>, descending} : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
  func.return %v : tensor<4x10xf32>
}

// CHECK: loop.fourier %x by %turns {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg2 of 4, 3]>
func.func private @transforms(%x: tensor<4x3x64xf32>, %turns: tensor<64x2xf32>, %n: tensor<i64>) -> tensor<4x3x33x2xf32> {
  %y = loop.fourier %x by %turns {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg2 of 4, 3]>, kind = "r2c", scale = 1.0 : f64} : tensor<4x3x64xf32>, tensor<64x2xf32> -> tensor<4x3x33x2xf32>
  func.return %y : tensor<4x3x33x2xf32>
}

// CHECK: loop.sort %x {lamina.nest = #loop.nest<taken = [arg1 of 6]>, taken = array<i64: 0, 6>}
func.func private @first(%x: tensor<4x10xf32>, %n: tensor<i64>) -> tensor<4x6xf32> {
  %v, %i, %w, %j = loop.sort %x {lamina.nest = #loop.nest<taken = [arg1 of 6]>, taken = array<i64: 0, 6>} : tensor<4x10xf32> -> tensor<4x6xf32>, tensor<4x6xi64>, tensor<4x16xf32>, tensor<4x16xi64>
  func.return %v : tensor<4x6xf32>
}
