// RUN: lamina-opt %s -p 'pack-contractions{target="x86-64-v4"}' --split-input-file | filecheck %s

// Constant columns that three vectors of sixteen divide are panels of these: a tile of eight rows loads fewer elements of
// rows for each multiply-add.
func.func @three_vectors(%a: tensor<128x40xf32>, %b: tensor<40x96xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<128x96xf32> {
  %r = loop.generic (m, n, k) in [128, 96, 40] reads(%a[m, k] : tensor<128x40xf32>, %b[k, n] : tensor<40x96xf32>) writes([m, n] add : tensor<128x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<128x96xf32>
}
// CHECK-LABEL: @three_vectors
// CHECK:         reads(%a[d0, d2] : tensor<128x40xf32>, {{%\S+}}[d1 floordiv 48, d2, d1 mod 48] : tensor<2x40x48xf32>)
// CHECK-SAME:    #loop.packing<panel = 48>

// -----

// What is left over would be computed as well.
func.func @others(%a: tensor<128x40xf32>, %b: tensor<40x128xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<128x128xf32> {
  %r = loop.generic (m, n, k) in [128, 128, 40] reads(%a[m, k] : tensor<128x40xf32>, %b[k, n] : tensor<40x128xf32>) writes([m, n] add : tensor<128x128xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<128x128xf32>
}
// CHECK-LABEL: @others
// CHECK:         #loop.packing<panel = 32>

// -----

// Panels of two vectors are packed in calls.
func.func @in_calls(%a: tensor<256x40xf32>, %b: tensor<40x96xf32>) -> tensor<256x96xf32> {
  %r = loop.generic (m, n, k) in [256, 96, 40] reads(%a[m, k] : tensor<256x40xf32>, %b[k, n] : tensor<40x96xf32>) writes([m, n] add : tensor<256x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<256x96xf32>
}
// CHECK-LABEL: @in_calls
// CHECK:         #loop.packing<panel = 32, pack_at = call>

// -----

// Of a vocabulary the last of many panels is filled up.
func.func @vocabulary(%a: tensor<128x40xf32>, %b: tensor<40x50257xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<128x50257xf32> {
  %r = loop.generic (m, n, k) in [128, 50257, 40] reads(%a[m, k] : tensor<128x40xf32>, %b[k, n] : tensor<40x50257xf32>) writes([m, n] add : tensor<128x50257xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<128x50257xf32>
}
// CHECK-LABEL: @vocabulary
// CHECK:         loop.generic (d0, d1, d2) in [1048, 40, 48] {{.*}} pad 0.000000e+00
// CHECK:         #loop.packing<panel = 48>

// -----

// Panels are as wide for a single row: programs for other numbers of rows share them.
func.func @one_row(%a: tensor<1x400xf32>, %b: tensor<400x96xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<1x96xf32> {
  %r = loop.generic (m, n, k) in [1, 96, 400] reads(%a[m, k] : tensor<1x400xf32>, %b[k, n] : tensor<400x96xf32>) writes([m, n] add : tensor<1x96xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x96xf32>
}
// CHECK-LABEL: @one_row
// CHECK:         #loop.packing<panel = 48>
