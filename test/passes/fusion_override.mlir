// RUN: lamina-opt %s -p 'fuse-elementwise{target="x86-64-v3" print-decisions=true}' --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=SAID
// RUN: lamina-opt %s -p 'fuse-elementwise{target="x86-64-v3"},fuse-kernels' --split-input-file | filecheck %s

// One reader: the store and the read go, nothing is computed twice.
// SAID: fuse-elementwise: tanh -> mul: saves 65536 bytes, adds 0 flops: fused: nothing is computed twice
// CHECK-LABEL: @one_reader
// CHECK:         lamina.op = ["tanh", "mul"]
func.func @one_reader(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>) -> (tensor<64x128xf32>) {
  %a = loop.generic (i, j) in [64, 128] reads(%x[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.op = "tanh"} {
  ^bb0(%p: f32):
    %v = math.tanh %p : f32
    loop.yield %v : f32
  }
  %b = loop.generic (i, j) in [64, 128] reads(%a[i, j] : tensor<64x128xf32>, %y[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.op = "mul"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %b : tensor<64x128xf32>
}

// -----

// The program says otherwise.
// SAID: fuse-elementwise: tanh -> mul: {{.*}} not fused: lamina.fuse = "never"
// CHECK-LABEL: @never
// CHECK:         loop.kernel
// CHECK:         lamina.op = "tanh"
// CHECK:         loop.kernel{{.*}}lamina.not_fused = ["tanh -> mul: lamina.fuse = {{.*}}never
// CHECK:         lamina.op = "mul"
func.func @never(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>) -> (tensor<64x128xf32>) {
  %a = loop.generic (i, j) in [64, 128] reads(%x[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.op = "tanh", lamina.fuse = "never"} {
  ^bb0(%p: f32):
    %v = math.tanh %p : f32
    loop.yield %v : f32
  }
  %b = loop.generic (i, j) in [64, 128] reads(%a[i, j] : tensor<64x128xf32>, %y[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.op = "mul"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %b : tensor<64x128xf32>
}

// -----

// Two readers: a tanh is too much to compute twice.
// SAID: fuse-elementwise: tanh -> mul: saves 32768 bytes, adds 143360 flops: not fused: computing it again takes 2.56 us, storing and reading it 0.29 us
// SAID: fuse-elementwise: tanh -> add: {{.*}} not fused
// CHECK-LABEL: @two_readers
// CHECK:         lamina.op = "tanh"
// CHECK:         lamina.op = "mul"
func.func @two_readers(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
  %a = loop.generic (i, j) in [64, 128] reads(%x[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.op = "tanh"} {
  ^bb0(%p: f32):
    %v = math.tanh %p : f32
    loop.yield %v : f32
  }
  %b = loop.generic (i, j) in [64, 128] reads(%a[i, j] : tensor<64x128xf32>, %y[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.op = "mul"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %c = loop.generic (i, j) in [64, 128] reads(%a[i, j] : tensor<64x128xf32>, %y[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.op = "add"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %b, %c : tensor<64x128xf32>, tensor<64x128xf32>
}

// -----

// SAID: fuse-elementwise: tanh -> mul: saves 32768 bytes, adds 143360 flops: fused: lamina.fuse = "always"
// SAID: fuse-elementwise: tanh -> add: {{.*}}, adds 0 flops: fused: lamina.fuse = "always"
// CHECK-LABEL: @always
// CHECK:         lamina.op = ["tanh", "mul"]
// CHECK:         lamina.op = ["tanh", "add"]
func.func @always(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
  %a = loop.generic (i, j) in [64, 128] reads(%x[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.op = "tanh", lamina.fuse = "always"} {
  ^bb0(%p: f32):
    %v = math.tanh %p : f32
    loop.yield %v : f32
  }
  %b = loop.generic (i, j) in [64, 128] reads(%a[i, j] : tensor<64x128xf32>, %y[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.op = "mul"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %c = loop.generic (i, j) in [64, 128] reads(%a[i, j] : tensor<64x128xf32>, %y[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) attributes {lamina.op = "add"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %b, %c : tensor<64x128xf32>, tensor<64x128xf32>
}
