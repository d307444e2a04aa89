// RUN: lamina-opt %s -p note-least-extents --split-input-file | filecheck %s
// RUN: lamina-opt %s -p note-least-extents,note-least-extents --split-input-file | filecheck %s

// Rows that results are cut to may be one; columns are all needed. Heads in front of positions are another digit.
// CHECK-LABEL: @rows
// CHECK:         lamina.op = "product", lamina.least_extents = array<i64: 1, 8, 8>
// CHECK:         lamina.op = "heads", lamina.least_extents = array<i64: 2, 1, 4>
// CHECK:         lamina.op = "joined", lamina.least_extents = array<i64: 4, 4>
func.func @rows(%x: tensor<128x8xf32>, %w: tensor<8x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<128x8xf32> {lamina.sizes = [0, -1]}, tensor<4x128x4xf32> {lamina.sizes = [-1, 0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = loop.generic (i, j, k) in [128, 8, 8] reads(%x[i, k] : tensor<128x8xf32>, %w[k, j] : tensor<8x8xf32>) writes([i, j] add : tensor<128x8xf32>) attributes {lamina.op = "product"} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %1 = loop.reshape %0 : tensor<128x8xf32> -> tensor<128x2x4xf32>
  %2 = loop.generic (h, i, j) in [2, 128, 4] reads(%1[i, h, j] : tensor<128x2x4xf32>) writes([i, h * 4 + j] store : tensor<128x8xf32>) attributes {lamina.op = "heads"} {
  ^bb0(%a: f32):
    %c = arith.negf %a : f32
    loop.yield %c : f32
  }
  %3 = loop.generic (i, j) in [512, 4] reads(%x[i floordiv 4, j] : tensor<128x8xf32>) writes([i, j] store : tensor<512x4xf32>) attributes {lamina.op = "joined"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %4 = loop.reshape %3 : tensor<512x4xf32> -> tensor<4x128x4xf32>
  func.return %2, %4, %n : tensor<128x8xf32>, tensor<4x128x4xf32>, tensor<i64>
}

// -----

// A size may be known to be more: so many rows of windows are needed, and of the image so many as these reach.
// CHECK-LABEL: @windows
// CHECK:         lamina.op = "made", lamina.least_extents = array<i64: 18>
// CHECK:         lamina.op = "windows", lamina.least_extents = array<i64: 16, 3>
func.func @windows(%x: tensor<66xf32>, %n: tensor<i64> {lamina.kind = "input", lamina.least = 16 : i64}) -> (tensor<64xf32> {lamina.sizes = [0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = loop.generic (i) in [66] reads(%x[i] : tensor<66xf32>) writes([i] store : tensor<66xf32>) attributes {lamina.op = "made"} {
  ^bb0(%a: f32):
    %c = arith.negf %a : f32
    loop.yield %c : f32
  }
  %1 = loop.generic (i, j) in [64, 3] reads(%0[i + j] : tensor<66xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.op = "windows"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %1, %n : tensor<64xf32>, tensor<i64>
}

// -----

// What something else needs whole is needed whole; what is noted already stays.
// CHECK-LABEL: @whole
// CHECK:         attributes {lamina.op = "made"} {
// CHECK:         attributes {lamina.op = "said", lamina.least_extents = array<i64: 5>} {
func.func @whole(%x: tensor<64xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64xf32> {lamina.sizes = [0]}, tensor<64xf32>, tensor<i64> {lamina.kind = "size"}) {
  %0 = loop.generic (i) in [64] reads(%x[i] : tensor<64xf32>) writes([i] store : tensor<64xf32>) attributes {lamina.op = "made"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %1 = loop.generic (i) in [64] reads(%0[i] : tensor<64xf32>) writes([i] store : tensor<64xf32>) attributes {lamina.op = "said", lamina.least_extents = array<i64: 5>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %1, %0, %n : tensor<64xf32>, tensor<64xf32>, tensor<i64>
}

// -----

// A program of known sizes has nothing to note.
// CHECK-LABEL: @known
// CHECK-NOT:     lamina.least_extents
func.func @known(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = loop.generic (i) in [64] reads(%x[i] : tensor<64xf32>) writes([i] store : tensor<64xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<64xf32>
}

// -----

// Lines that are made in pairs, as Winograd's tiles are: as many pairs as the lines that count reach, and of what these read
// in windows the lines up to the last.
// CHECK-LABEL: @pairs
// CHECK:         loop.generic (d0, d1) in [64, 8] {{.*}}lamina.least_extents = array<i64: 7, 8>
// CHECK:         loop.generic (d0, d1) in [31, 8] {{.*}}lamina.least_extents = array<i64: 3, 8>
// CHECK:         loop.generic (d0, d1, d2) in [31, 2, 8] {{.*}}lamina.least_extents = array<i64: 3, 2, 8>
func.func @pairs(%x: tensor<64x8xf32>, %n: tensor<i64> {lamina.kind = "input", lamina.least = 5 : i64}) -> (tensor<62x8xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = loop.generic (i, j) in [64, 8] reads(%x[i, j] : tensor<64x8xf32>) writes([i, j] store : tensor<64x8xf32>) {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    loop.yield %b : f32
  }
  %1 = loop.generic (p, j) in [31, 8] reads(%0[p * 2, j] : tensor<64x8xf32>, %0[p * 2 + 2, j] : tensor<64x8xf32>) writes([p, j] store : tensor<31x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    loop.yield %c : f32
  }
  %2 = loop.generic (p, q, j) in [31, 2, 8] reads(%1[p, j] : tensor<31x8xf32>) writes([p * 2 + q, j] store : tensor<62x8xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %2, %n : tensor<62x8xf32>, tensor<i64>
}

// -----

// Each step of a repeat hands on the rows that the next one needs, and its function notes them.
// CHECK-LABEL: func.func @layers(
// CHECK:         lamina.op = "before", lamina.least_extents = array<i64: 1, 8>
// CHECK-LABEL: func.func private @layer(
// CHECK:         lamina.op = "product", lamina.least_extents = array<i64: 1, 8, 8>
func.func @layers(%x: tensor<128x8xf32>, %v: tensor<8x8xf32>, %w: tensor<8x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<128x8xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = loop.generic (i, j) in [128, 8] reads(%x[i, j] : tensor<128x8xf32>) writes([i, j] store : tensor<128x8xf32>) attributes {lamina.op = "before"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %1 = control.repeat from(%0) each(%v, %w) : (tensor<128x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<128x8xf32>) attributes {times = 2 : i64} do {
  ^bb0(%y: tensor<128x8xf32>, %u: tensor<8x8xf32>):
    %2 = func.call @layer(%y, %u) : (tensor<128x8xf32>, tensor<8x8xf32>) -> tensor<128x8xf32>
    control.yield %2 : tensor<128x8xf32>
  }
  func.return %1, %n : tensor<128x8xf32>, tensor<i64>
}
func.func private @layer(%y: tensor<128x8xf32>, %u: tensor<8x8xf32>) -> tensor<128x8xf32> attributes {lamina.region} {
  %0 = loop.generic (i, j, k) in [128, 8, 8] reads(%y[i, k] : tensor<128x8xf32>, %u[k, j] : tensor<8x8xf32>) writes([i, j] add : tensor<128x8xf32>) attributes {lamina.op = "product"} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<128x8xf32>
}

// -----

// The next step adds up all rows, so that each step needs all, though the last ones are cut.
// CHECK-LABEL: @summed
// CHECK:         attributes {lamina.op = "rows"} {
// CHECK:         lamina.op = "last", lamina.least_extents = array<i64: 1>
func.func @summed(%x: tensor<64xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64xf32> {lamina.sizes = [0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = control.repeat from(%x) : (tensor<64xf32>) -> (tensor<64xf32>) attributes {times = 3 : i64} do {
  ^bb0(%y: tensor<64xf32>):
    %1 = loop.generic (i) in [64] reads(%y[i] : tensor<64xf32>) writes([] add : tensor<f32>) attributes {lamina.op = "sum"} {
    ^bb0(%a: f32):
      loop.yield %a : f32
    }
    %2 = loop.generic (i) in [64] reads(%y[i] : tensor<64xf32>, %1[] : tensor<f32>) writes([i] store : tensor<64xf32>) attributes {lamina.op = "rows"} {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      loop.yield %c : f32
    }
    control.yield %2 : tensor<64xf32>
  }
  %3 = loop.generic (i) in [64] reads(%0[i] : tensor<64xf32>) writes([i] store : tensor<64xf32>) attributes {lamina.op = "last"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %3, %n : tensor<64xf32>, tensor<i64>
}
