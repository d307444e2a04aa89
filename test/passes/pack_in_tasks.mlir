// RUN: lamina-opt %s -p 'pack-contractions{target="x86-64-v4"},fuse-elementwise{target="x86-64-v4"},fuse-kernels{target="x86-64-v4"},pack-in-tasks' --split-input-file | filecheck %s

// Few rows: tasks turn the weight of a linear layer where it stands, and widen it.
func.func @linear(%x: tensor<20x70xf32>, %b: tensor<45x70xf16>) -> tensor<20x45xf32> {
  %y = loop.generic (i, j) in [45, 70] reads(%b[i, j] : tensor<45x70xf16>) writes([i, j] store : tensor<45x70xf32>) {
  ^bb0(%h: f16):
    %w = arith.extf %h {lamina.implicit} : f16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (m, n, k) in [20, 45, 70] reads(%x[m, k] : tensor<20x70xf32>, %y[n, k] : tensor<45x70xf32>) writes([m, n] add : tensor<20x45xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<20x45xf32>
}
// CHECK-LABEL: @linear
// CHECK-NOT:     "pack"
// CHECK:         loop.kernel(%{{\S+}} = %x : tensor<20x70xf32>, [[B:%\S+]] = %b : tensor<45x70xf16>)
// CHECK:         reads(%{{\S+}}[d0, d2] : tensor<20x70xf32>, [[B]][d1, d2] : tensor<45x70xf16>)
// CHECK-SAME:    lamina.packing = #loop.packing<panel = 32, pack_at = task>, {{.*}}
// CHECK-NEXT:    ^bb0([[P:%\S+]]: f32, [[H:%\S+]]: f16):
// CHECK-NEXT:      [[W:%\S+]] = arith.extf [[H]]
// CHECK-NEXT:      arith.mulf [[P]], [[W]] : f32

// -----

// Columns that are neighbours, in a batch, and an epilogue.
func.func @batch(%x: tensor<3x20x64xf32>, %y: tensor<3x64x90xf32>) -> tensor<3x20x90xf32> {
  %r = loop.generic (b, m, n, k) in [3, 20, 90, 64] reads(%x[b, m, k] : tensor<3x20x64xf32>, %y[b, k, n] : tensor<3x64x90xf32>) writes([b, m, n] add : tensor<3x20x90xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s = loop.generic (b, m, n) in [3, 20, 90] reads(%r[b, m, n] : tensor<3x20x90xf32>) writes([b, m, n] store : tensor<3x20x90xf32>) {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  func.return %s : tensor<3x20x90xf32>
}
// CHECK-LABEL: @batch
// CHECK-NOT:     "pack"
// CHECK:         [[Y:%\S+]][d0, d3, d2] : tensor<3x64x90xf32>)
// CHECK-SAME:    pack_at = task
// CHECK:         arith.negf

// -----

// Many rows would have it packed again for each block of them.
func.func @rows(%x: tensor<2000x64xf32>, %y: tensor<64x96xf32>) -> tensor<2000x96xf32> {
  %r = loop.generic (m, n, k) in [2000, 96, 64] reads(%x[m, k] : tensor<2000x64xf32>, %y[k, n] : tensor<64x96xf32>) writes([m, n] add : tensor<2000x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<2000x96xf32>
}
// CHECK-LABEL: @rows
// CHECK:         "pack"
// CHECK-NOT:     pack_at = task

// -----

// What is computed on the way is computed once, where it is packed.
func.func @computed(%x: tensor<20x64xf32>, %y: tensor<64x96xf32>) -> tensor<20x96xf32> {
  %s = loop.generic (i, j) in [64, 96] reads(%y[i, j] : tensor<64x96xf32>) writes([i, j] store : tensor<64x96xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n, k) in [20, 96, 64] reads(%x[m, k] : tensor<20x64xf32>, %s[k, n] : tensor<64x96xf32>) writes([m, n] add : tensor<20x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<20x96xf32>
}
// CHECK-LABEL: @computed
// CHECK:         "pack"
// CHECK:         math.exp
// CHECK-NOT:     pack_at = task

// -----

// Neither columns nor terms are neighbours.
func.func @apart(%x: tensor<20x64xf32>, %y: tensor<64x192xf32>) -> tensor<20x96xf32> {
  %r = loop.generic (m, n, k) in [20, 96, 64] reads(%x[m, k] : tensor<20x64xf32>, %y[k, 2 * n] : tensor<64x192xf32>) writes([m, n] add : tensor<20x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<20x96xf32>
}
// CHECK-LABEL: @apart
// CHECK:         "pack"
// CHECK-NOT:     pack_at = task

// -----

// A row that is needed whole is multiplied in blocks of few rows.
func.func @whole_rows(%x: tensor<400x64xf32>, %y: tensor<64x96xf32>) -> tensor<400xf32> {
  %r = loop.generic (m, n, k) in [400, 96, 64] reads(%x[m, k] : tensor<400x64xf32>, %y[k, n] : tensor<64x96xf32>) writes([m, n] add : tensor<400x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s = loop.generic (m, n) in [400, 96] reads(%r[m, n] : tensor<400x96xf32>) writes([m] max : tensor<400xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s : tensor<400xf32>
}
// CHECK-LABEL: @whole_rows
// CHECK:         "pack"
// CHECK-NOT:     pack_at = task

// -----

// Columns that are all the same, or terms that are: what reads those as they stand is no product.
func.func @expanded(%x: tensor<6x24xf32>, %column: tensor<24xf32>, %row: tensor<64xf32>) -> (tensor<6x64xf32>, tensor<6x64xf32>) {
  %y = loop.generic (i, j) in [24, 64] reads(%column[i] : tensor<24xf32>) writes([i, j] store : tensor<24x64xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  %r = loop.generic (m, n, k) in [6, 64, 24] reads(%x[m, k] : tensor<6x24xf32>, %y[k, n] : tensor<24x64xf32>) writes([m, n] add : tensor<6x64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %z = loop.generic (i, j) in [24, 64] reads(%row[j] : tensor<64xf32>) writes([i, j] store : tensor<24x64xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  %s = loop.generic (m, n, k) in [6, 64, 24] reads(%x[m, k] : tensor<6x24xf32>, %z[k, n] : tensor<24x64xf32>) writes([m, n] add : tensor<6x64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r, %s : tensor<6x64xf32>, tensor<6x64xf32>
}
// CHECK-LABEL: @expanded
// CHECK-NOT:     pack_at = task

// -----

// Rows of several dimensions are blocks of the longest one: five times as often would be too often.
func.func @places(%x: tensor<128x5x64xf32>, %y: tensor<64x96xf32>) -> tensor<128x480xf32> {
  %r = loop.generic (m, p, n, k) in [128, 5, 96, 64] reads(%x[m, p, k] : tensor<128x5x64xf32>, %y[k, n] : tensor<64x96xf32>) writes([m, p + (n * 5)] add : tensor<128x480xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<128x480xf32>
}
// CHECK-LABEL: @places
// CHECK:         "pack"

// -----

func.func @two_places(%x: tensor<128x2x64xf32>, %y: tensor<64x96xf32>) -> tensor<128x192xf32> {
  %r = loop.generic (m, p, n, k) in [128, 2, 96, 64] reads(%x[m, p, k] : tensor<128x2x64xf32>, %y[k, n] : tensor<64x96xf32>) writes([m, p + (n * 2)] add : tensor<128x192xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<128x192xf32>
}
// CHECK-LABEL: @two_places
// CHECK-NOT:     "pack"
// CHECK:         pack_at = task

// -----

// Many rows by a large operand, whose sums are short: a kernel in front packs it once.
func.func @large(%x: tensor<512x1024xf32>, %y: tensor<1024x1024xf32>) -> tensor<512x1024xf32> {
  %r = loop.generic (m, n, k) in [512, 1024, 1024] reads(%x[m, k] : tensor<512x1024xf32>, %y[k, n] : tensor<1024x1024xf32>) writes([m, n] add : tensor<512x1024xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<512x1024xf32>
}
// CHECK-LABEL: @large
// CHECK:         lamina.op = "pack"
// CHECK-NOT:     pack_at = task

// -----

// As many rows by a smaller operand: tasks pack it.
func.func @small(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %r = loop.generic (m, n, k) in [512, 512, 512] reads(%x[m, k] : tensor<512x512xf32>, %y[k, n] : tensor<512x512xf32>) writes([m, n] add : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<512x512xf32>
}
// CHECK-LABEL: @small
// CHECK-NOT:     lamina.op = "pack"
// CHECK:         pack_at = task
