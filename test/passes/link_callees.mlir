// RUN: lamina-opt %s --to scheduled --until plan-scratch | filecheck %s --check-prefix BEFORE
// RUN: lamina-opt %s --to scheduled --until plan-scratch | lamina-opt -p link-callees,verify-scheduled | filecheck %s

// Each program has memory and prepared constants of its own until they are linked.
// BEFORE-LABEL: func.func @main
// BEFORE-SAME:    memref<0xi8> {lamina.kind = "arena"}
// BEFORE:         loop.extern "call.f"
// BEFORE:       builtin.module @f {
// BEFORE:         func.func @setup
// BEFORE-SAME:      lamina.name = "table"
// BEFORE-SAME:      lamina.name = "prepared0"
// BEFORE:         func.func @main
// BEFORE-SAME:      memref<512xi8> {lamina.kind = "arena"}

// Then callees take the end of their callers' arena, and what they prepare is handed on.
// CHECK-LABEL: func.func @setup
// CHECK-SAME:    lamina.name = "table"
// CHECK-SAME:    lamina.name = "f.prepared0"
// CHECK:         func.call @f.setup(
// CHECK-LABEL: func.func @main
// CHECK-NOT:     lamina.kind = "extern"
// CHECK-SAME:    lamina.name = "f.prepared0"
// CHECK-SAME:    memref<512xi8> {lamina.kind = "arena"}
// CHECK:         %[[SCRATCH:.*]] = memref.view %arena[%{{.*}}][] : memref<512xi8> to memref<512xi8>
// CHECK-NEXT:    func.call @f.main(%x, %prepared0, %out, %[[SCRATCH]])
// CHECK-NOT:     loop.extern
// CHECK:       func.func private @f.setup
// CHECK-SAME:    attributes {lamina.callee}
// CHECK-NEXT:    func.call @f.kernel_0(
// CHECK:       func.func private @f.main
// CHECK-SAME:    attributes {lamina.callee}
// CHECK:         func.call @f.kernel_1(
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = func.call @f(%x) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %0 : tensor<64xf32>
}
func.func private @f(%x: tensor<64xf32>) -> tensor<64xf32> attributes {no_inline} {
  %c = arith.constant {lamina.name = "table"} dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = aten.cumsum.default(%x, 0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = aten.repeat.default(%c, [32]) : (tensor<2xf32>) -> tensor<64xf32>
  %2 = aten.cumsum.default(%0, 0) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = aten.add.Tensor(%2, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %3 : tensor<64xf32>
}
