// RUN: lamina-opt %s -p elide-masks --split-input-file | filecheck %s
// RUN: lamina-opt %s -p elide-masks,elide-masks --split-input-file | filecheck %s

// All rows that count are those where the mask is true: callers take what it chooses from, another result.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    [[X:%[0-9]+]] = func.call @cache(%x, %m, %n) : (tensor<64x8xf32>, tensor<64xi1>, tensor<i64>) -> tensor<64x8xf32>
// CHECK-NEXT:    func.return [[X]], [[X]] : tensor<64x8xf32>, tensor<64x8xf32>
// CHECK-LABEL: func.func private @cache(
// CHECK-NOT:     arith.select
// CHECK:         func.return %{{[0-9]+}} : tensor<64x8xf32>
func.func @main(%x: tensor<64x8xf32>, %m: tensor<64xi1>, %n: tensor<i64>) -> (tensor<64x8xf32>, tensor<64x8xf32>) {
  %0, %1 = func.call @cache(%x, %m, %n) : (tensor<64x8xf32>, tensor<64xi1>, tensor<i64>) -> (tensor<64x8xf32>, tensor<64x8xf32>)
  func.return %0, %1 : tensor<64x8xf32>, tensor<64x8xf32>
}
func.func private @cache(%x: tensor<64x8xf32>, %m: tensor<64xi1>, %n: tensor<i64>) -> (tensor<64x8xf32>, tensor<64x8xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 1, 2>} {
  %0 = loop.generic (i, j) in [64, 8] reads(%x[i, j] : tensor<64x8xf32>) writes([i, j] store : tensor<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg2 of 64, 8]>} {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    loop.yield %b : f32
  }
  %1 = loop.generic (i, j) in [64, 8] reads(%m[i] : tensor<64xi1>, %0[i, j] : tensor<64x8xf32>) writes([i, j] store : tensor<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg2 of 64, 8]>} {
  ^bb0(%p: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %b = arith.select %p, %a, %z : f32
    loop.yield %b : f32
  }
  func.return %0, %1 : tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// A kernel that does nothing else is gone; so it is where loops end at the number that are not over rows.
// CHECK-LABEL: func.func @alone(
// CHECK-NEXT:    func.return %x : tensor<64x8xf32>
// CHECK-NOT:     @mask
func.func @alone(%x: tensor<64x8xf32>, %m: tensor<64xi1>, %n: tensor<i64>) -> tensor<64x8xf32> {
  %0 = func.call @mask(%x, %m, %n) : (tensor<64x8xf32>, tensor<64xi1>, tensor<i64>) -> tensor<64x8xf32>
  func.return %0 : tensor<64x8xf32>
}
func.func private @mask(%x: tensor<64x8xf32>, %m: tensor<64xi1>, %n: tensor<i64>) -> tensor<64x8xf32> attributes {lamina.kernel, lamina.masks = array<i64: 1, 2>} {
  %0 = loop.generic (i, j) in [64, 8] reads(%m[i] : tensor<64xi1>, %x[i, j] : tensor<64x8xf32>) writes([i, j] store : tensor<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.ends = [#loop.bounds<0, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [2]>]} {
  ^bb0(%p: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %b = arith.select %p, %a, %z : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x8xf32>
}

// -----

// All rows are read of the first; the second has a 1 where the mask is false; of the third, columns are read that the mask does not know.
// CHECK-LABEL: func.func private @kept(
// CHECK-COUNT-3: arith.select
func.func @main(%x: tensor<64x64xf32>, %m: tensor<64xi1>, %n: tensor<i64>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %0, %1, %2 = func.call @kept(%x, %m, %n) : (tensor<64x64xf32>, tensor<64xi1>, tensor<i64>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>)
  func.return %0, %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}
func.func private @kept(%x: tensor<64x64xf32>, %m: tensor<64xi1>, %n: tensor<i64>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 1, 2>} {
  %0 = loop.generic (i, j) in [64, 64] reads(%m[i] : tensor<64xi1>, %x[i, j] : tensor<64x64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %b = arith.select %p, %a, %z : f32
    loop.yield %b : f32
  }
  %1 = loop.generic (i, j) in [64, 64] reads(%m[i] : tensor<64xi1>, %x[i, j] : tensor<64x64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], part = 1, live = [arg2 of 64, 64]>} {
  ^bb0(%p: i1, %a: f32):
    %z = arith.constant 1.0 : f32
    %b = arith.select %p, %a, %z : f32
    loop.yield %b : f32
  }
  %2 = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %x[i, j] : tensor<64x64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], part = 2, live = [arg2 of 64, 64]>} {
  ^bb0(%p: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %b = arith.select %p, %a, %z : f32
    loop.yield %b : f32
  }
  func.return %0, %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}
