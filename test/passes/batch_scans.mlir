// RUN: lamina-opt %s -p batch-scans --split-input-file | filecheck %s

// The product of what is walked is made for all steps in front of the scan, the product that only a
// stacked result needs behind it. The sum that the next step waits for stays, and so does the cheap
// square. Operands that no step reads any more go.
func.func @main(%h: tensor<f32>, %xs: tensor<5x4xf32>, %w: tensor<4xf32>) -> (tensor<f32>, tensor<5xf32>) {
  %r, %ys = control.scan from(%h) over(%xs) with(%w) : (tensor<f32>, tensor<5x4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<5xf32>) do {
  ^bb0(%a: tensor<f32>, %x: tensor<4xf32>, %v: tensor<4xf32>):
    %c, %y = func.call @step(%a, %x, %v) : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<f32>)
    control.yield %c, %y : tensor<f32>, tensor<f32>
  }
  func.return %r, %ys : tensor<f32>, tensor<5xf32>
}
func.func private @step(%a: tensor<f32>, %x: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) attributes {lamina.region} {
  %dot = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>, %v[i] : tensor<4xf32>) writes([] add : tensor<f32>) {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    loop.yield %m : f32
  }
  %square = loop.generic () in [] reads(%dot[] : tensor<f32>) writes([] store : tensor<f32>) {
  ^bb0(%p: f32):
    %m = arith.mulf %p, %p : f32
    loop.yield %m : f32
  }
  %next = loop.generic () in [] reads(%a[] : tensor<f32>, %square[] : tensor<f32>) writes([] store : tensor<f32>) {
  ^bb0(%p: f32, %q: f32):
    %m = arith.addf %p, %q : f32
    loop.yield %m : f32
  }
  %out = loop.generic (i) in [4] reads(%next[] : tensor<f32>, %v[i] : tensor<4xf32>) writes([] add : tensor<f32>) {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    loop.yield %m : f32
  }
  %neg = loop.generic () in [] reads(%out[] : tensor<f32>) writes([] store : tensor<f32>) {
  ^bb0(%p: f32):
    %m = arith.negf %p : f32
    loop.yield %m : f32
  }
  func.return %next, %neg : tensor<f32>, tensor<f32>
}
// CHECK:         func.func @main
// CHECK-NEXT:    %dot = loop.generic (d0, d1) in [5, 4] reads(%xs[d0, d1] : tensor<5x4xf32>, %w[d1] : tensor<4xf32>) writes([d0] add : tensor<5xf32>)
// CHECK:         [[R:%\S+]], [[N:%\S+]] = control.scan from(%h) over(%dot) : (tensor<f32>, tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) do {
// CHECK:         %out = loop.generic (d0, d1) in [5, 4] reads([[N]][d0] : tensor<5xf32>, %w[d1] : tensor<4xf32>) writes([d0] add : tensor<5xf32>)
// CHECK:         %neg = loop.generic (d0) in [5] reads(%out[d0] : tensor<5xf32>) writes([d0] store : tensor<5xf32>)
// CHECK:         func.return [[R]], %neg
// CHECK:         func.func private @step(%a: tensor<f32>, %dot: tensor<f32>) -> (tensor<f32>, tensor<f32>)
// CHECK-NEXT:      %square = loop.generic () in [] reads(%dot[]
// CHECK:           %next = loop.generic () in [] reads(%a[] : tensor<f32>, %square[]
// CHECK-NOT:       loop.generic
// CHECK:           func.return %next, %next : tensor<f32>, tensor<f32>

// -----

// A map is gone. Positions and indirect reads of what is walked have one more index in front; what
// is the same for all steps is computed once, and stacked where it is a result.
func.func @main(%xs: tensor<5x4xf32>, %i: tensor<2xi64>) -> (tensor<5x2xf32>, tensor<5x2xi64>, tensor<5x4xf32>) {
  %r, %s, %t = control.scan over(%xs) with(%i) : (tensor<5x4xf32>, tensor<2xi64>) -> (tensor<5x2xf32>, tensor<5x2xi64>, tensor<5x4xf32>) do {
  ^bb0(%x: tensor<4xf32>, %k: tensor<2xi64>):
    %a, %b, %c = func.call @step(%x, %k) : (tensor<4xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xi64>, tensor<4xf32>)
    control.yield %a, %b, %c : tensor<2xf32>, tensor<2xi64>, tensor<4xf32>
  }
  func.return %r, %s, %t : tensor<5x2xf32>, tensor<5x2xi64>, tensor<5x4xf32>
}
func.func private @step(%x: tensor<4xf32>, %k: tensor<2xi64>) -> (tensor<2xf32>, tensor<2xi64>, tensor<4xf32>) attributes {lamina.region} {
  %twice = loop.generic (i) in [2] reads(%k[i] : tensor<2xi64>) writes([i] store : tensor<2xi64>) {
  ^bb0(%p: i64):
    %m = arith.addi %p, %p : i64
    loop.yield %m : i64
  }
  %read = loop.generic (i) in [2] reads(%twice[i] : tensor<2xi64>) sources(%x : tensor<4xf32>) writes([i] store : tensor<2xf32>) {
  ^bb0(%p: i64, %table: tensor<4xf32>):
    %at = loop.index 0 : index
    %here = arith.index_cast %p : i64 to index
    %sum = arith.addi %at, %here : index
    %m = loop.read %table[%sum] : tensor<4xf32>
    loop.yield %m : f32
  }
  func.return %read, %twice, %x : tensor<2xf32>, tensor<2xi64>, tensor<4xf32>
}
// CHECK:         func.func @main
// CHECK-NEXT:    %twice = loop.generic (d0) in [2] reads(%i[d0] : tensor<2xi64>)
// CHECK:         %read = loop.generic (d0, d1) in [5, 2] reads(%twice[d1] : tensor<2xi64>) sources(%xs : tensor<5x4xf32>) writes([d0, d1] store : tensor<5x2xf32>) {
// CHECK-NEXT:    ^bb0([[P:%\S+]]: i64, [[T:%\S+]]: tensor<5x4xf32>):
// CHECK-NEXT:      [[L:%\S+]] = loop.index 0 : index
// CHECK-NEXT:      [[I:%\S+]] = loop.index 1 : index
// CHECK-NEXT:      [[H:%\S+]] = arith.index_cast [[P]]
// CHECK-NEXT:      [[S:%\S+]] = arith.addi [[I]], [[H]] : index
// CHECK-NEXT:      loop.read [[T]]{{.}}[[L]], [[S]]{{.}} : tensor<5x4xf32>
// CHECK:         [[B:%\S+]] = loop.generic (d0, d1) in [5, 2] reads(%twice[d1] : tensor<2xi64>) writes([d0, d1] store : tensor<5x2xi64>)
// CHECK-NOT:     control.scan
// CHECK:         func.return %read, [[B]], %xs
// CHECK-NOT:     @step

// -----

// Without steps nothing moves: an indirect read might fail that no step would do.
func.func @main(%xs: tensor<0x4xf32>) -> tensor<0xf32> {
  %r = control.scan over(%xs) : (tensor<0x4xf32>) -> tensor<0xf32> do {
  ^bb0(%x: tensor<4xf32>):
    %a = func.call @step(%x) : (tensor<4xf32>) -> tensor<f32>
    control.yield %a : tensor<f32>
  }
  func.return %r : tensor<0xf32>
}
func.func private @step(%x: tensor<4xf32>) -> tensor<f32> attributes {lamina.region} {
  %s = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>) writes([] add : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s : tensor<f32>
}
// CHECK:         control.scan over(%xs)
// CHECK:         func.func private @step
