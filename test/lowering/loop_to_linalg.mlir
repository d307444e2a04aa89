// RUN: lamina-opt %s -p convert-loop-to-linalg --split-input-file --verify-diagnostics | filecheck %s

// A contraction begins at what its combiner ignores; attributes of Lamina's go.
func.func @main(%a: tensor<4x5xf32> {lamina.name = "a"}, %b: tensor<5x3xf32>) -> tensor<4x3xf32> {
  %0 = loop.generic (d0, d1, d2) in [4, 3, 5] reads(%a[d0, d2] : tensor<4x5xf32>, %b[d2, d1] : tensor<5x3xf32>) writes([d0, d1] add : tensor<4x3xf32>) attributes {lamina.op = "prims.contract"} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %0 : tensor<4x3xf32>
}
// CHECK-LABEL: func.func @main(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[F:.*]] = linalg.fill ins(%{{.*}} : f32)
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %[[OLD:.*]]: f32):
// CHECK-NEXT: %[[P:.*]] = arith.mulf
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[OLD]], %[[P]] : f32
// CHECK-NEXT: linalg.yield %[[S]] : f32
// CHECK-NOT: lamina

// -----

// What a map reads outside is padded, what it leaves is cut, an index that is a sum needs a window.
func.func @main(%x: tensor<9xf32>) -> tensor<4xf32> {
  %0 = loop.generic (d0, d1) in [4, 3] reads(%x[d0 * 2 + d1 - 1] pad 0.5 : f32 : tensor<9xf32>) writes([d0] max : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  %1 = loop.generic (d0) in [4] reads(%x[d0] : tensor<9xf32>, %0[d0] : tensor<4xf32>) writes([d0] store : tensor<4xf32>) {
  ^bb0(%v: f32, %w: f32):
    %s = arith.addf %v, %w : f32
    loop.yield %s : f32
  }
  func.return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: tensor.pad %x low[1] high[0]
// CHECK: tensor.yield
// CHECK: : tensor<9xf32> to tensor<10xf32>
// CHECK: %[[W:.*]] = tensor.empty() : tensor<3xf32>
// CHECK: affine_map<(d0, d1) -> (((d0 * 2) + d1))>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>
// CHECK: arith.maximumf
// CHECK: tensor.extract_slice %x[0] [4] [1] : tensor<9xf32> to tensor<4xf32>

// -----

// An indirect read is an extract in the body, a reshape collapses and expands, bytes are signless.
func.func @main(%t: tensor<6x4xui8>, %i: tensor<5xi64>) -> tensor<2x10xui8> {
  %0 = loop.generic (d0, d1) in [5, 4] reads(%i[d0] : tensor<5xi64>) sources(%t : tensor<6x4xui8>) writes([d0, d1] store : tensor<5x4xui8>) {
  ^bb0(%n: i64, %s: tensor<6x4xui8>):
    %p = arith.index_cast %n : i64 to index
    %q = loop.index 1 : index
    %v = loop.read %s[%p, %q] : tensor<6x4xui8>
    loop.yield %v : ui8
  }
  %1 = loop.reshape %0 : tensor<5x4xui8> -> tensor<2x10xui8>
  func.return %1 : tensor<2x10xui8>
}
// CHECK-LABEL: func.func @main(%t: tensor<6x4xi8>, %i: tensor<5xi64>) -> tensor<2x10xi8>
// CHECK: tensor.extract %t[%{{.*}}, %{{.*}}] : tensor<6x4xi8>
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0 : i64, 1 : i64{{\]\]}} : tensor<5x4xi8> into tensor<20xi8>
// CHECK: tensor.expand_shape %{{.*}} output_shape [2, 10] : tensor<20xi8> into tensor<2x10xi8>

// -----

// Several values are combined in the body.
func.func @main(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %v, %i = loop.generic (d0, d1) in [4, 8] reads(%x[d0, d1] : tensor<4x8xf32>) writes([d0] combine : tensor<4xf32>, [d0] combine : tensor<4xi64>) {
  ^bb0(%e: f32):
    %p = loop.index 1 : index
    %q = arith.index_cast %p : index to i64
    loop.yield %e, %q : f32, i64
  } combine(0xFF800000 : f32, 9223372036854775807 : i64) {
  ^bb0(%a: f32, %m: i64, %b: f32, %n: i64):
    %c = arith.cmpf ogt, %a, %b : f32
    %s = arith.select %c, %a, %b : f32
    %t = arith.select %c, %m, %n : i64
    loop.yield %s, %t : f32, i64
  }
  func.return %v, %i : tensor<4xf32>, tensor<4xi64>
}
// CHECK-LABEL: func.func @main
// CHECK: linalg.fill
// CHECK: linalg.fill
// CHECK: ^bb0(%{{.*}}: f32, %[[A:.*]]: f32, %[[M:.*]]: i64):
// CHECK: arith.cmpf ogt, %[[A]], %{{.*}} : f32
// CHECK: arith.select %{{.*}}, %[[M]], %{{.*}} : i64

// -----

// CHECK: loop.scan: linalg has no op whose points depend on one another
// CHECK: operand types: tensor<4xf32>
// CHECK: at: {{.*}}:95:3
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loop.scan (d0) in [4] along 0 reads(%x[d0] : tensor<4xf32>) carries(0.0 : f32) gives(tensor<4xf32>) {
  ^bb0(%v: f32, %s: f32):
    %n = arith.addf %s, %v : f32
    loop.yield %n, %n : f32, f32
  }
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK: loop.special: "digamma" is no function of arith or math (loop.generic)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xf32>) writes([d0] store : tensor<4xf32>) {
  ^bb0(%v: f32):
    %n = loop.special "digamma"(%v) : f32
    loop.yield %n : f32
  }
  func.return %0 : tensor<4xf32>
}

// -----

// Steps of a repeat are written out, also where its region is a function by now.
func.func @main(%x: tensor<4xf32>, %v: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %r = control.repeat from(%x) each(%v, %w) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {times = 2 : i64} do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = func.call @step(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func private @step(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.region} {
  %t = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>, %b[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    loop.yield %m : f32
  }
  func.return %t : tensor<4xf32>
}
// CHECK:         func.func @main
// CHECK:         linalg.generic {{.*}} ins(%x, %v
// CHECK:         linalg.generic {{.*}}, %w
// CHECK-NOT:     func.func private
