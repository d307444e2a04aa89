// RUN: lamina-opt %s -p flush-exponentials --split-input-file | filecheck %s

// Weights of a softmax that only a product reads, once they are scaled, reshaped and divided by the sum of their row.
func.func @main(%x: tensor<4x8xf32>, %v: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %m = prims.amax(%x, dims = [1]) : (tensor<4x8xf32>) -> tensor<4xf32>
  %b = prims.broadcast_in_dim(%m, shape = [4, 8], broadcast_dimensions = [0]) : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = prims.sub(%x, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = prims.exp(%d) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = prims.sum(%e, dims = [1]) : (tensor<4x8xf32>) -> tensor<4xf32>
  %r = prims.reciprocal(%s) : (tensor<4xf32>) -> tensor<4xf32>
  %t = prims.broadcast_in_dim(%r, shape = [4, 8], broadcast_dimensions = [0]) : (tensor<4xf32>) -> tensor<4x8xf32>
  %w = prims.mul(%e, %t) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = prims.full(shape = [4, 8], fill_value = 1.25, dtype = f32, device = "cpu", requires_grad = false) : () -> tensor<4x8xf32>
  %k = prims.mul(%w, %c) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = prims.contract(%k, %v, a_batch = [], b_batch = [], a_contract = [1], b_contract = [0]) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  func.return %p : tensor<4x2xf32>
}
// CHECK:       prims.exp(%d) {lamina.flushed}

// -----

// What the program returns is what it is.
func.func @main(%x: tensor<4x8xf32>, %v: tensor<8x2xf32>) -> (tensor<4x2xf32>, tensor<4x8xf32>) {
  %m = prims.amax(%x, dims = [1]) : (tensor<4x8xf32>) -> tensor<4xf32>
  %b = prims.broadcast_in_dim(%m, shape = [4, 8], broadcast_dimensions = [0]) : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = prims.sub(%x, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = prims.exp(%d) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = prims.sum(%e, dims = [1]) : (tensor<4x8xf32>) -> tensor<4xf32>
  %t = prims.broadcast_in_dim(%s, shape = [4, 8], broadcast_dimensions = [0]) : (tensor<4xf32>) -> tensor<4x8xf32>
  %w = prims.div(%e, %t) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = prims.contract(%w, %v, a_batch = [], b_batch = [], a_contract = [1], b_contract = [0]) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  func.return %p, %w : tensor<4x2xf32>, tensor<4x8xf32>
}
// CHECK:       prims.exp(%d) :

// -----

// A number that is no largest one of the row: all exponentials may be tiny.
func.func @main(%x: tensor<4x8xf32>, %m: tensor<4xf32>, %v: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %b = prims.broadcast_in_dim(%m, shape = [4, 8], broadcast_dimensions = [0]) : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = prims.sub(%x, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = prims.exp(%d) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = prims.contract(%e, %v, a_batch = [], b_batch = [], a_contract = [1], b_contract = [0]) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  func.return %p : tensor<4x2xf32>
}
// CHECK:       prims.exp(%d) :

// -----

// Multiplied by anything, a tiny one may count: by numbers of the call, or by a large one.
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %v: tensor<8x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %m = prims.amax(%x, dims = [1]) : (tensor<4x8xf32>) -> tensor<4xf32>
  %b = prims.broadcast_in_dim(%m, shape = [4, 8], broadcast_dimensions = [0]) : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = prims.sub(%x, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = prims.exp(%d) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %w = prims.mul(%e, %y) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = prims.contract(%w, %v, a_batch = [], b_batch = [], a_contract = [1], b_contract = [0]) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %f = prims.exp(%d) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = prims.full(shape = [4, 8], fill_value = 1.0e+30, dtype = f32, device = "cpu", requires_grad = false) : () -> tensor<4x8xf32>
  %k = prims.mul(%f, %c) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = prims.contract(%k, %v, a_batch = [], b_batch = [], a_contract = [1], b_contract = [0]) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  func.return %p, %q : tensor<4x2xf32>, tensor<4x2xf32>
}
// CHECK:       prims.exp(%d) :
// CHECK:       prims.exp(%d) :
