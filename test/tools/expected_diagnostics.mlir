// RUN: lamina-opt %s --split-input-file --verify-diagnostics -p verify-prims | filecheck %s --allow-empty

// What is printed is what has no error.
// CHECK-NOT: @wrong
// CHECK: @right
// CHECK-NOT: @wrong

func.func @wrong_count(%a: f32) {
  // expected-error@+1 {{Expected 2 operands, but got 1}}
  %0 = "arith.addf"(%a) : (f32) -> f32
  func.return
}

// -----

func.func @wrong_name(%a: f32) {
  %0 = arith.addd %a, %a : f32 // expected-error-re {{arith.addd is not registered; nearest: {{(arith.add[a-z], )?}}arith.addi}}
  func.return
}

// -----

func.func @wrong_layer(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{aten.relu.default}}
  %0 = aten.relu.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @right(%a: tensor<4xf32>) -> tensor<4xf32> {
  func.return %a : tensor<4xf32>
}
