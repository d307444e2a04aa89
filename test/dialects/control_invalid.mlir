// RUN: lamina-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

func.func @predicate(%p: tensor<2xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = control.cond if(%p) with(%x) : (tensor<2xi1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}
// CHECK: control.cond: the predicate must be a boolean tensor of one element, not tensor<2xi1>

// -----

func.func @branches(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    %s = aten.sum.default(%a) : (tensor<4xf32>) -> tensor<f32>
    control.yield %s : tensor<f32>
  }
  func.return %c : tensor<4xf32>
}
// CHECK: control.cond: region 'else' must yield (tensor<4xf32>), it yields (tensor<f32>)

// -----

func.func @outside(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %s = aten.add.Tensor(%a, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}
// CHECK: Operation using value defined out of its IsolatedFromAbove parent: {{.*}}aten.add.Tensor(%a, %y)

// -----

func.func @verdict(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = control.while from(%x) : (tensor<4xf32>) -> tensor<4xf32> test {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  } do {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// CHECK: control.while: region 'test' must yield one boolean, it yields (tensor<4xf32>)

// -----

func.func @carried(%x: tensor<4xf32>) -> tensor<2xf32> {
  %r = control.while from(%x) : (tensor<4xf32>) -> tensor<2xf32> test {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  } do {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<2xf32>
}
// CHECK: control.while gives results of the types that it starts from

// -----

func.func @arguments(%x: tensor<4xf32>, %xs: tensor<5x4xf32>) -> tensor<4xf32> {
  %r = control.scan from(%x) over(%xs) : (tensor<4xf32>, tensor<5x4xf32>) -> tensor<4xf32> do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<5x4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// CHECK: control.scan: region 'do' must take (tensor<4xf32>, tensor<4xf32>), it takes (tensor<4xf32>, tensor<5x4xf32>)

// -----

func.func @lengths(%xs: tensor<5x4xf32>, %ys: tensor<6x4xf32>) -> tensor<5x4xf32> {
  %r = control.scan over(%xs, %ys) : (tensor<5x4xf32>, tensor<6x4xf32>) -> tensor<5x4xf32> do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<5x4xf32>
}
// CHECK: control.scan: what is walked and stacked has one length, not [5, 6]

// -----

func.func @count(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = control.while from(%x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> test {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  } do {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// CHECK: 1 operands with 2 types

// -----

func.func @nowhere(%x: tensor<4xf32>) -> tensor<4xf32> {
  control.yield %x : tensor<4xf32>
}
// CHECK: control.yield ends regions of control ops only

// -----

func.func @steps(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %r = control.repeat from(%x) each(%w, %w, %w) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {times = 2 : i64} do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// CHECK: control.repeat: 3 operands or results of single steps (each) for 2 steps

// -----

func.func @no_times(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = control.repeat from(%x) : (tensor<4xf32>) -> tensor<4xf32> do {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// CHECK: control.repeat: 'times' is how many steps there are: 1 or more

// -----

func.func @kinds(%x: tensor<4xf32>, %w: tensor<5xf32>) -> tensor<4xf32> {
  %r = control.repeat from(%x) each(%x, %w) : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32> attributes {times = 2 : i64} do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// CHECK: control.repeat: steps differ in types of what is their own

// -----

func.func @carried(%x: tensor<4xf32>) -> tensor<5xf32> {
  %r = control.repeat from(%x) : (tensor<4xf32>) -> tensor<5xf32> attributes {times = 2 : i64} do {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<5xf32>
}
// CHECK: control.repeat: the first results must have the types of what is carried

// -----

func.func @many(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = control.repeat from(%x) : (tensor<4xf32>) -> tensor<4xf32> attributes {times = 1000000000 : i64} do {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// CHECK: control.repeat: 1000000000 steps are written out, at most 4096; a control.scan is for more
