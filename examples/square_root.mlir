// Heron's rule for the square roots of |v|, until no element moves by more than a millionth.
func.func @main(%v: tensor<3xf32>) -> (tensor<3xf32>, tensor<i64>) {
  %a = aten.abs.default(%v) : (tensor<3xf32>) -> tensor<3xf32>
  %zero = aten.zeros.default(size = [], dtype = i64) : () -> tensor<i64>
  %far = aten.full_like.default(%a, fill_value = inf) : (tensor<3xf32>) -> tensor<3xf32>
  %root, %before, %rounds = control.while from(%a, %far, %zero) with(%a) : (tensor<3xf32>, tensor<3xf32>, tensor<i64>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<i64>) test {
  ^bb0(%x: tensor<3xf32>, %last: tensor<3xf32>, %n: tensor<i64>, %b: tensor<3xf32>):
    %step = aten.sub.Tensor(%x, %last) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %size = aten.abs.default(%step) : (tensor<3xf32>) -> tensor<3xf32>
    %least = aten.mul.Scalar(%x, other = 1.0e-6) : (tensor<3xf32>) -> tensor<3xf32>
    %moves = aten.gt.Tensor(%size, %least) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %any = aten.any.default(%moves) : (tensor<3xi1>) -> tensor<i1>
    control.yield %any : tensor<i1>
  } do {
  ^bb0(%x: tensor<3xf32>, %last: tensor<3xf32>, %n: tensor<i64>, %b: tensor<3xf32>):
    %q = aten.div.Tensor(%b, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %sum = aten.add.Tensor(%x, %q) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %mean = aten.mul.Scalar(%sum, other = 0.5) : (tensor<3xf32>) -> tensor<3xf32>
    %m = aten.add.Scalar(%n, other = 1) : (tensor<i64>) -> tensor<i64>
    control.yield %mean, %x, %m : tensor<3xf32>, tensor<3xf32>, tensor<i64>
  }
  func.return %root, %rounds : tensor<3xf32>, tensor<i64>
}
