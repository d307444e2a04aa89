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
// CHECK: loop.reshape: tensor<?xf32> is not a tensor of static shape
