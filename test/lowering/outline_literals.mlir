// RUN: lamina-opt %s --split-input-file -p outline-literals | filecheck %s

// One value all over is a nest; others are arguments, in front of the state of random numbers, with
// names that nobody has.
// CHECK-LABEL: func.func @main(%literal0: tensor<2xf32> {lamina.name = "literal0"},
// CHECK-SAME:    %c: tensor<2xf32> {lamina.kind = "constant", lamina.name = "literal1", lamina.value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}
// CHECK-SAME:    %s: tensor<2xi64> {lamina.kind = "seed"
// CHECK:         loop.generic (d0) in [2]
// CHECK:           arith.constant 3.000000e+00 : f32
// CHECK:         prims.add(%c
func.func @main(%literal0: tensor<2xf32> {lamina.name = "literal0"},
                %s: tensor<2xi64> {lamina.kind = "seed", lamina.name = "state"}) -> tensor<2xf32> {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %d = arith.constant dense<3.0> : tensor<2xf32>
  %0 = prims.add(%c, %d) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = prims.add(%0, %literal0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// Numbers are left alone.
// CHECK-LABEL: func.func @numbers() -> f64
// CHECK-NEXT:    arith.constant 1.000000e+00 : f64
func.func @numbers() -> f64 {
  %c = arith.constant 1.0 : f64
  func.return %c : f64
}
