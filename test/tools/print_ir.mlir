// Programs between passes on stderr; a pass that fails leaves a file that runs it again.
// RUN: lamina-opt %s --to prims --print-ir-after-change 2>&1 >/dev/null | filecheck %s --check-prefix CHANGE
// RUN: lamina-opt %s --to prims --print-ir-before functionalize --print-ir-after all 2>&1 >/dev/null | filecheck %s --check-prefix NAMED
// RUN: not lamina-opt %s --to prims --print-ir-before nothing 2>&1 | filecheck %s --check-prefix NONE
// RUN: not lamina-opt %s -p cse,verify-prims,dce --crash-reproducer %t.mlir 2>&1 | filecheck %s --check-prefix CRASH
// RUN: filecheck %s --check-prefix KEPT --input-file %t.mlir
// RUN: not lamina-opt %t.mlir --run-reproducer 2>&1 | filecheck %s --check-prefix AGAIN
// RUN: not lamina-opt %s --run-reproducer 2>&1 | filecheck %s --check-prefix OTHER

// CHANGE-NOT: After functionalize
// CHANGE: // -----// IR Dump After convert-aten-to-core-aten //----- //
// CHANGE: core_aten.relu.default
// CHANGE-NOT: After verify-core-aten
// CHANGE: // -----// IR Dump After convert-core-aten-to-prims //----- //
// NAMED: // -----// IR Dump After verify-aten //----- //
// NAMED: // -----// IR Dump Before functionalize //----- //
// NAMED: aten.relu.default
// NAMED: // -----// IR Dump After functionalize //----- //
// NAMED: // -----// IR Dump After verify-prims //----- //
// NONE: --print-ir-before nothing: no such pass runs; nearest:
// CRASH: to run it again: lamina-opt {{.*}} --run-reproducer
// CRASH: aten.relu.default: not allowed at the prims layer
// KEPT: // configuration: --passes='verify-prims,dce'
// KEPT-NEXT: // {{.*}}not allowed at the prims layer
// KEPT: aten.relu.default
// AGAIN: aten.relu.default: not allowed at the prims layer
// OTHER: no reproducer, whose first line is
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = aten.relu.default(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
