// RUN: lamina-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: Expected 2 operands, but got 1
func.func @too_few(%a: f32) {
  "test.op"() : () -> ()
  %0 = "arith.addf"(%a) : (f32) -> f32
  func.return
}

// -----

// CHECK: Operation arith.addd is not registered; nearest: arith.addi, arith.addf
func.func @unknown(%a: f32) {
  %0 = arith.addd %a, %a : f32
  func.return
}

// -----

// CHECK: values used but not defined: [%b]
func.func @undefined(%a: f32) {
  %0 = arith.addf %a, %b : f32
  func.return
}
