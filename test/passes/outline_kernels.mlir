// RUN: lamina-opt %s -p outline-kernels --split-input-file | filecheck %s

// Two kernels that differ in names only are one function.
func.func @main(%x: tensor<16x40xf32>, %y: tensor<16x40xf32>) -> (tensor<16x40xf32>, tensor<16xf32>) {
  %a = loop.kernel(%p = %x : tensor<16x40xf32>) -> (tensor<16x40xf32>) {
    %e = loop.generic (i, j) in [16, 40] reads(%p[i, j] : tensor<16x40xf32>) writes([i, j] store : tensor<16x40xf32>) attributes {lamina.op = "exp"} {
    ^bb0(%v: f32):
      %u = math.exp %v : f32
      loop.yield %u : f32
    }
    loop.return %e : tensor<16x40xf32>
  }
  %b = loop.kernel(%other = %y : tensor<16x40xf32>) -> (tensor<16x40xf32>) {
    %e = loop.generic (k, l) in [16, 40] reads(%other[k, l] : tensor<16x40xf32>) writes([k, l] store : tensor<16x40xf32>) attributes {lamina.op = "exp"} {
    ^bb0(%z: f32):
      %u = math.exp %z : f32
      loop.yield %u : f32
    }
    loop.return %e : tensor<16x40xf32>
  }
  %c = loop.kernel(%p = %a : tensor<16x40xf32>, %q = %b : tensor<16x40xf32>) -> (tensor<16xf32>) attributes {lamina.not_fused = ["exp -> sum: because"]} {
    %m = loop.generic (i, j) in [16, 40] reads(%p[i, j] : tensor<16x40xf32>, %q[i, j] : tensor<16x40xf32>) writes([i, j] store : tensor<16x40xf32>) attributes {lamina.op = "mul"} {
    ^bb0(%v: f32, %w: f32):
      %u = arith.mulf %v, %w : f32
      loop.yield %u : f32
    }
    %s = loop.generic (i, j) in [16, 40] reads(%m[i, j] : tensor<16x40xf32>) writes([i] add : tensor<16xf32>) attributes {lamina.op = "sum"} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    loop.return %s : tensor<16xf32>
  }
  func.return %b, %c : tensor<16x40xf32>, tensor<16xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[A:%\S+]] = func.call @kernel_0(%x)
// CHECK-NEXT:    [[B:%\S+]] = func.call @kernel_0(%y)
// CHECK-NEXT:    [[C:%\S+]] = func.call @kernel_1([[A]], [[B]])
// CHECK-NEXT:    func.return [[B]], [[C]]
// CHECK:         func.func private @kernel_0({{.*}}) -> tensor<16x40xf32> attributes {lamina.kernel, lamina.ops = ["exp"]}
// CHECK:         func.func private @kernel_1({{.*}}) -> tensor<16xf32> attributes {lamina.kernel, lamina.not_fused = ["exp -> sum: because"], lamina.ops = ["mul", "sum"]}
// CHECK-NOT:     @kernel_2

// -----

// 0.0 and -0.0 are different constants.
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = loop.kernel(%p = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    %e = loop.generic (i) in [8] reads(%p[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
    ^bb0(%v: f32):
      %c = arith.constant 0.0 : f32
      %u = arith.divf %v, %c : f32
      loop.yield %u : f32
    }
    loop.return %e : tensor<8xf32>
  }
  %b = loop.kernel(%p = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    %e = loop.generic (i) in [8] reads(%p[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
    ^bb0(%v: f32):
      %c = arith.constant -0.0 : f32
      %u = arith.divf %v, %c : f32
      loop.yield %u : f32
    }
    loop.return %e : tensor<8xf32>
  }
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @main
// CHECK:         func.call @kernel_0(%x)
// CHECK-NEXT:    %{{.*}} = func.call @kernel_1(%x)
// CHECK:         @kernel_0
// CHECK:         arith.constant 0.0
// CHECK:         @kernel_1
// CHECK:         arith.constant -0.0
