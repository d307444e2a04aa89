// RUN: not lamina-opt %s --to prims 2>&1 | filecheck %s

// CHECK: core_aten.full.default: does not take operands of these types: inf is no number of i64
// CHECK-NEXT: at: {{.*}}:6:3
func.func @main() -> tensor<3xi64> {
  %0 = "aten.full.default"() <{size = array<i64: 3>, fill_value = 0x7FF0000000000000 : f64, dtype = i64, operandSegmentSizes = array<i32: 0, 0>}> : () -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
