// RUN: lamina-opt %s -p hoist-invariants --split-input-file | filecheck %s

// A transposed copy of what stays the same is made once, in front of the loop. What depends on the
// carried value stays, and so do a nest that grows its operand and an indirect read.
func.func @main(%x: tensor<4xf32>, %w: tensor<4x4xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %r = control.while from(%x) with(%w, %i) : (tensor<4xf32>, tensor<4x4xf32>, tensor<4xi64>) -> tensor<4xf32> test {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4x4xf32>, %k: tensor<4xi64>):
    %t = func.call @test(%a, %b, %k) : (tensor<4xf32>, tensor<4x4xf32>, tensor<4xi64>) -> tensor<i1>
    control.yield %t : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4x4xf32>, %k: tensor<4xi64>):
    %s = func.call @body(%a, %b, %k) : (tensor<4xf32>, tensor<4x4xf32>, tensor<4xi64>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func private @test(%a: tensor<4xf32>, %b: tensor<4x4xf32>, %k: tensor<4xi64>) -> tensor<i1> attributes {lamina.region} {
  %t = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>) writes([] and : tensor<i1>) {
  ^bb0(%p: f32):
    %m = arith.cmpf olt, %p, %p : f32
    loop.yield %m : i1
  }
  func.return %t : tensor<i1>
}
func.func private @body(%a: tensor<4xf32>, %b: tensor<4x4xf32>, %k: tensor<4xi64>) -> tensor<4xf32> attributes {lamina.region} {
  %turned = loop.generic (i, j) in [4, 4] reads(%b[j, i] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %looked = loop.generic (i) in [4] reads(%k[i] : tensor<4xi64>) sources(%b : tensor<4x4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: i64, %table: tensor<4x4xf32>):
    %at = arith.index_cast %p : i64 to index
    %m = loop.read %table[%at, %at] : tensor<4x4xf32>
    loop.yield %m : f32
  }
  %wide = loop.generic (i, j) in [4, 4] reads(%k[i] : tensor<4xi64>) writes([i, j] store : tensor<4x4xi64>) {
  ^bb0(%p: i64):
    loop.yield %p : i64
  }
  %s = loop.generic (i, j) in [4, 4] reads(%a[j] : tensor<4xf32>, %turned[i, j] : tensor<4x4xf32>, %looked[i] : tensor<4xf32>, %wide[i, j] : tensor<4x4xi64>) writes([i] add : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %u: f32, %v: i64):
    %m = arith.mulf %p, %q : f32
    loop.yield %m : f32
  }
  func.return %s : tensor<4xf32>
}
// CHECK:         func.func @main
// CHECK-NEXT:    %turned = loop.generic (d0, d1) in [4, 4] reads(%w[d1, d0]
// CHECK-NOT:     loop.generic
// CHECK:         control.while from(%x) with(%w, %i, %turned)
// CHECK:         func.func private @body(%a: tensor<4xf32>, %b: tensor<4x4xf32>, %k: tensor<4xi64>, %turned: tensor<4x4xf32>)
// CHECK-NEXT:      %looked = loop.generic
// CHECK:           %wide = loop.generic
// CHECK:           %s = loop.generic (d0, d1) in [4, 4] reads(%a[d1] : tensor<4xf32>, %turned[d0, d1]

// -----

// A branch hands up what depends on constants only.
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>, %w: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<4xf32> {
  %r = control.cond if(%p) with(%x, %w) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %t = func.call @then(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %t : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = func.call @else(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func private @then(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.region} {
  %t = loop.generic (i) in [4] reads(%b[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%q: f32):
    %m = math.exp %q : f32
    loop.yield %m : f32
  }
  func.return %t : tensor<4xf32>
}
func.func private @else(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.region} {
  %t = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%q: f32):
    %m = math.exp %q : f32
    loop.yield %m : f32
  }
  func.return %t : tensor<4xf32>
}
// CHECK:         func.func @main
// CHECK-NEXT:    %t = loop.generic (d0) in [4] reads(%w[d0]
// CHECK-NOT:     loop.generic
// CHECK:         control.cond if(%p) with(%x, %t)
// CHECK:         func.func private @then(%a: tensor<4xf32>, %t: tensor<4xf32>)
// CHECK-NEXT:      func.return %t
// CHECK:         func.func private @else(%a: tensor<4xf32>, {{%\S+}}: tensor<4xf32>)
// CHECK-NEXT:      loop.generic (d0) in [4] reads(%a[d0]

// -----

// Of a repeat, what each step makes of constants of its own is made in front, for each; the constants are no operands then.
func.func @main(%x: tensor<4xf32>, %v: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "v"}, %w: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<4xf32> {
  %r = control.repeat from(%x) each(%v, %w) with(%v) : (tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32> attributes {times = 2 : i64} do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>):
    %s = func.call @do(%a, %b, %c) : (tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func private @do(%a: tensor<4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4xf32> attributes {lamina.region} {
  %turned = loop.generic (i, j) in [4, 4] reads(%b[j, i] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %same = loop.generic (i, j) in [4, 4] reads(%c[j, i] : tensor<4x4xf32>) writes([i, j] store : tensor<4x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %s = loop.generic (i, j) in [4, 4] reads(%a[j] : tensor<4xf32>, %turned[i, j] : tensor<4x4xf32>, %same[i, j] : tensor<4x4xf32>) writes([i] add : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %u: f32):
    %m = arith.mulf %p, %q : f32
    %n = arith.mulf %m, %u : f32
    loop.yield %n : f32
  }
  func.return %s : tensor<4xf32>
}
// CHECK:         func.func @main
// CHECK-NEXT:    [[V:%\S+]] = loop.generic (d0, d1) in [4, 4] reads(%v[d1, d0]
// CHECK:         [[W:%\S+]] = loop.generic (d0, d1) in [4, 4] reads(%w[d1, d0]
// CHECK:         [[S:%\S+]] = loop.generic (d0, d1) in [4, 4] reads(%v[d1, d0]
// CHECK-NOT:     loop.generic
// CHECK:         control.repeat from(%x) each([[V]], [[W]]) with([[S]])
// CHECK:         func.func private @do(%a: tensor<4xf32>, %turned: tensor<4x4xf32>, %same: tensor<4x4xf32>)
// CHECK-NEXT:      %s = loop.generic

// -----

// Panels of a product that are filled up are packed in front of the loop; a pad that makes three elements of one stays.
func.func @main(%x: tensor<4xf32>, %w: tensor<4x6xf32>) -> tensor<4xf32> {
  %r = control.while from(%x) with(%w) : (tensor<4xf32>, tensor<4x6xf32>) -> tensor<4xf32> test {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4x6xf32>):
    %t = func.call @test(%a, %b) : (tensor<4xf32>, tensor<4x6xf32>) -> tensor<i1>
    control.yield %t : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4x6xf32>):
    %s = func.call @body(%a, %b) : (tensor<4xf32>, tensor<4x6xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func private @test(%a: tensor<4xf32>, %b: tensor<4x6xf32>) -> tensor<i1> attributes {lamina.region} {
  %t = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>) writes([] and : tensor<i1>) {
  ^bb0(%p: f32):
    %m = arith.cmpf olt, %p, %p : f32
    loop.yield %m : i1
  }
  func.return %t : tensor<i1>
}
func.func private @body(%a: tensor<4xf32>, %b: tensor<4x6xf32>) -> tensor<4xf32> attributes {lamina.region} {
  %panels = loop.generic (n, k, c) in [2, 4, 4] reads(%b[k, n * 4 + c] pad 0.0 : f32 : tensor<4x6xf32>) writes([n, k, c] store : tensor<2x4x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %wide = loop.generic (i, j) in [4, 18] reads(%b[i, j - 6] pad 0.0 : f32 : tensor<4x6xf32>) writes([i, j] store : tensor<4x18xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %s = loop.generic (k, n, c) in [4, 2, 4] reads(%a[k] : tensor<4xf32>, %panels[n, k, c] : tensor<2x4x4xf32>, %wide[k, n + c] : tensor<4x18xf32>) writes([k] add : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %z: f32):
    %m = arith.mulf %p, %q : f32
    %y = arith.addf %m, %z : f32
    loop.yield %y : f32
  }
  func.return %s : tensor<4xf32>
}
// CHECK:         func.func @main
// CHECK:           loop.generic (d0, d1, d2) in [2, 4, 4]
// CHECK:           control.while
// CHECK:         func.func private @body
// CHECK-NOT:       in [2, 4, 4]
// CHECK:           loop.generic (d0, d1) in [4, 18]
