// RUN: lamina-opt %s -p "split-products{target=\"x86-64-v4\"}" --split-input-file | filecheck %s
// RUN: lamina-opt %s -p "split-products{target=\"x86-64-v4\" parts=2}" --split-input-file | filecheck %s --check-prefix TWO

// One panel of columns would be one task: the sum is cut in parts, which are positions of a batch.
func.func @panel(%a: tensor<16x2048xf32>, %b: tensor<2048x16xf32>) -> tensor<16x16xf32> {
  %c = loop.generic (d0, d1, d2) in [16, 16, 2048] reads(%a[d0, d2] : tensor<16x2048xf32>, %b[d2, d1] : tensor<2048x16xf32>) writes([d0, d1] add : tensor<16x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  func.return %c : tensor<16x16xf32>
}
// CHECK-LABEL: func.func @panel
// CHECK: %[[P:[^ ]*]] = loop.generic (d0, d1, d2, d3) in [8, 16, 16, 256]
// CHECK-SAME: reads(%a[d1, (d0 * 256) + d3] : tensor<16x2048xf32>, %b[(d0 * 256) + d3, d2] : tensor<2048x16xf32>) writes([d0, d1, d2] add : tensor<8x16x16xf32>)
// CHECK: loop.generic (d0, d1, d2) in [8, 16, 16] reads(%[[P]][d0, d1, d2] : tensor<8x16x16xf32>) writes([d1, d2] add : tensor<16x16xf32>)
// TWO-LABEL: func.func @panel
// TWO: in [2, 16, 16, 1024]

// -----

// Several panels are tasks as they are: only long sums gain. There are no more parts than leave each
// eight terms for each of the rows.
func.func @panels(%a: tensor<512x16384xf32>, %b: tensor<16384x64xf32>, %d: tensor<64x4096xf32>, %e: tensor<4096x64xf32>)
    -> (tensor<512x64xf32>, tensor<64x64xf32>) {
  %c = loop.generic (d0, d1, d2) in [512, 64, 16384] reads(%a[d0, d2] : tensor<512x16384xf32>, %b[d2, d1] : tensor<16384x64xf32>) writes([d0, d1] add : tensor<512x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  %f = loop.generic (d0, d1, d2) in [64, 64, 4096] reads(%d[d0, d2] : tensor<64x4096xf32>, %e[d2, d1] : tensor<4096x64xf32>) writes([d0, d1] add : tensor<64x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  func.return %c, %f : tensor<512x64xf32>, tensor<64x64xf32>
}
// CHECK-LABEL: func.func @panels
// CHECK: in [4, 512, 64, 4096]
// CHECK: in [4, 512, 64]
// CHECK: in [64, 64, 4096]
// CHECK-NOT: loop.generic

// -----

// Few points are enough where a sum has eight terms in each part for each row and column, and more.
func.func @long(%a: tensor<16x8192xf32>, %b: tensor<8192x40xf32>, %d: tensor<8x4096xf32>, %e: tensor<4096x40xf32>)
    -> (tensor<16x40xf32>, tensor<8x40xf32>) {
  %c = loop.generic (d0, d1, d2) in [16, 40, 8192] reads(%a[d0, d2] : tensor<16x8192xf32>, %b[d2, d1] : tensor<8192x40xf32>) writes([d0, d1] add : tensor<16x40xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  %f = loop.generic (d0, d1, d2) in [8, 40, 4096] reads(%d[d0, d2] : tensor<8x4096xf32>, %e[d2, d1] : tensor<4096x40xf32>) writes([d0, d1] add : tensor<8x40xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  func.return %c, %f : tensor<16x40xf32>, tensor<8x40xf32>
}
// CHECK-LABEL: func.func @long
// CHECK: in [8, 16, 40, 1024]
// CHECK: in [8, 16, 40]
// CHECK: in [8, 40, 4096]
// CHECK-NOT: loop.generic

// -----

// Ordinary products, batches of them, and rows of dot products stay whole.
func.func @whole(%a: tensor<512x2048xf32>, %b: tensor<2048x512xf32>, %d: tensor<4x16x4096xf32>, %e: tensor<4x4096x16xf32>, %v: tensor<65536xf32>, %w: tensor<16x65536xf32>)
    -> (tensor<512x512xf32>, tensor<4x16x16xf32>, tensor<16xf32>) {
  %c = loop.generic (d0, d1, d2) in [512, 512, 2048] reads(%a[d0, d2] : tensor<512x2048xf32>, %b[d2, d1] : tensor<2048x512xf32>) writes([d0, d1] add : tensor<512x512xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  %f = loop.generic (d0, d1, d2, d3) in [4, 16, 16, 4096] reads(%d[d0, d1, d3] : tensor<4x16x4096xf32>, %e[d0, d3, d2] : tensor<4x4096x16xf32>) writes([d0, d1, d2] add : tensor<4x16x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  %g = loop.generic (d0, d1) in [16, 65536] reads(%v[d1] : tensor<65536xf32>, %w[d0, d1] : tensor<16x65536xf32>) writes([d0] add : tensor<16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  func.return %c, %f, %g : tensor<512x512xf32>, tensor<4x16x16xf32>, tensor<16xf32>
}
// CHECK-LABEL: func.func @whole
// CHECK: in [512, 512, 2048]
// CHECK: in [4, 16, 16, 4096]
// CHECK: in [16, 65536]
// CHECK-NOT: loop.generic

// -----

// A size of the call says how many terms count: those are in the first parts, so that others would idle.
func.func @masked(%n: tensor<i64>, %a: tensor<16x2048xf32>, %b: tensor<2048x16xf32>) -> tensor<16x16xf32> {
  %z = loop.generic (d0, d1) in [16, 2048] reads(%a[d0, d1] : tensor<16x2048xf32>, %n[] : tensor<i64>) writes([d0, d1] store : tensor<16x2048xf32>) {
  ^bb0(%x: f32, %m: i64):
    %i = loop.index 1 : index
    %j = arith.index_cast %i : index to i64
    %l = arith.cmpi slt, %j, %m : i64
    %o = arith.constant 0.0 : f32
    %s = arith.select %l, %x, %o : f32
    loop.yield %s : f32
  }
  %c = loop.generic (d0, d1, d2) in [16, 16, 2048] reads(%z[d0, d2] : tensor<16x2048xf32>, %b[d2, d1] : tensor<2048x16xf32>) writes([d0, d1] add : tensor<16x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  func.return %c : tensor<16x16xf32>
}
// CHECK-LABEL: func.func @masked
// CHECK: in [16, 16, 2048]
// CHECK-NOT: loop.generic

// -----

// A single row: parts of a matrix are whole runs of memory. Pieces of wider ones are long as they are.
func.func @row(%v: tensor<1024xf32>, %a: tensor<1024x1024xf32>, %b: tensor<1024x4096xf32>) -> (tensor<1024xf32>, tensor<4096xf32>) {
  %c = loop.generic (d0, d1) in [1024, 1024] reads(%v[d1] : tensor<1024xf32>, %a[d1, d0] : tensor<1024x1024xf32>) writes([d0] add : tensor<1024xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  %d = loop.generic (d0, d1) in [4096, 1024] reads(%v[d1] : tensor<1024xf32>, %b[d1, d0] : tensor<1024x4096xf32>) writes([d0] add : tensor<4096xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    loop.yield %p : f32
  }
  func.return %c, %d : tensor<1024xf32>, tensor<4096xf32>
}
// CHECK-LABEL: func.func @row
// CHECK: in [8, 1024, 128] reads(%v[(d0 * 128) + d2] : tensor<1024xf32>, %a[(d0 * 128) + d2, d1]
// CHECK: in [8, 1024]
// CHECK: in [4096, 1024]
// CHECK-NOT: loop.generic

// -----

// What sums make, as weights of attention, is of the kernel that multiplies it; what is made element by
// element of an argument is read once, too.
func.func @made(%s: tensor<16x2048x4xf32>, %x: tensor<16x2048xf32>, %b: tensor<2048x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %w = loop.generic (d0, d1, d2) in [16, 2048, 4] reads(%s[d0, d1, d2] : tensor<16x2048x4xf32>) writes([d0, d1] add : tensor<16x2048xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %c = loop.generic (d0, d1, d2) in [16, 16, 2048] reads(%w[d0, d2] : tensor<16x2048xf32>, %b[d2, d1] : tensor<2048x16xf32>) writes([d0, d1] add : tensor<16x16xf32>) {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    loop.yield %m : f32
  }
  %y = loop.generic (d0, d1) in [16, 2048] reads(%x[d0, d1] : tensor<16x2048xf32>) writes([d0, d1] store : tensor<16x2048xf32>) {
  ^bb0(%a: f32):
    %t = arith.addf %a, %a : f32
    loop.yield %t : f32
  }
  %d = loop.generic (d0, d1, d2) in [16, 16, 2048] reads(%y[d0, d2] : tensor<16x2048xf32>, %b[d2, d1] : tensor<2048x16xf32>) writes([d0, d1] add : tensor<16x16xf32>) {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    loop.yield %m : f32
  }
  func.return %c, %d : tensor<16x16xf32>, tensor<16x16xf32>
}
// CHECK-LABEL: func.func @made
// CHECK: in [16, 2048, 4]
// CHECK: in [16, 16, 2048]
// CHECK: in [16, 2048]
// CHECK: in [8, 16, 16, 256]

// -----

// A product of no rows and no columns has no parts.
func.func @empty(%a: tensor<0x4096xf32>, %b: tensor<4096x0xf32>) -> tensor<0x0xf32> {
  %r = loop.generic (i, j, k) in [0, 0, 4096] reads(%a[i, k] : tensor<0x4096xf32>, %b[k, j] : tensor<4096x0xf32>) writes([i, j] add : tensor<0x0xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<0x0xf32>
}
// CHECK-LABEL: @empty
// CHECK:         loop.generic (d0, d1, d2) in [0, 0, 4096]
