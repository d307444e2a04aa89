// RUN: lamina-opt --split-input-file %s -p verify-stablehlo --verify-diagnostics | filecheck %s

// CHECK-LABEL: @stands
func.func @stands(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
// CHECK: prims.neg: not allowed at the stablehlo layer, only: stablehlo, chlo, sdy
func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.tanh %x : tensor<2xf32>
  %1 = prims.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
// -----
// CHECK: stablehlo.tanh
// CHECK-SAME: gives tensor<?xf32>: sizes must be known
func.func @dynamic(%x: tensor<?xf32>) {
  %0 = stablehlo.tanh %x : tensor<?xf32>
  func.return
}
// -----
// CHECK: gives !stablehlo.token
func.func @token() {
  %0 = "stablehlo.create_token"() : () -> !stablehlo.token
  func.return
}
