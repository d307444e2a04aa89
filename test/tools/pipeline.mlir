// xDSL's own passes and options work beside Lamina's.
// RUN: lamina-opt %s -p 'cse,dce' --print-between-passes | filecheck %s
// RUN: lamina-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC

// CHECK:       IR after cse:
// CHECK:         %{{.*}} = arith.addf %a, %b
// CHECK-NEXT:    arith.mulf
// CHECK:         %{{.*}} = arith.addf %a, %b
// CHECK-NEXT:    %{{.*}} = arith.mulf
// CHECK-NEXT:    func.return

// GENERIC: "arith.mulf"(%0, %1)
func.func @main(%a: f32, %b: f32) -> f32 {
  %0 = arith.addf %a, %b : f32
  %1 = arith.addf %a, %b : f32
  %2 = arith.mulf %0, %1 : f32
  func.return %2 : f32
}
