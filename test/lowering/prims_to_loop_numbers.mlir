// RUN: lamina-opt %s --from prims --to loop | filecheck %s
// RUN: lamina-run %s --check | filecheck %s --check-prefix=NATIVE
// Numbers beyond their type are infinite.

// CHECK:  arith.constant 0x7f800000 : f32
// CHECK:  arith.constant 0xfc00 : f16
// NATIVE: [inf inf]
// NATIVE: [-inf -inf]
// NATIVE: check: equal to the prims interpreter
func.func @main() -> (tensor<2xf32>, tensor<2xf16>) {
  %0 = prims.full([2], 1e39, dtype = f32, device = "cpu", requires_grad = false) : () -> tensor<2xf32>
  %1 = prims.full([2], -1e5, dtype = f16, device = "cpu", requires_grad = false) : () -> tensor<2xf16>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf16>
}
