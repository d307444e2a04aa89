// RUN: lamina-opt %s -p 'pack-contractions{target="x86-64-v4"},fuse-kernels{target="x86-64-v4"}' --split-input-file | filecheck %s

// What adds two products of the same rows takes both kernels in.
func.func @apart(%a: tensor<16x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %p = loop.generic (i, j, k) in [16, 16, 16] reads(%a[i, k] : tensor<16x16xf32>, %w[k, j] : tensor<16x16xf32>) writes([i, j] add : tensor<16x16xf32>) attributes {lamina.op = "left"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %q = loop.generic (i, j, k) in [16, 16, 16] reads(%a[i, k] : tensor<16x16xf32>, %v[k, j] : tensor<16x16xf32>) writes([i, j] add : tensor<16x16xf32>) attributes {lamina.op = "right"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %r = loop.generic (i, j) in [16, 16] reads(%p[i, j] : tensor<16x16xf32>, %q[i, j] : tensor<16x16xf32>) writes([i, j] store : tensor<16x16xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    loop.yield %z : f32
  }
  func.return %r : tensor<16x16xf32>
}
// CHECK-LABEL: @apart
// CHECK:         lamina.op = "left"
// CHECK-NOT:     loop.kernel
// CHECK:         lamina.op = "right"
// CHECK-NOT:     loop.kernel
// CHECK:         lamina.op = "sum"

// -----

// Not where one product multiplies all of what the other makes: columns of it are no rows of a kernel.
func.func @columns(%a: tensor<16x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %p = loop.generic (i, j, k) in [16, 16, 16] reads(%a[i, k] : tensor<16x16xf32>, %w[k, j] : tensor<16x16xf32>) writes([i, j] add : tensor<16x16xf32>) attributes {lamina.op = "left"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %q = loop.generic (i, j, k) in [16, 16, 16] reads(%v[i, k] : tensor<16x16xf32>, %p[k, j] : tensor<16x16xf32>) writes([i, j] add : tensor<16x16xf32>) attributes {lamina.op = "right"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %r = loop.generic (i, j) in [16, 16] reads(%p[i, j] : tensor<16x16xf32>, %q[i, j] : tensor<16x16xf32>) writes([i, j] store : tensor<16x16xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    loop.yield %z : f32
  }
  func.return %r : tensor<16x16xf32>
}
// CHECK-LABEL: @columns
// CHECK:         lamina.op = "left"
// CHECK:         loop.kernel
// CHECK-SAME:    another nest of one kernel reads what the other makes, but stayed apart
// CHECK:         lamina.op = "right"
// CHECK:         lamina.op = "sum"

// -----

// Nor where it reads other rows.
func.func @turned(%a: tensor<18x18xf32>, %w: tensor<18x18xf32>, %v: tensor<18x18xf32>) -> tensor<18x18xf32> {
  %p = loop.generic (i, j, k) in [18, 18, 18] reads(%a[i, k] : tensor<18x18xf32>, %w[k, j] : tensor<18x18xf32>) writes([i, j] add : tensor<18x18xf32>) attributes {lamina.op = "left"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %q = loop.generic (i, j, k) in [18, 18, 18] reads(%p[k, i] : tensor<18x18xf32>, %v[k, j] : tensor<18x18xf32>) writes([i, j] add : tensor<18x18xf32>) attributes {lamina.op = "right"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %r = loop.generic (i, j) in [18, 18] reads(%p[i, j] : tensor<18x18xf32>, %q[i, j] : tensor<18x18xf32>) writes([i, j] store : tensor<18x18xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    loop.yield %z : f32
  }
  func.return %r : tensor<18x18xf32>
}
// CHECK-LABEL: @turned
// CHECK:         lamina.op = "left"
// CHECK:         loop.kernel
// CHECK:         lamina.op = "right"
// CHECK:         lamina.op = "sum"

// -----

// Nor where a product reads its panels from the one kernel and its rows from the other, row by row of a batch.
func.func @panels(%a: tensor<64x3x8xf32>, %w: tensor<64x8x8xf32>, %c: tensor<64x5xf32>, %m: tensor<5x9xf32>) -> tensor<64x8x3xf32> {
  %p = loop.generic (b, i, j, k) in [64, 3, 8, 8] reads(%a[b, i, k] : tensor<64x3x8xf32>, %w[b, k, j] : tensor<64x8x8xf32>) writes([b, i, j] add : tensor<64x3x8xf32>) attributes {lamina.op = "left"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %q = loop.generic (b, i, k) in [64, 9, 5] reads(%c[b, k] : tensor<64x5xf32>, %m[k, i] : tensor<5x9xf32>) writes([b, i] add : tensor<64x9xf32>) attributes {lamina.op = "right"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %r = loop.generic (b, i, j, k) in [64, 8, 3, 3] reads(%p[b, k, i] : tensor<64x3x8xf32>, %q[b, 3 * k + j] : tensor<64x9xf32>) writes([b, i, j] add : tensor<64x8x3xf32>) attributes {lamina.op = "both"} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  func.return %r : tensor<64x8x3xf32>
}
// CHECK-LABEL: @panels
// CHECK:         lamina.op = "right"
// CHECK:         lamina.op = "pack"
// CHECK:         loop.kernel
// CHECK-SAME:    pack -> both: the result is the packed operand of a matrix product
// CHECK:         lamina.op = "left"
// CHECK:         lamina.op = "both"
