// RUN: lamina-opt %s -p 'fuse-kernels,merge-siblings,fuse-column-sums{target="x86-64-v3"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'fuse-kernels,merge-siblings,fuse-column-sums{target="x86-64-v3" print-decisions=true}' --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=SAID

// Sums of columns beside those of rows: tasks of ten rows leave partial sums, and a last part joins them.
func.func @across(%x: tensor<160x1000xf32>) -> (tensor<160xf32>, tensor<1000xf32>) {
  %s = loop.generic (i, j) in [160, 1000] reads(%x[i, j] : tensor<160x1000xf32>) writes([i] add : tensor<160xf32>) attributes {lamina.op = "rows"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i, j) in [160, 1000] reads(%x[i, j] : tensor<160x1000xf32>) writes([j] add : tensor<1000xf32>) attributes {lamina.op = "columns"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t : tensor<160xf32>, tensor<1000xf32>
}
// CHECK-LABEL: @across
// CHECK-NEXT:    [[S:%\S+]], [[T:%\S+]], [[P:%\S+]] = loop.kernel
// CHECK-SAME:      -> (tensor<160xf32>, tensor<1000xf32>, tensor<16x1000xf32>)
// CHECK-NEXT:    loop.generic (d0, d1, d2) in [16, 10, 1000] reads([[X:%\S+]][(d0 * 10) + d1, d2] : tensor<160x1000xf32>)
// CHECK-SAME:      writes([(d0 * 10) + d1] add : tensor<160xf32>) attributes {lamina.op = "rows", lamina.nest = #loop.nest<rows = [d0, d1]>}
// CHECK:         [[Q:%\S+]] = loop.generic (d0, d1, d2) in [16, 10, 1000] reads([[X]][(d0 * 10) + d1, d2] : tensor<160x1000xf32>)
// CHECK-SAME:      writes([d0, d2] add : tensor<16x1000xf32>) attributes {lamina.op = "columns", lamina.nest = #loop.nest<rows = [d0, d1]>}
// CHECK:         loop.generic (d0, d1) in [16, 1000] reads([[Q]][d0, d1] : tensor<16x1000xf32>)
// CHECK-SAME:      writes([d1] add : tensor<1000xf32>) attributes {lamina.op = "join", lamina.nest = #loop.nest<rows = [d1], part = 1>}
// CHECK-NOT:     loop.kernel
// CHECK:         func.return [[S]], [[T]] :
// SAID: fuse-column-sums: rows | columns: saves 640000 bytes: fused: keeping the sums takes

// -----

// What one thread does alone is not divided, and needs no join. What a row adds to a total of the
// whole tensor is summed in a nest of its own.
func.func @small(%x: tensor<32x40xf32>) -> (tensor<32xf32>, tensor<40xf32>, tensor<f32>) {
  %s = loop.generic (i, j) in [32, 40] reads(%x[i, j] : tensor<32x40xf32>) writes([i] add : tensor<32xf32>) attributes {lamina.op = "rows"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i, j) in [32, 40] reads(%x[i, j] : tensor<32x40xf32>) writes([j] add : tensor<40xf32>) attributes {lamina.op = "columns"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %u = loop.generic (i, j) in [32, 40] reads(%x[i, j] : tensor<32x40xf32>) writes([] add : tensor<f32>) attributes {lamina.op = "total"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t, %u : tensor<32xf32>, tensor<40xf32>, tensor<f32>
}
// CHECK-LABEL: @small
// CHECK-NEXT:    {{.*}} = loop.kernel
// CHECK-SAME:      -> (tensor<32xf32>, tensor<40xf32>, tensor<f32>)
// CHECK:         writes([d1] add : tensor<40xf32>) attributes {lamina.op = "columns", lamina.nest = #loop.nest<rows = [d0]>}
// CHECK:         [[R:%\S+]] = loop.generic (d0, d1) in [32, 40]
// CHECK-SAME:      writes([d0] add : tensor<32xf32>) attributes {lamina.op = "total", lamina.nest = #loop.nest<rows = [d0]>}
// CHECK:         loop.generic (d0) in [32] reads([[R]][d0] : tensor<32xf32>) writes([] add : tensor<f32>) attributes {lamina.op = "rows", lamina.nest = #loop.nest<rows = [d0]>}
// CHECK-NOT:     loop.kernel

// -----

// A prime number of rows makes no equal tasks for several threads.
func.func @prime(%x: tensor<1009x200xf32>) -> (tensor<1009xf32>, tensor<200xf32>) {
  %s = loop.generic (i, j) in [1009, 200] reads(%x[i, j] : tensor<1009x200xf32>) writes([i] add : tensor<1009xf32>) attributes {lamina.op = "rows"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i, j) in [1009, 200] reads(%x[i, j] : tensor<1009x200xf32>) writes([j] add : tensor<200xf32>) attributes {lamina.op = "columns"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t : tensor<1009xf32>, tensor<200xf32>
}
// CHECK-LABEL: @prime
// CHECK:         loop.kernel
// CHECK:         loop.kernel
// CHECK-SAME:      rows | columns: its 1009 rows make only 1 equal tasks of the 16
// SAID: fuse-column-sums: rows | columns: saves 807200 bytes: not fused: its 1009 rows make only 1 equal

// -----

// Rows so short that their sums would be the whole of what is read: it is not worth keeping them.
func.func @many_sums(%x: tensor<64x16x8xf32>, %y: tensor<64x16x8x8xf32>) -> (tensor<64xf32>, tensor<16x8x8xf32>) {
  %s = loop.generic (i, j, k) in [64, 16, 8] reads(%x[i, j, k] : tensor<64x16x8xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.op = "rows"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i, j, k, l) in [64, 16, 8, 8] reads(%x[i, j, k] : tensor<64x16x8xf32>, %y[i, j, k, l] : tensor<64x16x8x8xf32>) writes([j, k, l] add : tensor<16x8x8xf32>) attributes {lamina.op = "outer"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %s, %t : tensor<64xf32>, tensor<16x8x8xf32>
}
// CHECK-LABEL: @many_sums
// CHECK:         loop.kernel
// CHECK:         loop.kernel
// CHECK-SAME:      rows | outer: keeping the sums takes
// SAID: fuse-column-sums: rows | outer: saves 32768 bytes: not fused: keeping the sums takes

// -----

// A program may say itself that both belong together, whatever it costs.
func.func @forced(%x: tensor<64x16x8xf32>, %y: tensor<64x16x8x8xf32>) -> (tensor<64xf32>, tensor<16x8x8xf32>) {
  %s = loop.generic (i, j, k) in [64, 16, 8] reads(%x[i, j, k] : tensor<64x16x8xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.op = "rows", lamina.fuse = "always"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i, j, k, l) in [64, 16, 8, 8] reads(%x[i, j, k] : tensor<64x16x8xf32>, %y[i, j, k, l] : tensor<64x16x8x8xf32>) writes([j, k, l] add : tensor<16x8x8xf32>) attributes {lamina.op = "outer"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %s, %t : tensor<64xf32>, tensor<16x8x8xf32>
}
// CHECK-LABEL: @forced
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
// SAID: fuse-column-sums: rows | outer: saves 32768 bytes: fused: lamina.fuse = "always"

// -----

// Or that they do not.
func.func @kept_apart(%x: tensor<160x1000xf32>) -> (tensor<160xf32>, tensor<1000xf32>) {
  %s = loop.generic (i, j) in [160, 1000] reads(%x[i, j] : tensor<160x1000xf32>) writes([i] add : tensor<160xf32>) attributes {lamina.op = "rows"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i, j) in [160, 1000] reads(%x[i, j] : tensor<160x1000xf32>) writes([j] add : tensor<1000xf32>) attributes {lamina.op = "columns", lamina.fuse = "never"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t : tensor<160xf32>, tensor<1000xf32>
}
// CHECK-LABEL: @kept_apart
// CHECK-COUNT-2: loop.kernel
// SAID: fuse-column-sums: rows | columns: saves 640000 bytes: not fused: lamina.fuse = "never"

// -----

// Sums of rows whose elements another kernel divides by: it must have all of them first.
func.func @needed(%x: tensor<160x1000xf32>) -> tensor<160x1000xf32> {
  %t = loop.generic (i, j) in [160, 1000] reads(%x[i, j] : tensor<160x1000xf32>) writes([j] add : tensor<1000xf32>) attributes {lamina.op = "columns"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %s = loop.generic (i, j) in [160, 1000] reads(%x[i, j] : tensor<160x1000xf32>, %t[j] : tensor<1000xf32>) writes([i, j] store : tensor<160x1000xf32>) attributes {lamina.op = "less"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.subf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %s : tensor<160x1000xf32>
}
// CHECK-LABEL: @needed
// CHECK-NOT:     part = 
// CHECK:         func.return

// -----

// What reads nothing is no last step of a kernel with sums: the rows may read it.
func.func @masked(%x: tensor<160x1000xf32>) -> (tensor<160x1000xf32>, tensor<1000xf32>) {
  %m = loop.generic (j) in [1000] writes([j] store : tensor<1000xi1>) attributes {lamina.op = "mask"} {
    %p = loop.index 0 : index
    %c = arith.constant 500 : index
    %v = arith.cmpi slt, %p, %c : index
    loop.yield %v : i1
  }
  %s = loop.generic (i, j) in [160, 1000] reads(%x[i, j] : tensor<160x1000xf32>) writes([i] add : tensor<160xf32>) attributes {lamina.op = "rows"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [160, 1000] reads(%x[i, j] : tensor<160x1000xf32>, %s[i] : tensor<160xf32>, %m[j] : tensor<1000xi1>) writes([i, j] store : tensor<160x1000xf32>) attributes {lamina.op = "select"} {
  ^bb0(%p: f32, %q: f32, %on: i1):
    %v = arith.select %on, %p, %q : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i, j) in [160, 1000] reads(%x[i, j] : tensor<160x1000xf32>) writes([j] add : tensor<1000xf32>) attributes {lamina.op = "columns", lamina.fuse = "always"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r, %t : tensor<160x1000xf32>, tensor<1000xf32>
}
// CHECK-LABEL: @masked
// CHECK:         loop.kernel() -> (tensor<1000xi1>)
// CHECK:         "mask"
// CHECK:         loop.kernel
// CHECK:         "columns"

// -----

// The average of a depthwise convolution's channels stays apart: beside it tasks would go pixel by
// pixel, and read the weight for each.
func.func @depthwise(%x: tensor<32x32x96xf32>, %w: tensor<5x5x96xf32>) -> (tensor<28x28x96xf32>, tensor<96xf32>) {
  %s = loop.generic (y, x, c, i, j) in [28, 28, 96, 5, 5] reads(%x[y + i, x + j, c] : tensor<32x32x96xf32>, %w[i, j, c] : tensor<5x5x96xf32>) writes([y, x, c] add : tensor<28x28x96xf32>) attributes {lamina.op = "depthwise"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %t = loop.generic (y, x, c) in [28, 28, 96] reads(%s[y, x, c] : tensor<28x28x96xf32>) writes([c] add : tensor<96xf32>) attributes {lamina.op = "channels"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t : tensor<28x28x96xf32>, tensor<96xf32>
}
// CHECK-LABEL: @depthwise
// CHECK-COUNT-2: loop.kernel
// SAID: fuse-column-sums: depthwise | channels: saves {{[0-9]+}} bytes: not fused: keeping the sums takes

// -----

// Sums of windows read nothing that neighbouring pixels share.
func.func @windows(%x: tensor<32x32x96xf32>) -> (tensor<28x28x96xf32>, tensor<96xf32>) {
  %s = loop.generic (y, x, c, i, j) in [28, 28, 96, 5, 5] reads(%x[y + i, x + j, c] : tensor<32x32x96xf32>) writes([y, x, c] add : tensor<28x28x96xf32>) attributes {lamina.op = "windows"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (y, x, c) in [28, 28, 96] reads(%s[y, x, c] : tensor<28x28x96xf32>) writes([c] add : tensor<96xf32>) attributes {lamina.op = "channels"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t : tensor<28x28x96xf32>, tensor<96xf32>
}
// CHECK-LABEL: @windows
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
// SAID: fuse-column-sums: windows | channels: saves {{[0-9]+}} bytes: fused

// -----

// Numbers of parts are sought among few, however many rows there are to divide.
func.func @rows_beyond_counting(%x: tensor<1099511627776x2048xf32>) -> (tensor<1099511627776xf32>, tensor<2048xf32>) {
  %e = loop.generic (i, j) in [1099511627776, 2048] reads(%x[i, j] : tensor<1099511627776x2048xf32>) writes([i, j] store : tensor<1099511627776x2048xf32>) attributes {lamina.op = "exponential"} {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i, j) in [1099511627776, 2048] reads(%e[i, j] : tensor<1099511627776x2048xf32>) writes([i] add : tensor<1099511627776xf32>) attributes {lamina.op = "rows"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %c = loop.generic (i, j) in [1099511627776, 2048] reads(%e[i, j] : tensor<1099511627776x2048xf32>) writes([j] add : tensor<2048xf32>) attributes {lamina.op = "columns"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r, %c : tensor<1099511627776xf32>, tensor<2048xf32>
}
// CHECK-LABEL: @rows_beyond_counting
// CHECK:       loop.generic (d0, d1, d2) in [16, 68719476736, 2048]
