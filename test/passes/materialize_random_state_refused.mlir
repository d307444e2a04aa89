// RUN: not lamina-opt %s -p materialize-random-state 2>&1 | filecheck %s

// A function that may be called more than once would draw the same numbers each time.
func.func @helper() -> tensor<4xf32> {
  %u = prims.uniform(shape = [4], low = 0.0, high = 1.0, dtype = f32, device = "cpu", stride = []) : () -> tensor<4xf32>
  func.return %u : tensor<4xf32>
}
// CHECK: prims.uniform: draws random numbers outside of @main, or in the test of a loop
