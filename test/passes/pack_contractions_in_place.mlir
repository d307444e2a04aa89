// RUN: lamina-opt %s -p 'pack-contractions{target="x86-64-v4;cores=2"}' --split-input-file | filecheck %s

// Columns of the call that are neighbours are read where they stand. One register tile of two rows has eight vectors of them,
func.func @two(%a: tensor<2x64xf32>, %b: tensor<64x256xf32>) -> tensor<2x256xf32> {
  %r = loop.generic (m, n, k) in [2, 256, 64] reads(%a[m, k] : tensor<2x64xf32>, %b[k, n] : tensor<64x256xf32>) writes([m, n] add : tensor<2x256xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<2x256xf32>
}
// CHECK-LABEL: @two
// CHECK-NOT:     "pack"
// CHECK:         reads(%a[d0, d2] : tensor<2x64xf32>, %b[d2, d1] : tensor<64x256xf32>)
// CHECK-SAME:    #loop.packing<panel = 128, pack_at = call>

// -----

// of four rows four,
func.func @four(%a: tensor<4x64xf32>, %b: tensor<64x256xf32>) -> tensor<4x256xf32> {
  %r = loop.generic (m, n, k) in [4, 256, 64] reads(%a[m, k] : tensor<4x64xf32>, %b[k, n] : tensor<64x256xf32>) writes([m, n] add : tensor<4x256xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x256xf32>
}
// CHECK-LABEL: @four
// CHECK-NOT:     "pack"
// CHECK:         #loop.packing<panel = 64, pack_at = call>

// -----

// of more rows three, where these divide the columns,
func.func @more(%a: tensor<64x64xf32>, %b: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %r = loop.generic (m, n, k) in [64, 96, 64] reads(%a[m, k] : tensor<64x64xf32>, %b[k, n] : tensor<64x96xf32>) writes([m, n] add : tensor<64x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<64x96xf32>
}
// CHECK-LABEL: @more
// CHECK-NOT:     "pack"
// CHECK:         #loop.packing<panel = 48, pack_at = call>

// -----

// or two;
func.func @others(%a: tensor<64x64xf32>, %b: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %r = loop.generic (m, n, k) in [64, 256, 64] reads(%a[m, k] : tensor<64x64xf32>, %b[k, n] : tensor<64x256xf32>) writes([m, n] add : tensor<64x256xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<64x256xf32>
}
// CHECK-LABEL: @others
// CHECK-NOT:     "pack"
// CHECK:         #loop.packing<panel = 32, pack_at = call>

// -----

// and four, where rows of the operand are far apart.
func.func @far(%a: tensor<64x64xf32>, %b: tensor<64x8192xf32>) -> tensor<64x8192xf32> {
  %r = loop.generic (m, n, k) in [64, 8192, 64] reads(%a[m, k] : tensor<64x64xf32>, %b[k, n] : tensor<64x8192xf32>) writes([m, n] add : tensor<64x8192xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<64x8192xf32>
}
// CHECK-LABEL: @far
// CHECK-NOT:     "pack"
// CHECK:         #loop.packing<panel = 64, pack_at = call>

// -----

// Each of two cores has a panel, though it might be wider.
func.func @shared(%a: tensor<2x64xf32>, %b: tensor<64x128xf32>) -> tensor<2x128xf32> {
  %r = loop.generic (m, n, k) in [2, 128, 64] reads(%a[m, k] : tensor<2x64xf32>, %b[k, n] : tensor<64x128xf32>) writes([m, n] add : tensor<2x128xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<2x128xf32>
}
// CHECK-LABEL: @shared
// CHECK-NOT:     "pack"
// CHECK:         #loop.packing<panel = 64, pack_at = call>

// -----

// So are those of a batch, whose products are shares of their own.
func.func @batch(%a: tensor<4x2x64xf32>, %b: tensor<4x64x128xf32>) -> tensor<4x2x128xf32> {
  %r = loop.generic (p, m, n, k) in [4, 2, 128, 64] reads(%a[p, m, k] : tensor<4x2x64xf32>, %b[p, k, n] : tensor<4x64x128xf32>) writes([p, m, n] add : tensor<4x2x128xf32>) {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x2x128xf32>
}
// CHECK-LABEL: @batch
// CHECK-NOT:     "pack"
// CHECK:         #loop.packing<panel = 128, pack_at = call>

// -----

// A panel that is not whole would end behind the operand.
func.func @uneven(%a: tensor<64x64xf32>, %b: tensor<64x100xf32>) -> tensor<64x100xf32> {
  %r = loop.generic (m, n, k) in [64, 100, 64] reads(%a[m, k] : tensor<64x64xf32>, %b[k, n] : tensor<64x100xf32>) writes([m, n] add : tensor<64x100xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<64x100xf32>
}
// CHECK-LABEL: @uneven
// CHECK:         "pack"

// -----

// More rows make up for packing.
func.func @rows(%a: tensor<160x64xf32>, %b: tensor<64x256xf32>) -> tensor<160x256xf32> {
  %r = loop.generic (m, n, k) in [160, 256, 64] reads(%a[m, k] : tensor<160x64xf32>, %b[k, n] : tensor<64x256xf32>) writes([m, n] add : tensor<160x256xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<160x256xf32>
}
// CHECK-LABEL: @rows
// CHECK:         "pack"

// -----

// What another nest makes it may make in panels.
func.func @made(%a: tensor<8x64xf32>, %c: tensor<64x256xf32>) -> tensor<8x256xf32> {
  %b = loop.generic (i, j) in [64, 256] reads(%c[i, j] : tensor<64x256xf32>) writes([i, j] store : tensor<64x256xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n, k) in [8, 256, 64] reads(%a[m, k] : tensor<8x64xf32>, %b[k, n] : tensor<64x256xf32>) writes([m, n] add : tensor<8x256xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x256xf32>
}
// CHECK-LABEL: @made
// CHECK:         "pack"

// -----

// Columns that lie along the sum are no neighbours.
func.func @turned(%a: tensor<8x64xf32>, %b: tensor<256x64xf32>) -> tensor<8x256xf32> {
  %r = loop.generic (m, n, k) in [8, 256, 64] reads(%a[m, k] : tensor<8x64xf32>, %b[n, k] : tensor<256x64xf32>) writes([m, n] add : tensor<8x256xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x256xf32>
}
// CHECK-LABEL: @turned
// CHECK:         "pack"
