// RUN: lamina-opt %s -p convert-linalg-to-loop --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// A sum that begins at zero is one nest; what is there otherwise is added behind it.
func.func @product(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>, %c: tensor<4x3xf32>)
    -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x3xf32>) -> tensor<4x3xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x5xf32>, tensor<5x3xf32>) outs(%f : tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<4x5xf32>, tensor<5x3xf32>) outs(%c : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
}
// CHECK-LABEL: func.func @product
// CHECK-NEXT: loop.generic (d0, d1, d2) in [4, 3, 5] reads(%a[d0, d2] : {{.*}}, %b[d2, d1] : {{.*}}) writes([d0, d1] add : tensor<4x3xf32>)
// CHECK: loop.generic (d0, d1, d2)
// CHECK: loop.generic (d0, d1) in [4, 3] reads(%c[d0, d1]
// CHECK: func.return

// -----

// A value of around is a read, a constant a constant; a tensor read by index is a source.
func.func @around(%x: tensor<4xi64>, %t: tensor<9xf32>, %s: f32) -> tensor<4xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: i64, %out: f32):
    %1 = arith.index_cast %in : i64 to index
    %2 = tensor.extract %t[%1] : tensor<9xf32>
    %3 = arith.addf %2, %one : f32
    %4 = arith.mulf %3, %s : f32
    linalg.yield %4 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @around(%x: tensor<4xi64>, %t: tensor<9xf32>, %s: tensor<f32>)
// CHECK-NEXT: loop.generic (d0) in [4] reads(%x[d0] : tensor<4xi64>, %s[] : tensor<f32>) sources(%t : tensor<9xf32>)
// CHECK: loop.read
// CHECK-NEXT: arith.constant 1.0
// CHECK-NEXT: arith.addf
// CHECK-NEXT: arith.mulf

// -----

// A convolution is one nest, padding a read.
func.func @image(%x: tensor<1x6x6x2xf32>, %w: tensor<3x3x2x4xf32>) -> tensor<1x4x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 2, 2, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x6x6x2xf32> to tensor<1x9x9x2xf32>
  %e = tensor.empty() : tensor<1x4x4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%p, %w : tensor<1x9x9x2xf32>, tensor<3x3x2x4xf32>) outs(%f : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}
// CHECK-LABEL: func.func @image
// CHECK: reads(%x[d0, d1 + -1, d2 + -1, d3] pad 0.000000e+00 : f32 : tensor<1x6x6x2xf32>)
// CHECK: in [1, 4, 4, 4, 3, 3, 2] reads({{.*}}[d0, (d1 * 2) + d4, (d2 * 2) + d5, d6]

// -----

// CHECK: linalg.unpack is not registered
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.unpack %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: linalg.fill: works on memref<4xf32>
// CHECK: at: {{.*}}:75:3
// CHECK: nearest supported: tensors, as before bufferization
func.func @main(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%x : memref<4xf32>)
  return
}

// -----

// CHECK: linalg.matmul: tensor<?x5xf32> has a size `?` that is not known when compiling
// CHECK: nearest supported: static shapes
func.func @main(%a: tensor<?x5xf32>, %b: tensor<5x3xf32>, %c: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x5xf32>, tensor<5x3xf32>) outs(%c : tensor<?x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// -----

// CHECK: linalg.generic: the map of a result, (d0, d1) -> ((d0 + d1)), is no projected permutation
func.func @main(%x: tensor<2x2xf32>, %o: tensor<3xf32>) -> tensor<3xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 + d1)>], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<2x2xf32>) outs(%o : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %in, %out : f32
    linalg.yield %1 : f32
  } -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// CHECK: scf.while: stands in the body of linalg.generic
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%x : tensor<2xf32>) {
  ^bb0(%out: f32):
    %1 = scf.while (%a = %out) : (f32) -> f32 {
      %c = arith.cmpf olt, %a, %out : f32
      scf.condition(%c) %a : f32
    } do {
    ^bb1(%a: f32):
      scf.yield %a : f32
    }
    linalg.yield %1 : f32
  } -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK: tensor.extract: 0 indices of a tensor of rank 1
func.func @main(%x: tensor<4xf32>) -> f32 {
  %0 = tensor.extract %x[] : tensor<4xf32>
  return %0 : f32
}

// -----

// CHECK: tensor.insert: 2 indices of a tensor of rank 1
func.func @main(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
  %c = arith.constant 1 : index
  %0 = tensor.insert %s into %x[%c, %c] : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: linalg.fill: on tensors it gives a result for each of its 1 outs
func.func @main(%x: tensor<1xf32>) {
  %zero = arith.constant 127.0 : f32
  linalg.fill ins(%zero : f32) outs(%x : tensor<1xf32>)
  func.return
}
