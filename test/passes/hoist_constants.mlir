// RUN: lamina-opt %s -p hoist-constants --split-input-file | filecheck %s

// What depends on parameters only is made by @setup; a parameter that is not read any more goes.
func.func @main(%x: tensor<4xf32> {lamina.kind = "input"}, %w: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<4xf32> {
  %s = loop.generic (i) in [4] reads(%w[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>, %s[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK:         func.func @setup([[W:%\S+]]: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> (tensor<4xf32> {lamina.kind = "prepared", lamina.name = "prepared0"})
// CHECK-NEXT:    loop.generic (d0) in [4] reads([[W]][d0]
// CHECK:         func.func @main(%x: tensor<4xf32> {lamina.kind = "input"}, [[P:%\S+]]: tensor<4xf32> {lamina.kind = "prepared", lamina.name = "prepared0"})
// CHECK-NEXT:    loop.generic (d0) in [4] reads(%x[d0] : tensor<4xf32>, [[P]][d0] : tensor<4xf32>)
// CHECK-NOT:     loop.generic

// -----

// A buffer that the program writes is no constant.
func.func @main(%w: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "w"}) -> (tensor<4xf32> {lamina.kind = "mutation", lamina.target = "w"}) {
  %s = loop.generic (i) in [4] reads(%w[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %s : tensor<4xf32>
}
// CHECK-NOT:     @setup
// CHECK:         func.func @main(%w: tensor<4xf32> {lamina.kind = "buffer", lamina.name = "w"})
// CHECK-NEXT:    loop.generic

// -----

// Not kept either: what is much larger than what it is made from.
func.func @main(%w: tensor<2xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<2x1000xf32> {
  %s = loop.generic (i, j) in [2, 1000] reads(%w[i] : tensor<2xf32>) writes([i, j] store : tensor<2x1000xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %s : tensor<2x1000xf32>
}
// CHECK-NOT:     @setup
// CHECK:         func.func @main(%w: tensor<2xf32>
// CHECK-NEXT:    loop.generic (d0, d1) in [2, 1000]

// -----

// A reshape costs nothing and is no reason for a setup function.
func.func @main(%x: tensor<2x2xf32>, %w: tensor<4xf32> {lamina.kind = "constant", lamina.name = "w"}) -> (tensor<2x2xf32>, tensor<4xf32>) {
  %k = loop.reshape %w : tensor<4xf32> -> tensor<2x2xf32>
  %r = loop.generic (i, j) in [2, 2] reads(%x[i, j] : tensor<2x2xf32>, %k[i, j] : tensor<2x2xf32>) writes([i, j] store : tensor<2x2xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r, %w : tensor<2x2xf32>, tensor<4xf32>
}
// CHECK-NOT:     @setup
// CHECK:         func.func @main(
// CHECK:         loop.reshape %w
// CHECK:         loop.generic (d0, d1) in [2, 2]

// -----

// Only @main has a setup function.
func.func @other(%w: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<4xf32> {
  %s = loop.generic (i) in [4] reads(%w[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %s : tensor<4xf32>
}
// CHECK-NOT:     @setup
// CHECK:         func.func @other(
// CHECK-NEXT:    loop.generic

// -----

// Neither are two in a row beside a constant that does need one.
func.func @main(%x: tensor<2x2xf32>, %w: tensor<4xf32> {lamina.kind = "constant", lamina.name = "w"}) -> (tensor<2x2xf32>, tensor<4xf32>) {
  %row = loop.reshape %w : tensor<4xf32> -> tensor<1x4xf32>
  %k = loop.reshape %row : tensor<1x4xf32> -> tensor<2x2xf32>
  %s = loop.generic (i) in [4] reads(%w[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i, j) in [2, 2] reads(%x[i, j] : tensor<2x2xf32>, %k[i, j] : tensor<2x2xf32>) writes([i, j] store : tensor<2x2xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r, %s : tensor<2x2xf32>, tensor<4xf32>
}
// CHECK:         func.func @setup({{.*}}) -> (tensor<4xf32>
// CHECK:         loop.generic
// CHECK:         func.func @main(%x: tensor<2x2xf32>, %w: tensor<4xf32>
// CHECK-NEXT:    [[ROW:%\S+]] = loop.reshape %w : tensor<4xf32> -> tensor<1x4xf32>
// CHECK-NEXT:    [[K:%\S+]] = loop.reshape [[ROW]] : tensor<1x4xf32> -> tensor<2x2xf32>
// CHECK-NEXT:    loop.generic (d0, d1) in [2, 2] reads(%x[d0, d1] : tensor<2x2xf32>, [[K]][d0, d1]

// -----

// What is computed from positions alone is prepared if it costs much; cheap makers go along.
func.func @main(%x: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>) {
  %i = loop.generic (i) in [40] writes([i] store : tensor<40xf32>) {
    %n = loop.index 0 : index
    %k = arith.index_cast %n : index to i64
    %v = arith.sitofp %k : i64 to f32
    loop.yield %v : f32
  }
  %c = loop.generic (i) in [40] reads(%i[i] : tensor<40xf32>) writes([i] store : tensor<40xf32>) {
  ^bb0(%p: f32):
    %v = math.cos %p : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i) in [40] reads(%x[i] : tensor<40xf32>, %c[i] : tensor<40xf32>) writes([i] store : tensor<40xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s = loop.generic (i) in [40] reads(%x[i] : tensor<40xf32>, %i[i] : tensor<40xf32>) writes([i] store : tensor<40xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r, %s : tensor<40xf32>, tensor<40xf32>
}
// CHECK:         func.func @setup() -> (tensor<40xf32> {lamina.kind = "prepared", lamina.name = "prepared0"})
// CHECK:         arith.sitofp
// CHECK:         math.cos
// CHECK:         func.func @main(%x: tensor<40xf32>, [[P:%\S+]]: tensor<40xf32> {lamina.kind = "prepared", lamina.name = "prepared0"})
// CHECK:         arith.sitofp
// CHECK-NOT:     math.cos
// CHECK:         func.return

// -----

// Not of memory without bound.
func.func @main(%x: tensor<2000x2000xf32>) -> tensor<2000x2000xf32> {
  %c = loop.generic (i, j) in [2000, 2000] writes([i, j] store : tensor<2000x2000xf32>) {
    %n = loop.index 0 : index
    %k = arith.index_cast %n : index to i64
    %f = arith.sitofp %k : i64 to f32
    %v = math.cos %f : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i, j) in [2000, 2000] reads(%x[i, j] : tensor<2000x2000xf32>, %c[i, j] : tensor<2000x2000xf32>) writes([i, j] store : tensor<2000x2000xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<2000x2000xf32>
}
// CHECK-NOT:     @setup
// CHECK:         func.func @main
