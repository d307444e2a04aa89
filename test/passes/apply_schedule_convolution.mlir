// RUN: lamina-opt %s --from loop --to scheduled --split-input-file | filecheck %s

// Four images of 32 lines, eight channels, and what is pointwise after: each line of an image is a task,
// whose results are negated in registers.
func.func @main(%x: tensor<4x4x34x34xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<4x8x32x32xf32> {
  %p = loop.generic (n, c, y, x, k, j, i) in [4, 8, 32, 32, 4, 3, 3] reads(%x[n, k, y + j, x + i] : tensor<4x4x34x34xf32>, %w[c, k, j, i] : tensor<8x4x3x3xf32>) writes([n, c, y, x] add : tensor<4x8x32x32xf32>) attributes {lamina.op = "convolution"} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  %r = loop.generic (n, c, y, x) in [4, 8, 32, 32] reads(%p[n, c, y, x] : tensor<4x8x32x32xf32>) writes([n, c, y, x] store : tensor<4x8x32x32xf32>) attributes {lamina.op = "neg"} {
  ^bb0(%a: f32):
    %v = arith.negf %a : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x8x32x32xf32>
}
// CHECK:         func.func private @kernel_0
// CHECK-DAG:     [[TASKS:%\S+]] = arith.constant 128 : index
// CHECK:         "scf.parallel"({{%\S+}}, [[TASKS]], {{%\S+}})
// CHECK-NOT:     memref.alloca
// CHECK-NOT:     vector.store
// CHECK:         [[R:%\S+]] = arith.negf
// CHECK:         vector.store [[R]]

// -----

// One image with one panel a line: without its lines, there would be one task.
func.func @main(%x: tensor<1x8x18x18xf32>, %w: tensor<32x8x3x3xf32>) -> tensor<1x32x16x16xf32> {
  %p = loop.generic (n, c, y, x, k, j, i) in [1, 32, 16, 16, 8, 3, 3] reads(%x[n, k, y + j, x + i] : tensor<1x8x18x18xf32>, %w[c, k, j, i] : tensor<32x8x3x3xf32>) writes([n, c, y, x] add : tensor<1x32x16x16xf32>) attributes {lamina.op = "convolution"} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %p : tensor<1x32x16x16xf32>
}
// CHECK:         func.func private @kernel_0
// CHECK-DAG:     [[TASKS:%\S+]] = arith.constant 16 : index
// CHECK:         "scf.parallel"({{%\S+}}, [[TASKS]], {{%\S+}})

// -----

// With a thousand channels there are blocks of them, and each task walks all lines.
func.func @main(%x: tensor<1x8x11x11xf32>, %w: tensor<1024x8x3x3xf32>) -> tensor<1x1024x9x9xf32> {
  %p = loop.generic (n, c, y, x, k, j, i) in [1, 1024, 9, 9, 8, 3, 3] reads(%x[n, k, y + j, x + i] : tensor<1x8x11x11xf32>, %w[c, k, j, i] : tensor<1024x8x3x3xf32>) writes([n, c, y, x] add : tensor<1x1024x9x9xf32>) attributes {lamina.op = "convolution"} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %p : tensor<1x1024x9x9xf32>
}
// CHECK:         func.func private @kernel_1
// CHECK-DAG:     [[TASKS:%\S+]] = arith.constant 16 : index
// CHECK-DAG:     [[LINES:%\S+]] = arith.constant 9 : index
// CHECK:         "scf.parallel"({{%\S+}}, [[TASKS]], {{%\S+}})
// CHECK:         scf.for {{%\S+}} = {{%\S+}} to [[LINES]]

// -----

// A place of a window beside another fills no vector: vectors run along the channels, which are rows of
// the window's gradient otherwise.
func.func @main(%x: tensor<4x32x30x30xf32>, %g: tensor<4x64x28x28xf32>) -> tensor<64x32x3x3xf32> {
  %p = loop.generic (o, c, j, i, n, y, x) in [64, 32, 3, 3, 4, 28, 28] reads(%x[n, c, y + j, x + i] : tensor<4x32x30x30xf32>, %g[n, o, y, x] : tensor<4x64x28x28xf32>) writes([o, c, j, i] add : tensor<64x32x3x3xf32>) attributes {lamina.op = "convolution"} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %p : tensor<64x32x3x3xf32>
}
// CHECK:         func.func private @kernel_0(%g: memref<4x64x28x28xf32>
