// RUN: lamina-opt %s -p 'roll-nests{least_elements=0}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p roll-nests --split-input-file | filecheck %s --check-prefix=SMALL
// RUN: not lamina-opt %s --split-input-file -p 'roll-nests{least_blocks=1}' 2>&1 | filecheck %s --check-prefix=LEAST

// LEAST: roll-nests: least_blocks = 1: 2 or more

// Blocks of few elements fuse with one another.
// SMALL-NOT: control.repeat

// A block begins at its product, so that the residual sum ends the one in front, and that of the last block its own. What is made of
// constants alone is prepared, and an operand of each step.
func.func @main(%x: tensor<4x4xf32> {lamina.kind = "input"}, %w0: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "w0"}, %w1: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "w1"}, %w2: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "w2"}) -> tensor<4x4xf32> {
  %s0 = loop.generic (i, j) in [4, 4] reads(%w0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %p0 = loop.generic (i, j, k) in [4, 4, 4] reads(%x[i, k] : tensor<4x4xf32>, %s0[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e0 = loop.generic (i, j) in [4, 4] reads(%p0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.absf %p : f32
    loop.yield %v : f32
  }
  %r0 = loop.generic (i, j) in [4, 4] reads(%e0[i, j] : tensor<4x4xf32>, %x[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %s1 = loop.generic (i, j) in [4, 4] reads(%w1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %p1 = loop.generic (i, j, k) in [4, 4, 4] reads(%r0[i, k] : tensor<4x4xf32>, %s1[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e1 = loop.generic (i, j) in [4, 4] reads(%p1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.absf %p : f32
    loop.yield %v : f32
  }
  %r1 = loop.generic (i, j) in [4, 4] reads(%e1[i, j] : tensor<4x4xf32>, %r0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %s2 = loop.generic (i, j) in [4, 4] reads(%w2[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %p2 = loop.generic (i, j, k) in [4, 4, 4] reads(%r1[i, k] : tensor<4x4xf32>, %s2[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e2 = loop.generic (i, j) in [4, 4] reads(%p2[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.absf %p : f32
    loop.yield %v : f32
  }
  %r2 = loop.generic (i, j) in [4, 4] reads(%e2[i, j] : tensor<4x4xf32>, %r1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r2 : tensor<4x4xf32>
}
// CHECK-LABEL: @main
// CHECK:         %s0 = loop.generic {{.*}} reads(%w0[
// CHECK:         %s1 = loop.generic {{.*}} reads(%w1[
// CHECK:         %s2 = loop.generic {{.*}} reads(%w2[
// CHECK-NOT:     loop.generic
// CHECK:         %r2 = control.repeat from(%x) each(%s0, %s1, %s2) : {{.*}} attributes {times = 3 : i64} do {
// CHECK-NEXT:    ^bb0([[X:%\S+]]: tensor<4x4xf32>, [[S:%\S+]]: tensor<4x4xf32>):
// CHECK-NEXT:      [[P:%\S+]] = loop.generic (d0, d1, d2) in [4, 4, 4] reads([[X]][d0, d2] : tensor<4x4xf32>, [[S]][d2, d1]
// CHECK:           [[E:%\S+]] = loop.generic (d0, d1) in [4, 4] reads([[P]][
// CHECK:             math.absf
// CHECK:           [[R:%\S+]] = loop.generic (d0, d1) in [4, 4] reads([[E]][d0, d1] : tensor<4x4xf32>, [[X]][
// CHECK:           control.yield [[R]] : tensor<4x4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %r2

// -----

// A bias that is spread over the image is made in each block, not prepared. What is read behind of single blocks is a result of each.
func.func @main(%x: tensor<4x4096xf32> {lamina.kind = "input"}, %w0: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "w0"}, %w1: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "w1"}, %w2: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "w2"}, %b0: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "b0"}, %b1: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "b1"}, %b2: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "b2"}) -> (tensor<4x4096xf32>, tensor<4x4096xf32>) {
  %p0 = loop.generic (i, j, k) in [4, 4096, 4] reads(%w0[i, k] : tensor<4x4xf32>, %x[k, j] : tensor<4x4096xf32>) writes([i, j] add : tensor<4x4096xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s0 = loop.generic (i, j) in [4, 4096] reads(%b0[i] : tensor<4xf32>) writes([i, j] store : tensor<4x4096xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r0 = loop.generic (i, j) in [4, 4096] reads(%p0[i, j] : tensor<4x4096xf32>, %s0[i, j] : tensor<4x4096xf32>) writes([i, j] store : tensor<4x4096xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %p1 = loop.generic (i, j, k) in [4, 4096, 4] reads(%w1[i, k] : tensor<4x4xf32>, %r0[k, j] : tensor<4x4096xf32>) writes([i, j] add : tensor<4x4096xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s1 = loop.generic (i, j) in [4, 4096] reads(%b1[i] : tensor<4xf32>) writes([i, j] store : tensor<4x4096xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r1 = loop.generic (i, j) in [4, 4096] reads(%p1[i, j] : tensor<4x4096xf32>, %s1[i, j] : tensor<4x4096xf32>) writes([i, j] store : tensor<4x4096xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %p2 = loop.generic (i, j, k) in [4, 4096, 4] reads(%w2[i, k] : tensor<4x4xf32>, %r1[k, j] : tensor<4x4096xf32>) writes([i, j] add : tensor<4x4096xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s2 = loop.generic (i, j) in [4, 4096] reads(%b2[i] : tensor<4xf32>) writes([i, j] store : tensor<4x4096xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r2 = loop.generic (i, j) in [4, 4096] reads(%p2[i, j] : tensor<4x4096xf32>, %s2[i, j] : tensor<4x4096xf32>) writes([i, j] store : tensor<4x4096xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i, j) in [4, 4096] reads(%p0[i, j] : tensor<4x4096xf32>, %p2[i, j] : tensor<4x4096xf32>) writes([i, j] store : tensor<4x4096xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r2, %t : tensor<4x4096xf32>, tensor<4x4096xf32>
}
// CHECK-LABEL: @main
// CHECK-NEXT:    %r2, %p0, %p1, %p2 = control.repeat from(%x) each(%w0, %b0, %w1, %b1, %w2, %b2) : {{.*}} attributes {times = 3 : i64} do {
// CHECK-NEXT:    ^bb0([[X:%\S+]]: tensor<4x4096xf32>, [[W:%\S+]]: tensor<4x4xf32>, [[B:%\S+]]: tensor<4xf32>):
// CHECK-NEXT:      [[P:%\S+]] = loop.generic (d0, d1, d2) in [4, 4096, 4] reads([[W]][
// CHECK:           [[S:%\S+]] = loop.generic (d0, d1) in [4, 4096] reads([[B]][d0]
// CHECK:           [[R:%\S+]] = loop.generic (d0, d1) in [4, 4096] reads([[P]][d0, d1] : tensor<4x4096xf32>, [[S]][
// CHECK:           control.yield [[R]], [[P]]
// CHECK:         loop.generic (d0, d1) in [4, 4096] reads(%p0[d0, d1] : tensor<4x4096xf32>, %p2[

// -----

// Two blocks are too few.
func.func @main(%x: tensor<4x4xf32> {lamina.kind = "input"}, %w: tensor<4x4xf32> {lamina.kind = "input"}) -> tensor<4x4xf32> {
  %p0 = loop.generic (i, j, k) in [4, 4, 4] reads(%x[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e0 = loop.generic (i, j) in [4, 4] reads(%p0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %p1 = loop.generic (i, j, k) in [4, 4, 4] reads(%e0[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e1 = loop.generic (i, j) in [4, 4] reads(%p1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %e1 : tensor<4x4xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     control.repeat

// -----

// Blocks whose bodies differ are not equal.
func.func @main(%x: tensor<4x4xf32> {lamina.kind = "input"}, %w: tensor<4x4xf32> {lamina.kind = "input"}) -> tensor<4x4xf32> {
  %p0 = loop.generic (i, j, k) in [4, 4, 4] reads(%x[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e0 = loop.generic (i, j) in [4, 4] reads(%p0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.tanh %p : f32
    loop.yield %v : f32
  }
  %p1 = loop.generic (i, j, k) in [4, 4, 4] reads(%e0[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e1 = loop.generic (i, j) in [4, 4] reads(%p1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %p2 = loop.generic (i, j, k) in [4, 4, 4] reads(%e1[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e2 = loop.generic (i, j) in [4, 4] reads(%p2[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %p3 = loop.generic (i, j, k) in [4, 4, 4] reads(%e2[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e3 = loop.generic (i, j) in [4, 4] reads(%p3[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.tanh %p : f32
    loop.yield %v : f32
  }
  func.return %e3 : tensor<4x4xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     control.repeat

// -----

// Blocks that read what was made two blocks before are no steps.
func.func @main(%x: tensor<4x4xf32> {lamina.kind = "input"}, %w: tensor<4x4xf32> {lamina.kind = "input"}) -> tensor<4x4xf32> {
  %p0 = loop.generic (i, j, k) in [4, 4, 4] reads(%x[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e0 = loop.generic (i, j) in [4, 4] reads(%p0[i, j] : tensor<4x4xf32>, %x[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %p1 = loop.generic (i, j, k) in [4, 4, 4] reads(%e0[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e1 = loop.generic (i, j) in [4, 4] reads(%p1[i, j] : tensor<4x4xf32>, %x[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %p2 = loop.generic (i, j, k) in [4, 4, 4] reads(%e1[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e2 = loop.generic (i, j) in [4, 4] reads(%p2[i, j] : tensor<4x4xf32>, %e0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %p3 = loop.generic (i, j, k) in [4, 4, 4] reads(%e2[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e3 = loop.generic (i, j) in [4, 4] reads(%p3[i, j] : tensor<4x4xf32>, %e1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %e3 : tensor<4x4xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     control.repeat

// -----

// Nothing is handed on.
func.func @main(%x: tensor<4x4xf32> {lamina.kind = "input"}, %w: tensor<4x4xf32> {lamina.kind = "input"}) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %p0 = loop.generic (i, j, k) in [4, 4, 4] reads(%x[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e0 = loop.generic (i, j) in [4, 4] reads(%p0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %p1 = loop.generic (i, j, k) in [4, 4, 4] reads(%x[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e1 = loop.generic (i, j) in [4, 4] reads(%p1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %p2 = loop.generic (i, j, k) in [4, 4, 4] reads(%x[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e2 = loop.generic (i, j) in [4, 4] reads(%p2[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %e0, %e1, %e2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     control.repeat

// -----

// Blocks without products fuse with one another.
func.func @main(%x: tensor<4x4xf32> {lamina.kind = "input"}, %w: tensor<4x4xf32> {lamina.kind = "input"}) -> tensor<4x4xf32> {
  %d0 = loop.generic (i, j) in [4, 4] reads(%x[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.absf %p : f32
    loop.yield %v : f32
  }
  %e0 = loop.generic (i, j) in [4, 4] reads(%d0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %d1 = loop.generic (i, j) in [4, 4] reads(%e0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.absf %p : f32
    loop.yield %v : f32
  }
  %e1 = loop.generic (i, j) in [4, 4] reads(%d1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %d2 = loop.generic (i, j) in [4, 4] reads(%e1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.absf %p : f32
    loop.yield %v : f32
  }
  %e2 = loop.generic (i, j) in [4, 4] reads(%d2[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %e2 : tensor<4x4xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     control.repeat

// -----

// A region of a control op is no program of its own.
func.func private @body(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {lamina.region} {
  %p0 = loop.generic (i, j, k) in [4, 4, 4] reads(%x[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e0 = loop.generic (i, j) in [4, 4] reads(%p0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %p1 = loop.generic (i, j, k) in [4, 4, 4] reads(%e0[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e1 = loop.generic (i, j) in [4, 4] reads(%p1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %p2 = loop.generic (i, j, k) in [4, 4, 4] reads(%e1[i, k] : tensor<4x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %e2 = loop.generic (i, j) in [4, 4] reads(%p2[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %e2 : tensor<4x4xf32>
}
// CHECK-LABEL: @body
// CHECK-NOT:     control.repeat

// -----

// Products of bf16 that were widened: a region widens what it is given and its weights itself, in whatever
// layout, so that their products are still seen to be of bf16. What both ends of a block read is widened once, where the region begins.
func.func @main(%x: tensor<4x4xbf16> {lamina.kind = "input"}, %w0: tensor<4x4xbf16> {lamina.kind = "parameter", lamina.name = "w0"}, %w1: tensor<4x4xbf16> {lamina.kind = "parameter", lamina.name = "w1"}, %w2: tensor<4x4xbf16> {lamina.kind = "parameter", lamina.name = "w2"}) -> tensor<4x4xbf16> {
  %a0 = loop.generic (i, j) in [4, 4] reads(%x[i, j] : tensor<4x4xbf16>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: bf16):
    %v = arith.extf %p : bf16 to f32
    loop.yield %v : f32
  }
  %b0 = loop.generic (i, j) in [4, 4] reads(%w0[i, j] : tensor<4x4xbf16>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: bf16):
    %v = arith.extf %p : bf16 to f32
    loop.yield %v : f32
  }
  %t0 = loop.generic (i, j) in [4, 4] reads(%b0[j, i] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %p0 = loop.generic (i, j, k) in [4, 4, 4] reads(%a0[i, k] : tensor<4x4xf32>, %t0[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r0 = loop.generic (i, j) in [4, 4] reads(%p0[i, j] : tensor<4x4xf32>, %a0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %x0 = loop.generic (i, j) in [4, 4] reads(%r0[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xbf16>) {
  ^bb0(%p: f32):
    %v = arith.truncf %p : f32 to bf16
    loop.yield %v : bf16
  }
  %a1 = loop.generic (i, j) in [4, 4] reads(%x0[i, j] : tensor<4x4xbf16>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: bf16):
    %v = arith.extf %p : bf16 to f32
    loop.yield %v : f32
  }
  %b1 = loop.generic (i, j) in [4, 4] reads(%w1[i, j] : tensor<4x4xbf16>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: bf16):
    %v = arith.extf %p : bf16 to f32
    loop.yield %v : f32
  }
  %t1 = loop.generic (i, j) in [4, 4] reads(%b1[j, i] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %p1 = loop.generic (i, j, k) in [4, 4, 4] reads(%a1[i, k] : tensor<4x4xf32>, %t1[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r1 = loop.generic (i, j) in [4, 4] reads(%p1[i, j] : tensor<4x4xf32>, %a1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %x1 = loop.generic (i, j) in [4, 4] reads(%r1[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xbf16>) {
  ^bb0(%p: f32):
    %v = arith.truncf %p : f32 to bf16
    loop.yield %v : bf16
  }
  %a2 = loop.generic (i, j) in [4, 4] reads(%x1[i, j] : tensor<4x4xbf16>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: bf16):
    %v = arith.extf %p : bf16 to f32
    loop.yield %v : f32
  }
  %b2 = loop.generic (i, j) in [4, 4] reads(%w2[i, j] : tensor<4x4xbf16>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: bf16):
    %v = arith.extf %p : bf16 to f32
    loop.yield %v : f32
  }
  %t2 = loop.generic (i, j) in [4, 4] reads(%b2[j, i] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %p2 = loop.generic (i, j, k) in [4, 4, 4] reads(%a2[i, k] : tensor<4x4xf32>, %t2[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r2 = loop.generic (i, j) in [4, 4] reads(%p2[i, j] : tensor<4x4xf32>, %a2[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %x2 = loop.generic (i, j) in [4, 4] reads(%r2[i, j] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xbf16>) {
  ^bb0(%p: f32):
    %v = arith.truncf %p : f32 to bf16
    loop.yield %v : bf16
  }
  func.return %x2 : tensor<4x4xbf16>
}
// CHECK-LABEL: func.func @main(%x: tensor<4x4xbf16>
// CHECK:         control.repeat from(%x) each(%w0, %w1, %w2) : (tensor<4x4xbf16>, tensor<4x4xbf16>, tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
// CHECK-NEXT:    ^bb0(%x_1: tensor<4x4xbf16>, %w0_1: tensor<4x4xbf16>):
// CHECK-NEXT:      loop.generic (d0, d1) in [4, 4] reads(%x_1[d0, d1] : tensor<4x4xbf16>)
// CHECK:           loop.generic (d0, d1) in [4, 4] reads(%w0_1[d0, d1] : tensor<4x4xbf16>)
// CHECK:           loop.generic (d0, d1) in [4, 4] reads(%b0[d1, d0] : tensor<4x4xf32>)
// CHECK:           loop.generic (d0, d1, d2) in [4, 4, 4]
// CHECK:         control.yield %x0 : tensor<4x4xbf16>
