// RUN: not lamina-opt %s -p convert-prims-to-loop 2>&1 | filecheck %s

// CHECK: prims.full: inf is no number of i64
// CHECK-NEXT: at: {{.*}}:6:3
func.func @main() -> tensor<3xi64> {
  %0 = "prims.full"() <{shape = array<i64: 3>, fill_value = 0x7FF0000000000000 : f64, dtype = i64, device = "cpu", requires_grad = false, operandSegmentSizes = array<i32: 0, 0>}> : () -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
