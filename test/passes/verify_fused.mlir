// RUN: lamina-opt %s -p verify-fused --split-input-file --verify-diagnostics | filecheck %s

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @kernel_0(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
func.func private @kernel_0(%x: tensor<8xf32>) -> tensor<8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [8] reads(%x[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  func.return %0 : tensor<8xf32>
}
// CHECK-LABEL: @main
// CHECK:         func.call @kernel_0

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{stands in @main; outline-kernels moves it}}
  %0 = loop.generic (i) in [8] reads(%x[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{calls @other, which is no kernel}}
  %0 = func.call @other(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
func.func private @other(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}

// -----

// expected-error@below {{@kernel_0 is a kernel, and so private}}
func.func @kernel_0(%x: tensor<8xf32>) -> tensor<8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [8] reads(%x[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %0 : tensor<8xf32>
}

// -----

func.func private @kernel_0(%x: tensor<8xf32>) -> tensor<8xf32> attributes {lamina.kernel} {
  // expected-error@below {{result 0 of a kernel is an argument; copy it in a nest}}
  func.return %x : tensor<8xf32>
}
