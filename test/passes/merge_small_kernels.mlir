// RUN: lamina-opt %s -p fuse-kernels,merge-small-kernels --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'fuse-kernels,merge-small-kernels{print-decisions=true}' --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=SAID

// Updates of small tensors of different shapes are one kernel.
func.func @updates(%a: tensor<64xf32>, %b: tensor<16x9xf32>, %c: tensor<3xf32>) -> (tensor<64xf32>, tensor<16x9xf32>, tensor<3xf32>) {
  %p = loop.generic (i) in [64] reads(%a[i] : tensor<64xf32>) writes([i] store : tensor<64xf32>) attributes {lamina.op = "first"} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  %q = loop.generic (i, j) in [16, 9] reads(%b[i, j] : tensor<16x9xf32>) writes([i, j] store : tensor<16x9xf32>) attributes {lamina.op = "second"} {
  ^bb0(%x: f32):
    %v = math.exp %x : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i) in [3] reads(%c[i] : tensor<3xf32>) writes([i] store : tensor<3xf32>) attributes {lamina.op = "third"} {
  ^bb0(%x: f32):
    %v = math.sqrt %x : f32
    loop.yield %v : f32
  }
  func.return %p, %q, %r : tensor<64xf32>, tensor<16x9xf32>, tensor<3xf32>
}
// CHECK-LABEL: @updates
// CHECK-NEXT:    [[P:%\S+]], [[Q:%\S+]], [[R:%\S+]] = loop.kernel(
// CHECK:         lamina.op = "first", lamina.rows = array<i64>
// CHECK:         lamina.op = "second", lamina.rows = array<i64>
// CHECK:         lamina.op = "third", lamina.rows = array<i64>
// CHECK-NOT:     loop.kernel
// CHECK:         func.return [[P]], [[Q]], [[R]]
// SAID: merge-small-kernels: first, second: fused: one thread runs both
// SAID: merge-small-kernels: second, third: fused: one thread runs both

// -----

// What one makes for the other stays inside.
func.func @in_turn(%a: tensor<64xf32>) -> tensor<64xf32> {
  %s = loop.generic (i) in [64] reads(%a[i] : tensor<64xf32>) writes([] add : tensor<f32>) attributes {lamina.fuse = "always", lamina.op = "sum"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %t = loop.generic (i) in [64] reads(%a[63 - i] : tensor<64xf32>) writes([i] store : tensor<64xf32>) attributes {lamina.op = "flip"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %r = loop.generic (i) in [64] reads(%t[63 - i] : tensor<64xf32>, %s[] : tensor<f32>) writes([i] store : tensor<64xf32>) attributes {lamina.op = "div"} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.divf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<64xf32>
}
// CHECK-LABEL: @in_turn
// CHECK-NEXT:    loop.kernel({{%\S+}} = %a : tensor<64xf32>) -> (tensor<64xf32>)
// CHECK-NOT:     loop.kernel
// CHECK:         func.return

// -----

// Together they would be worth several threads: each alone is not, and both stay as they are.
func.func @enough(%a: tensor<9000xf32>, %b: tensor<9001xf32>) -> (tensor<9000xf32>, tensor<9001xf32>) {
  %p = loop.generic (i) in [9000] reads(%a[i] : tensor<9000xf32>) writes([i] store : tensor<9000xf32>) attributes {lamina.op = "first"} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  %q = loop.generic (i) in [9001] reads(%b[i] : tensor<9001xf32>) writes([i] store : tensor<9001xf32>) attributes {lamina.op = "second"} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  func.return %p, %q : tensor<9000xf32>, tensor<9001xf32>
}
// CHECK-LABEL: @enough
// CHECK-COUNT-2: loop.kernel
// SAID: merge-small-kernels: first, second: not fused: together they cost 18001, and would run on several threads

// -----

// A large kernel between them needs the one and is needed by the other.
func.func @between(%a: tensor<8xf32>, %b: tensor<40960x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %p = loop.generic (i) in [8] reads(%a[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.op = "first"} {
  ^bb0(%x: f32):
    %v = math.exp %x : f32
    loop.yield %v : f32
  }
  %q = loop.generic (i, j) in [40960, 8] reads(%b[i, j] : tensor<40960x8xf32>, %p[j] : tensor<8xf32>) writes([i] add : tensor<40960xf32>) attributes {lamina.op = "large"} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    %w = math.exp %v : f32
    loop.yield %w : f32
  }
  %r = loop.generic (i) in [8] reads(%q[7 - i] : tensor<40960xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.op = "second"} {
  ^bb0(%x: f32):
    %v = math.exp %x : f32
    loop.yield %v : f32
  }
  func.return %p, %r : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: @between
// CHECK-COUNT-3: loop.kernel
