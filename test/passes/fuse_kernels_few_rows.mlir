// RUN: lamina-opt %s -p 'fuse-kernels{target="x86-64-v4"}' --split-input-file | filecheck %s

// A call that needs one row of 256 leaves one thread to multiply it by all of the weight, in a kernel of rows. The note
// is used up.
func.func @one_row(%a: tensor<256x512xf32>, %b: tensor<512x512xf32>) -> tensor<256xf32> {
  %p = loop.generic (m, n, k) in [256, 512, 512] reads(%a[m, k] : tensor<256x512xf32>, %b[n, k] : tensor<512x512xf32>) writes([m, n] add : tensor<256x512xf32>) attributes {lamina.op = "product", lamina.least_extents = array<i64: 1, 512, 512>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [256, 512] reads(%p[m, n] : tensor<256x512xf32>) writes([m] max : tensor<256xf32>) attributes {lamina.op = "amax", lamina.least_extents = array<i64: 1, 512>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<256xf32>
}
// CHECK-LABEL: @one_row
// CHECK-NOT:     lamina.least_extents
// CHECK:         lamina.not_fused = ["product -> amax: a call may need but 1 of their 256 rows: multiplying while other threads are idle takes {{.*}} us, storing and waiting {{.*}} us"]

// -----

// So many rows find threads.
func.func @many_rows(%a: tensor<256x512xf32>, %b: tensor<512x512xf32>) -> tensor<256xf32> {
  %p = loop.generic (m, n, k) in [256, 512, 512] reads(%a[m, k] : tensor<256x512xf32>, %b[n, k] : tensor<512x512xf32>) writes([m, n] add : tensor<256x512xf32>) attributes {lamina.op = "product", lamina.least_extents = array<i64: 128, 512, 512>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [256, 512] reads(%p[m, n] : tensor<256x512xf32>) writes([m] max : tensor<256xf32>) attributes {lamina.op = "amax", lamina.least_extents = array<i64: 128, 512>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<256xf32>
}
// CHECK-LABEL: @many_rows
// CHECK-NOT:     lamina.not_fused

// -----

// Without a note, all of them are needed.
func.func @all_rows(%a: tensor<256x512xf32>, %b: tensor<512x512xf32>) -> tensor<256xf32> {
  %p = loop.generic (m, n, k) in [256, 512, 512] reads(%a[m, k] : tensor<256x512xf32>, %b[n, k] : tensor<512x512xf32>) writes([m, n] add : tensor<256x512xf32>) attributes {lamina.op = "product"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [256, 512] reads(%p[m, n] : tensor<256x512xf32>) writes([m] max : tensor<256xf32>) attributes {lamina.op = "amax"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<256xf32>
}
// CHECK-LABEL: @all_rows
// CHECK-NOT:     lamina.not_fused

// -----

// By a small weight one row is multiplied before threads have met.
func.func @small_weight(%a: tensor<256x16xf32>, %b: tensor<16x16xf32>) -> tensor<256xf32> {
  %p = loop.generic (m, n, k) in [256, 16, 16] reads(%a[m, k] : tensor<256x16xf32>, %b[n, k] : tensor<16x16xf32>) writes([m, n] add : tensor<256x16xf32>) attributes {lamina.op = "product", lamina.least_extents = array<i64: 1, 16, 16>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [256, 16] reads(%p[m, n] : tensor<256x16xf32>) writes([m] max : tensor<256xf32>) attributes {lamina.op = "amax", lamina.least_extents = array<i64: 1, 16>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<256xf32>
}
// CHECK-LABEL: @small_weight
// CHECK-NOT:     lamina.not_fused

// -----

// Where a call needs but a few of the columns too, there is no weight to read.
func.func @few_columns(%a: tensor<256x512xf32>, %b: tensor<512x512xf32>) -> tensor<256xf32> {
  %p = loop.generic (m, n, k) in [256, 512, 512] reads(%a[m, k] : tensor<256x512xf32>, %b[n, k] : tensor<512x512xf32>) writes([m, n] add : tensor<256x512xf32>) attributes {lamina.op = "product", lamina.least_extents = array<i64: 1, 1, 512>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [256, 512] reads(%p[m, n] : tensor<256x512xf32>) writes([m] max : tensor<256xf32>) attributes {lamina.op = "amax", lamina.least_extents = array<i64: 1, 1>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<256xf32>
}
// CHECK-LABEL: @few_columns
// CHECK-NOT:     lamina.not_fused

// -----

// An epilogue needs no whole rows: columns are shared out.
func.func @epilogue(%a: tensor<256x512xf32>, %b: tensor<512x512xf32>) -> tensor<256x512xf32> {
  %p = loop.generic (m, n, k) in [256, 512, 512] reads(%a[m, k] : tensor<256x512xf32>, %b[n, k] : tensor<512x512xf32>) writes([m, n] add : tensor<256x512xf32>) attributes {lamina.op = "product", lamina.least_extents = array<i64: 1, 512, 512>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [256, 512] reads(%p[m, n] : tensor<256x512xf32>) writes([m, n] store : tensor<256x512xf32>) attributes {lamina.op = "copy", lamina.least_extents = array<i64: 1, 512>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<256x512xf32>
}
// CHECK-LABEL: @epilogue
// CHECK-NOT:     lamina.not_fused

// -----

// The same of two products that a gate would take in.
func.func @few_rows_of_two(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %p = loop.generic (m, n, k) in [256, 256, 256] reads(%a[m, k] : tensor<256x256xf32>, %b[n, k] : tensor<256x256xf32>) writes([m, n] add : tensor<256x256xf32>) attributes {lamina.op = "left", lamina.least_extents = array<i64: 1, 256, 256>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (m, n, k) in [256, 256, 256] reads(%a[m, k] : tensor<256x256xf32>, %c[n, k] : tensor<256x256xf32>) writes([m, n] add : tensor<256x256xf32>) attributes {lamina.op = "right", lamina.least_extents = array<i64: 1, 256, 256>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [256, 256] reads(%p[m, n] : tensor<256x256xf32>, %q[m, n] : tensor<256x256xf32>) writes([m, n] store : tensor<256x256xf32>) attributes {lamina.op = "gate", lamina.least_extents = array<i64: 1, 256>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<256x256xf32>
}
// CHECK-LABEL: @few_rows_of_two
// CHECK:         lamina.not_fused = ["left -> gate: a call may need but 1 of their 256 rows

// -----

// So many rows find threads for both.
func.func @many_rows_of_two(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %p = loop.generic (m, n, k) in [256, 256, 256] reads(%a[m, k] : tensor<256x256xf32>, %b[n, k] : tensor<256x256xf32>) writes([m, n] add : tensor<256x256xf32>) attributes {lamina.op = "left", lamina.least_extents = array<i64: 128, 256, 256>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (m, n, k) in [256, 256, 256] reads(%a[m, k] : tensor<256x256xf32>, %c[n, k] : tensor<256x256xf32>) writes([m, n] add : tensor<256x256xf32>) attributes {lamina.op = "right", lamina.least_extents = array<i64: 128, 256, 256>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [256, 256] reads(%p[m, n] : tensor<256x256xf32>, %q[m, n] : tensor<256x256xf32>) writes([m, n] store : tensor<256x256xf32>) attributes {lamina.op = "gate", lamina.least_extents = array<i64: 128, 256>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<256x256xf32>
}
// CHECK-LABEL: @many_rows_of_two
// CHECK-NOT:     lamina.not_fused
