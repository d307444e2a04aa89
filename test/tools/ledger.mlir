// RUN: lamina-opt %s -t 'ledger{cpu=x86-64-v3}' | filecheck %s
// RUN: lamina-opt %s --to fused -t 'ledger{cpu=x86-64-v3}' | filecheck %s
// RUN: lamina-opt %s --to scheduled -t 'ledger{cpu=x86-64-v3}' | filecheck %s

// CHECK:      kernel    calls  bytes  flops  roofline us  measured us  ops
// CHECK-NEXT: kernel_0      1    66K    16K         5.27            -  add, tanh
// CHECK-NEXT: kernel_1      1    98K   8192         0.88            -  mul
// CHECK-NEXT: 2 kernels, 2 calls in one run
// CHECK-NEXT: kernel_1: prims.add+prims.tanh -> prims.mul: lamina.fuse = "never"
// CHECK-NEXT: kernel_1: prims.add+prims.tanh | prims.mul: lamina.fuse = "never"
func.func @main(%x: tensor<64x128xf32>, %y: tensor<128xf32>) -> tensor<64x128xf32> {
  %0 = aten.add.Tensor(%x, %y) : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  %1 = aten.tanh.default(%0) {lamina.fuse = "never"} : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %2 = aten.mul.Tensor(%1, %x) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  func.return %2 : tensor<64x128xf32>
}
