// RUN: lamina-opt %s -p apply-layouts --split-input-file | filecheck %s

// Readers' index maps are composed with the order, and domains follow memory: window, then channels.
func.func @readers(%x: tensor<8x6x6xf32>, %w: tensor<4x8x3x3xf32>) -> tensor<4xf32> {
  %e = loop.generic (c, y, x) in [8, 6, 6] reads(%x[c, y, x] : tensor<8x6x6xf32>) writes([c, y, x] store : tensor<8x6x6xf32>) attributes {lamina.layout = array<i64: 1, 2, 0>} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %r = loop.generic (o, y, x, c, j, i) in [4, 4, 4, 8, 3, 3] reads(%e[c, y + j, x + i] : tensor<8x6x6xf32>, %w[o, c, j, i] : tensor<4x8x3x3xf32>) writes([o, y, x] add : tensor<4x4x4xf32>) attributes {lamina.layout = array<i64: 1, 2, 0>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %s = loop.generic (o, y, x) in [4, 4, 4] reads(%r[o, y, x] : tensor<4x4x4xf32>) writes([o] add : tensor<4xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %s : tensor<4xf32>
}
// CHECK-LABEL: @readers
// CHECK-NEXT:    [[E:%\S+]] = loop.generic (d0, d1, d2) in [6, 6, 8] reads(%x[d2, d0, d1] : tensor<8x6x6xf32>) writes([d0, d1, d2] store : tensor<6x6x8xf32>)
// CHECK:         [[R:%\S+]] = loop.generic (d0, d1, d2, d3, d4, d5) in [4, 4, 4, 3, 3, 8] reads([[E]][d0 + d3, d1 + d4, d5] : tensor<6x6x8xf32>, %w[d2, d5, d3, d4] : tensor<4x8x3x3xf32>) writes([d0, d1, d2] add : tensor<4x4x4xf32>)
// CHECK:         loop.generic {{.*}} reads([[R]][d1, d2, d0] : tensor<4x4x4xf32>) writes([d0] add : tensor<4xf32>)

// -----

// What leaves the program is copied back; where only an axis of one element moves, it is a reshape.
func.func @ends(%x: tensor<2x3xf32>, %y: tensor<3x1xf32>) -> (tensor<2x3xf32>, tensor<3x1xf32>) {
  %e = loop.generic (i, j) in [2, 3] reads(%x[i, j] : tensor<2x3xf32>) writes([i, j] store : tensor<2x3xf32>) attributes {lamina.layout = array<i64: 1, 0>} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %f = loop.generic (i, j) in [3, 1] reads(%y[i, j] : tensor<3x1xf32>) writes([i, j] store : tensor<3x1xf32>) attributes {lamina.layout = array<i64: 1, 0>} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  func.return %e, %f : tensor<2x3xf32>, tensor<3x1xf32>
}
// CHECK-LABEL: @ends
// CHECK:         [[E:%\S+]] = loop.generic (d0, d1) in [3, 2] reads(%x[d1, d0] : tensor<2x3xf32>) writes([d0, d1] store : tensor<3x2xf32>)
// CHECK:         [[C:%\S+]] = loop.generic (d0, d1) in [2, 3] reads([[E]][d1, d0] : tensor<3x2xf32>)
// CHECK:         [[F:%\S+]] = loop.generic {{.*}} writes([d0, d1] store : tensor<1x3xf32>)
// CHECK:         [[G:%\S+]] = loop.reshape [[F]] : tensor<1x3xf32>
// CHECK:         func.return [[C]], [[G]]

// -----

// Bodies keep seeing the positions that they saw.
func.func @positions(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = loop.generic (i, j) in [2, 3] reads(%x[i, j] : tensor<2x3xf32>) writes([i, j] store : tensor<2x3xf32>) attributes {lamina.layout = array<i64: 1, 0>} {
  ^bb0(%a: f32):
    %p = loop.index 1 : index
    %q = arith.index_cast %p : index to i64
    %v = arith.sitofp %q : i64 to f32
    loop.yield %v : f32
  }
  func.return %e : tensor<2x3xf32>
}
// CHECK-LABEL: @positions
// CHECK:         loop.index 0 : index

// -----

// A product that is to be copied does not write the copy itself.
func.func @copied(%x: tensor<8x6xf32>, %w: tensor<4x8xf32>) -> tensor<4x6xf32> {
  %r = loop.generic (o, y, c) in [4, 6, 8] reads(%x[c, y] : tensor<8x6xf32>, %w[o, c] : tensor<4x8xf32>) writes([o, y] add : tensor<4x6xf32>) attributes {lamina.layout = array<i64: 1, 0>, lamina.layout_copy} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x6xf32>
}
// CHECK-LABEL: @copied
// CHECK:         [[R:%\S+]] = loop.generic {{.*}} writes([d0, d1] add : tensor<6x4xf32>)
// CHECK-NOT:     lamina.layout_copy
// CHECK:         reads([[R]][d1, d0] : tensor<6x4xf32>) writes([d0, d1] store : tensor<4x6xf32>) attributes {lamina.op = "layout", lamina.materialized}

// -----

// One of which it is not said may: `fold-layout` sees to it.
func.func @written(%x: tensor<8x6xf32>, %w: tensor<4x8xf32>) -> tensor<4x6xf32> {
  %r = loop.generic (o, y, c) in [4, 6, 8] reads(%x[c, y] : tensor<8x6xf32>, %w[o, c] : tensor<4x8xf32>) writes([o, y] add : tensor<4x6xf32>) attributes {lamina.layout = array<i64: 1, 0>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x6xf32>
}
// CHECK-LABEL: @written
// CHECK-NOT:     lamina.materialized

// -----

// What is looked up is indexed in the new order, with its limits; a source that the body takes whole is copied back.
func.func @sources(%x: tensor<8x6xf32>, %i: tensor<4xindex>, %n: tensor<index>) -> tensor<8x4xf32> {
  %e = loop.generic (c, y) in [8, 6] reads(%x[c, y] : tensor<8x6xf32>) writes([c, y] store : tensor<8x6xf32>) attributes {lamina.layout = array<i64: 1, 0>} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %t = loop.generic (c, y) in [8, 4] reads(%i[y] : tensor<4xindex>, %n[] : tensor<index>) sources(%e : tensor<8x6xf32>) writes([c, y] store : tensor<8x4xf32>) {
  ^bb0(%at: index, %below: index, %table: tensor<8x6xf32>):
    %c = loop.index 0 : index
    %v = loop.read %table[%c, %at below %below] : tensor<8x6xf32>
    loop.yield %v : f32
  }
  func.return %t : tensor<8x4xf32>
}
// CHECK-LABEL: @sources
// CHECK-NEXT:    [[E:%\S+]] = loop.generic (d0, d1) in [6, 8]
// CHECK:         loop.generic (d0, d1) in [8, 4] reads(%i[d1] : tensor<4xindex>, %n[] : tensor<index>) sources([[E]] : tensor<6x8xf32>)
// CHECK-NEXT:    ^bb0(%at: index, %below: index, [[TABLE:%\S+]]: tensor<6x8xf32>):
// CHECK-NEXT:      %c = loop.index 0 : index
// CHECK-NEXT:      loop.read [[TABLE]][%at below %below, %c] : tensor<6x8xf32>

// -----

// A reshape that leaves an axis alone is one of the new order on both sides, without a copy.
func.func @reshapes(%x: tensor<8x6xf32>) -> tensor<8xf32> {
  %e = loop.generic (c, y) in [8, 6] reads(%x[c, y] : tensor<8x6xf32>) writes([c, y] store : tensor<8x6xf32>) attributes {lamina.layout = array<i64: 1, 0>} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %r = loop.reshape %e {lamina.layout = array<i64: 1, 2, 0>} : tensor<8x6xf32> -> tensor<8x2x3xf32>
  %s = loop.generic (c, y, x) in [8, 2, 3] reads(%r[c, y, x] : tensor<8x2x3xf32>) writes([c] add : tensor<8xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %s : tensor<8xf32>
}
// CHECK-LABEL: @reshapes
// CHECK-NEXT:    [[E:%\S+]] = loop.generic (d0, d1) in [6, 8]
// CHECK:         [[R:%\S+]] = loop.reshape [[E]] : tensor<6x8xf32> -> tensor<2x3x8xf32>
// CHECK-NEXT:    loop.generic {{.*}} reads([[R]][{{d[0-9], d[0-9], d[0-9]}}] : tensor<2x3x8xf32>)
// CHECK-NOT:     loop.generic

// -----

// What is stored as it was is copied in front of it; what leaves the program behind it.
func.func @copied(%x: tensor<8x6xf32>) -> tensor<8x2x3xf32> {
  %r = loop.reshape %x {lamina.layout = array<i64: 1, 2, 0>} : tensor<8x6xf32> -> tensor<8x2x3xf32>
  func.return %r : tensor<8x2x3xf32>
}
// CHECK-LABEL: @copied
// CHECK-NEXT:    [[C:%\S+]] = loop.generic (d0, d1) in [6, 8] reads(%x[d1, d0] : tensor<8x6xf32>) writes([d0, d1] store : tensor<6x8xf32>) attributes {lamina.op = "layout"}
// CHECK:         [[R:%\S+]] = loop.reshape [[C]] : tensor<6x8xf32> -> tensor<2x3x8xf32>
// CHECK-NEXT:    loop.generic (d0, d1, d2) in [8, 2, 3] reads([[R]][d1, d2, d0] : tensor<2x3x8xf32>)

// -----

// Inputs are read from a copy in the order that is asked for, one for both nests, which stays a copy; an input without an order stays.
func.func @inputs(%x: tensor<8x6xf32>, %w: tensor<4x8xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %r = loop.generic (o, y, c) in [4, 6, 8] reads(%x[c, y] : tensor<8x6xf32>, %w[o, c] : tensor<4x8xf32>) writes([o, y] add : tensor<4x6xf32>) attributes {lamina.input_layouts = [array<i64: 1, 0>, unit]} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %s = loop.generic (o, y, c) in [4, 6, 8] reads(%x[c, y] : tensor<8x6xf32>, %w[o, c] : tensor<4x8xf32>) writes([o, y] max : tensor<4x6xf32>) attributes {lamina.input_layouts = [array<i64: 1, 0>, unit]} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r, %s : tensor<4x6xf32>, tensor<4x6xf32>
}
// CHECK-LABEL: @inputs
// CHECK:         [[X:%\S+]] = loop.generic (d0, d1) in [6, 8] reads(%x[d1, d0] : tensor<8x6xf32>) writes([d0, d1] store : tensor<6x8xf32>) attributes {lamina.op = "layout", lamina.materialized}
// CHECK:         %r = loop.generic {{.*}} reads([[X]][d1, d2] : tensor<6x8xf32>, %w[d0, d2] : tensor<4x8xf32>)
// CHECK-NOT:     lamina.input_layouts
// CHECK:         %s = loop.generic {{.*}} reads([[X]][d1, d2] : tensor<6x8xf32>, %w[d0, d2] : tensor<4x8xf32>)
