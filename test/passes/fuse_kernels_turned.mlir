// RUN: lamina-opt %s -p 'fuse-kernels{target="x86-64-v3" print-decisions=true}' --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=SAID
// RUN: lamina-opt %s -p 'fuse-kernels{target="x86-64-v3"}' --split-input-file | filecheck %s

// Columns less their maxima are turned: a kernel of columns would walk the matrix in jumps, once for each.
// SAID:          most -> turned: {{.*}} not fused: it turns what it reads, which its rows would walk in jumps
// CHECK-LABEL:   @turned
// CHECK-COUNT-2: loop.kernel
func.func @turned(%x: tensor<512x256xf32>) -> tensor<256x512xf32> {
  %m = loop.generic (i, j) in [512, 256] reads(%x[i, j] : tensor<512x256xf32>) writes([j] max : tensor<256xf32>) attributes {lamina.op = "most"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %r = loop.generic (j, i) in [256, 512] reads(%x[i, j] : tensor<512x256xf32>, %m[j] : tensor<256xf32>) writes([j, i] store : tensor<256x512xf32>) attributes {lamina.op = "turned"} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<256x512xf32>
}

// -----

// Of what stays as it lies, the columns of a kernel are neighbours in both.
// SAID:          most -> kept: {{.*}} fused: rows stay
// CHECK-LABEL:   @kept
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
func.func @kept(%x: tensor<512x256xf32>) -> tensor<512x256xf32> {
  %m = loop.generic (i, j) in [512, 256] reads(%x[i, j] : tensor<512x256xf32>) writes([j] max : tensor<256xf32>) attributes {lamina.op = "most"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %r = loop.generic (i, j) in [512, 256] reads(%x[i, j] : tensor<512x256xf32>, %m[j] : tensor<256xf32>) writes([i, j] store : tensor<512x256xf32>) attributes {lamina.op = "kept"} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<512x256xf32>
}

// -----

// So are rows that are turned behind a sum of each: they lie together.
// CHECK-LABEL:   @rows
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
func.func @rows(%x: tensor<512x256xf32>) -> tensor<256x512xf32> {
  %m = loop.generic (i, j) in [512, 256] reads(%x[i, j] : tensor<512x256xf32>) writes([i] max : tensor<512xf32>) attributes {lamina.op = "most"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %r = loop.generic (j, i) in [256, 512] reads(%x[i, j] : tensor<512x256xf32>, %m[i] : tensor<512xf32>) writes([j, i] store : tensor<256x512xf32>) attributes {lamina.op = "turned"} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<256x512xf32>
}

// -----

// Each row of a kernel would write a column, to 128 lines that are 4,096 bytes apart: the nearest cache keeps few of them until the next row.
// SAID:          normed -> columns_of_a_set: {{.*}} not fused: it stores what it turns to lines that share sets of the nearest cache
// CHECK-LABEL:   @columns_of_a_set
// CHECK-COUNT-2: loop.kernel
// CHECK-NOT:     loop.kernel
func.func @columns_of_a_set(%x: tensor<1024x128xf32>) -> (tensor<1024x128xf32>, tensor<128x1024xf32>) {
  %m = loop.generic (i, j) in [1024, 128] reads(%x[i, j] : tensor<1024x128xf32>) writes([i] max : tensor<1024xf32>) attributes {lamina.op = "most"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %h = loop.generic (i, j) in [1024, 128] reads(%x[i, j] : tensor<1024x128xf32>, %m[i] : tensor<1024xf32>) writes([i, j] store : tensor<1024x128xf32>) attributes {lamina.op = "normed"} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    loop.yield %c : f32
  }
  %r = loop.generic (j, i) in [128, 1024] reads(%h[i, j] : tensor<1024x128xf32>) writes([j, i] store : tensor<128x1024xf32>) attributes {lamina.op = "columns_of_a_set"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %h, %r : tensor<1024x128xf32>, tensor<128x1024xf32>
}

// -----

// Lines of 4,000 bytes are in sets of their own.
// SAID:          normed -> columns_of_many_sets: {{.*}} fused
// CHECK-LABEL:   @columns_of_many_sets
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
func.func @columns_of_many_sets(%x: tensor<1000x128xf32>) -> (tensor<1000x128xf32>, tensor<128x1000xf32>) {
  %m = loop.generic (i, j) in [1000, 128] reads(%x[i, j] : tensor<1000x128xf32>) writes([i] max : tensor<1000xf32>) attributes {lamina.op = "most"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %h = loop.generic (i, j) in [1000, 128] reads(%x[i, j] : tensor<1000x128xf32>, %m[i] : tensor<1000xf32>) writes([i, j] store : tensor<1000x128xf32>) attributes {lamina.op = "normed"} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    loop.yield %c : f32
  }
  %r = loop.generic (j, i) in [128, 1000] reads(%h[i, j] : tensor<1000x128xf32>) writes([j, i] store : tensor<128x1000xf32>) attributes {lamina.op = "columns_of_many_sets"} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %h, %r : tensor<1000x128xf32>, tensor<128x1000xf32>
}

// -----

// What follows a product at once is stored from its blocks of rows.
// SAID:          product -> turned_product: {{.*}} fused
// CHECK-LABEL:   @turned_product
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
func.func @turned_product(%x: tensor<1024x64xf32>, %w: tensor<4x64x32xf32>) -> tensor<128x1024xf32> {
  %h = loop.generic (i, j, k) in [1024, 128, 64] reads(%x[i, k] : tensor<1024x64xf32>, %w[j floordiv 32, k, j mod 32] : tensor<4x64x32xf32>) writes([i, j] add : tensor<1024x128xf32>) attributes {lamina.op = "product", lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %r = loop.generic (j, i) in [128, 1024] reads(%h[i, j] : tensor<1024x128xf32>) writes([j, i] store : tensor<128x1024xf32>) attributes {lamina.op = "turned_product"} {
  ^bb0(%a: f32):
    %c = math.exp %a : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<128x1024xf32>
}
