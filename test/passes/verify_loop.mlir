// RUN: lamina-opt %s -p verify-loop --split-input-file --verify-diagnostics | filecheck %s

// What the layer allows passes and comes out unchanged.
func.func @allowed(%x: tensor<4x6xf32>) -> tensor<24xf32> {
  %a = loop.generic (d0, d1) in [4, 6] reads(%x[d0, d1] : tensor<4x6xf32>)
      writes([d0, d1] store : tensor<4x6xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.reshape %a : tensor<4x6xf32> -> tensor<24xf32>
  func.return %r : tensor<24xf32>
}
// CHECK-LABEL: func.func @allowed
// CHECK: loop.generic
// CHECK: loop.reshape

// -----

// An op of a higher layer is named.
func.func @higher_layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = prims.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
// CHECK: prims.exp: is not an op of the loop layer

// -----

// Shapes must be known.
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = loop.reshape %x : tensor<?xf32> -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
// CHECK: func.func: tensor<?xf32> is not a tensor of static shape

// -----

// A value stands below its definition.
func.func @dominance(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = loop.reshape %a : tensor<2x2xf32> -> tensor<4xf32>
  %a = loop.reshape %x : tensor<4xf32> -> tensor<2x2xf32>
  func.return %b : tensor<4xf32>
}
// CHECK: loop.reshape: operand 0 %a is used before loop.reshape defines it

// -----

// Combiners compare signed numbers.
func.func @unsigned(%x: tensor<4xui8>) -> tensor<ui8> {
  %a = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xui8>) writes([] max : tensor<ui8>) {
  ^bb0(%p: ui8):
    loop.yield %p : ui8
  }
  func.return %a : tensor<ui8>
}
// CHECK: loop.generic: combiner 'max' compares signed numbers, not ui8

// -----

// Nests compute with real numbers.
func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %y = loop.generic (i) in [4] reads(%x[i] : tensor<4xcomplex<f32>>) writes([i] store : tensor<4xcomplex<f32>>) {
  ^bb0(%p: complex<f32>):
    loop.yield %p : complex<f32>
  }
  func.return %y : tensor<4xcomplex<f32>>
}
// CHECK: tensor<4xcomplex<f32>> has complex elements, which loop nests do not compute

// -----

// Their parts are a free view.
func.func @parts(%x: tensor<4xcomplex<f32>>) -> tensor<4x2xf32> {
  %a = loop.reshape %x : tensor<4xcomplex<f32>> -> tensor<4x2xf32>
  func.return %a : tensor<4x2xf32>
}
// CHECK: func.func @parts

// -----

// Memory comes with bufferize.
func.func @memory(%x: memref<4xf32>) {
  func.return
}
// CHECK: func.func: memref<4xf32> is not a tensor of static shape
