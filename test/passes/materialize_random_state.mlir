// RUN: lamina-opt %s -p materialize-random-state --split-input-file | filecheck %s

// Each draw is a function of the state and its own number; the counter moves by their count.
func.func @main(%x: tensor<4xf32> {lamina.kind = "input", lamina.name = "x"})
    -> (tensor<4xf32> {lamina.kind = "output"}) {
  %u = prims.uniform(shape = [4], low = 0.0, high = 1.0, dtype = f32, device = "cpu", stride = []) : () -> tensor<4xf32>
  %n = prims.normal(shape = [4], mean = 0.0, std = 1.0, dtype = f32, device = "cpu", requires_grad = false) : () -> tensor<4xf32>
  %s = prims.add(%u, %n) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-SAME: %random_state: tensor<2xi64> {lamina.kind = "seed", lamina.name = "random_state"}
// CHECK-SAME: tensor<2xi64> {lamina.kind = "mutation", lamina.target = "random_state"}
// CHECK-NEXT: %[[U:[^ ]*]] = prims.philox(%random_state, shape = [4], distribution = "uniform", offset = 0, dtype = f32)
// CHECK-NEXT: %[[N:[^ ]*]] = prims.philox(%random_state, shape = [4], distribution = "normal", offset = 1, dtype = f32)
// CHECK-NEXT: %[[S:[^ ]*]] = prims.add(%[[U]], %[[N]])
// CHECK-NEXT: %[[D:[^ ]*]] = prims.iota(length = 2, start = 0, step = 2
// CHECK-NEXT: %[[C:[^ ]*]] = prims.add(%random_state, %[[D]])
// CHECK-NEXT: func.return %[[S]], %[[C]]

// -----

// Bounds, mean and deviation are arithmetic on the standard distributions.
func.func @main() -> tensor<4xf32> {
  %u = prims.uniform(shape = [4], low = -1.0, high = 3.0, dtype = f32, device = "cpu", stride = []) : () -> tensor<4xf32>
  func.return %u : tensor<4xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: %[[U:[^ ]*]] = prims.philox
// CHECK: prims.full(shape = [4], fill_value = 4.0
// CHECK: %[[M:[^ ]*]] = prims.mul(%[[U]],
// CHECK: prims.full(shape = [4], fill_value = -1.0
// CHECK: prims.add(%[[M]],

// -----

// Programs without draws have no state.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = prims.neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NOT: random_state
// CHECK: prims.neg

// -----

// A branch is given the state and gives it back, moved by what it drew; a loop carries it.
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %u = prims.uniform(shape = [4], low = 0.0, high = 1.0, dtype = f32, device = "cpu", stride = []) : () -> tensor<4xf32>
  %c = control.cond if(%p) with(%u) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %v = prims.uniform(shape = [4], low = 0.0, high = 1.0, dtype = f32, device = "cpu", stride = []) : () -> tensor<4xf32>
    control.yield %v : tensor<4xf32>
  } else {
  ^bb0(%b: tensor<4xf32>):
    control.yield %b : tensor<4xf32>
  }
  %w = control.while from(%c) with(%p) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32> test {
  ^bb0(%d: tensor<4xf32>, %q: tensor<i1>):
    control.yield %q : tensor<i1>
  } do {
  ^bb0(%e: tensor<4xf32>, %q: tensor<i1>):
    %v = prims.uniform(shape = [4], low = 0.0, high = 1.0, dtype = f32, device = "cpu", stride = []) : () -> tensor<4xf32>
    control.yield %v : tensor<4xf32>
  }
  func.return %w : tensor<4xf32>
}
// CHECK:         func.func @main({{.*}}, %random_state: tensor<2xi64> {lamina.kind = "seed"
// CHECK-NEXT:    [[U:%\S+]] = prims.philox(%random_state, {{.*}}"uniform", offset = 0
// CHECK-NEXT:    [[I:%\S+]] = prims.iota(length = 2, start = 0, step = 1
// CHECK-NEXT:    [[S:%\S+]] = prims.add(%random_state, [[I]])
// CHECK-NEXT:    %c, [[C:%\S+]] = control.cond if(%p) with([[U]], [[S]])
// CHECK-NEXT:    ^bb0(%a: tensor<4xf32>, [[A:%\S+]]: tensor<2xi64>):
// CHECK-NEXT:      [[V:%\S+]] = prims.philox([[A]], {{.*}}offset = 0
// CHECK-NEXT:      prims.iota
// CHECK-NEXT:      [[T:%\S+]] = prims.add([[A]],
// CHECK-NEXT:      control.yield [[V]], [[T]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:    ^bb0(%b: tensor<4xf32>, [[B:%\S+]]: tensor<2xi64>):
// CHECK-NEXT:      control.yield %b, [[B]]
// CHECK:         %w, [[W:%\S+]] = control.while from(%c, [[C]]) with(%p)
// CHECK:         ^bb0({{%\S+}}: tensor<4xf32>, {{%\S+}}: tensor<2xi64>, {{%\S+}}: tensor<i1>):
// CHECK-NEXT:      control.yield
// CHECK:         func.return %w, [[W]]
