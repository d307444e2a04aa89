// RUN: lamina-opt %s --to fused | filecheck %s

// The extreme and its place are made in one walk, by one nest.
func.func @main(%x: tensor<64x500xf32>) -> (tensor<64xf32>, tensor<64xi64>) {
  %v, %i = aten.max.dim(%x, dim = 1) : (tensor<64x500xf32>) -> (tensor<64xf32>, tensor<64xi64>)
  func.return %v, %i : tensor<64xf32>, tensor<64xi64>
}
// CHECK-LABEL: func.func private @kernel_0
// CHECK: loop.generic (d0, d1) in [64, 500] reads(%{{.*}}[d0, d1] : tensor<64x500xf32>) writes([d0] max : tensor<64xf32>, [d0] combine : tensor<64xf32>, [d0] combine : tensor<64xi32>)
// CHECK: } combine(0xff800000 : f32, 2147483647 : i32) {
// CHECK: arith.cmpf ogt
// CHECK-NOT: [64, 500]
// CHECK: loop.generic (d0) in [64]
// CHECK: arith.andi
