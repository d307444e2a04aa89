// RUN: lamina-opt %s -p 'bufferize,choose-schedule{target=x86-64-v4}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'bufferize,choose-schedule{target=x86-64-v4},apply-schedule' --split-input-file | filecheck %s --check-prefix CODE

// What follows a product writes its columns apart and its rows side by side, as a program's images have channels: vectors run along
// the rows, of squares of a panel that are turned.
func.func private @channels_first(%a: tensor<64x32xf32>, %b: tensor<2x32x32xf32>, %r: tensor<64xf32>) -> tensor<64x64xf32> attributes {lamina.kernel} {
  %p = loop.generic (m, n, k) in [64, 64, 32] reads(%a[m, k] : tensor<64x32xf32>, %b[n floordiv 32, k, n mod 32] : tensor<2x32x32xf32>) writes([m, n] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (n, m) in [64, 64] reads(%p[m, n] : tensor<64x64xf32>, %r[n] : tensor<64xf32>) writes([n, m] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.addf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %q : tensor<64x64xf32>
}
// CHECK-LABEL: @channels_first
// CHECK-SAME:    compute_at = panel
// CHECK:         #loop.schedule<vectorize = d1 x 16, transpose = d0>
// CODE-LABEL:  @channels_first
// CODE:          vector.fma
// CODE:          vector.shuffle {{.*}} [0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30]

// -----

// Four rows fill no square: what follows is computed of the register tiles.
func.func private @few_rows(%a: tensor<4x32xf32>, %b: tensor<2x32x32xf32>, %r: tensor<64xf32>) -> tensor<64x4xf32> attributes {lamina.kernel} {
  %p = loop.generic (m, n, k) in [4, 64, 32] reads(%a[m, k] : tensor<4x32xf32>, %b[n floordiv 32, k, n mod 32] : tensor<2x32x32xf32>) writes([m, n] add : tensor<4x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (n, m) in [64, 4] reads(%p[m, n] : tensor<4x64xf32>, %r[n] : tensor<64xf32>) writes([n, m] store : tensor<64x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.addf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %q : tensor<64x4xf32>
}
// CHECK-LABEL: @few_rows
// CHECK:         #loop.schedule<compute_with>
// CODE-LABEL:  @few_rows
// CODE-NOT:      [0, 16, 2, 18,

// -----

// So it is where columns are written side by side, and where the text says so.
func.func private @channels_last(%a: tensor<64x32xf32>, %b: tensor<2x32x32xf32>, %r: tensor<64xf32>) -> tensor<64x64xf32> attributes {lamina.kernel} {
  %p = loop.generic (m, n, k) in [64, 64, 32] reads(%a[m, k] : tensor<64x32xf32>, %b[n floordiv 32, k, n mod 32] : tensor<2x32x32xf32>) writes([m, n] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (m, n) in [64, 64] reads(%p[m, n] : tensor<64x64xf32>, %r[n] : tensor<64xf32>) writes([m, n] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.addf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %q : tensor<64x64xf32>
}
// CHECK-LABEL: @channels_last
// CHECK:         #loop.schedule<compute_with>

// -----

func.func private @said(%a: tensor<64x32xf32>, %b: tensor<2x32x32xf32>) -> tensor<64x64xf32> attributes {lamina.kernel} {
  %p = loop.generic (m, n, k) in [64, 64, 32] reads(%a[m, k] : tensor<64x32xf32>, %b[n floordiv 32, k, n mod 32] : tensor<2x32x32xf32>) writes([m, n] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (n, m) in [64, 64] reads(%p[m, n] : tensor<64x64xf32>) writes([n, m] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<compute_with>} {
  ^bb0(%x: f32):
    %v = math.absf %x : f32
    loop.yield %v : f32
  }
  func.return %q : tensor<64x64xf32>
}
// CHECK-LABEL: @said
// CHECK:         #loop.schedule<compute_with>
