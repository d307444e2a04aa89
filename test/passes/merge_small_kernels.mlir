// RUN: lamina-opt %s -p 'fuse-kernels{target="x86-64-v3"},merge-small-kernels{target="x86-64-v3"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'fuse-kernels{target="x86-64-v3"},merge-small-kernels{target="x86-64-v3" print-decisions=true}' --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=SAID

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
// CHECK:         lamina.op = "first", lamina.nest = #loop.nest<rows = []>
// CHECK:         lamina.op = "second", lamina.nest = #loop.nest<rows = []>
// CHECK:         lamina.op = "third", lamina.nest = #loop.nest<rows = []>
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
func.func @enough(%a: tensor<4000xf32>, %b: tensor<4001xf32>) -> (tensor<4000xf32>, tensor<4001xf32>) {
  %p = loop.generic (i) in [4000] reads(%a[i] : tensor<4000xf32>) writes([i] store : tensor<4000xf32>) attributes {lamina.op = "first"} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  %q = loop.generic (i) in [4001] reads(%b[i] : tensor<4001xf32>) writes([i] store : tensor<4001xf32>) attributes {lamina.op = "second"} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  func.return %p, %q : tensor<4000xf32>, tensor<4001xf32>
}
// CHECK-LABEL: @enough
// CHECK:         loop.kernel
// CHECK:         loop.kernel
// CHECK-SAME:      lamina.not_fused = ["first, second: several threads pay: running both on one thread
// SAID: merge-small-kernels: first, second: not fused: several threads pay: running both on one thread takes 0.{{[0-9]+}} us, a call of its own 0.20 us

// -----

// A program may want them as one all the same.
func.func @forced(%a: tensor<4000xf32>, %b: tensor<4001xf32>) -> (tensor<4000xf32>, tensor<4001xf32>) {
  %p = loop.generic (i) in [4000] reads(%a[i] : tensor<4000xf32>) writes([i] store : tensor<4000xf32>) attributes {lamina.op = "first", lamina.fuse = "always"} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  %q = loop.generic (i) in [4001] reads(%b[i] : tensor<4001xf32>) writes([i] store : tensor<4001xf32>) attributes {lamina.op = "second"} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  func.return %p, %q : tensor<4000xf32>, tensor<4001xf32>
}
// CHECK-LABEL: @forced
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
// SAID: merge-small-kernels: first, second: fused: lamina.fuse = "always"

// -----

// Or never.
func.func @apart(%a: tensor<10xf32>, %b: tensor<11xf32>) -> (tensor<10xf32>, tensor<11xf32>) {
  %p = loop.generic (i) in [10] reads(%a[i] : tensor<10xf32>) writes([i] store : tensor<10xf32>) attributes {lamina.op = "first", lamina.fuse = "never"} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  %q = loop.generic (i) in [11] reads(%b[i] : tensor<11xf32>) writes([i] store : tensor<11xf32>) attributes {lamina.op = "second"} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  func.return %p, %q : tensor<10xf32>, tensor<11xf32>
}
// CHECK-LABEL: @apart
// CHECK-COUNT-2: loop.kernel
// SAID: merge-small-kernels: first, second: not fused: lamina.fuse = "never"

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
