// RUN: lamina-opt %s -p 'fuse-elementwise{target="x86-64-v3" print-decisions=true}' 2>&1 | filecheck %s

// Each product reads the one before at two places, and would hold its body twice. What is small is
// copied; of what is not, the result is stored.
func.func @tree(%s0: tensor<256xf32>) -> tensor<1xf32> {
  %s1 = loop.generic (i) in [128] reads(%s0[2 * i] : tensor<256xf32>, %s0[2 * i + 1] : tensor<256xf32>) writes([i] store : tensor<128xf32>) attributes {lamina.op = "level1"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s2 = loop.generic (i) in [64] reads(%s1[2 * i] : tensor<128xf32>, %s1[2 * i + 1] : tensor<128xf32>) writes([i] store : tensor<64xf32>) attributes {lamina.op = "level2"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s3 = loop.generic (i) in [32] reads(%s2[2 * i] : tensor<64xf32>, %s2[2 * i + 1] : tensor<64xf32>) writes([i] store : tensor<32xf32>) attributes {lamina.op = "level3"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s4 = loop.generic (i) in [16] reads(%s3[2 * i] : tensor<32xf32>, %s3[2 * i + 1] : tensor<32xf32>) writes([i] store : tensor<16xf32>) attributes {lamina.op = "level4"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s5 = loop.generic (i) in [8] reads(%s4[2 * i] : tensor<16xf32>, %s4[2 * i + 1] : tensor<16xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.op = "level5"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s6 = loop.generic (i) in [4] reads(%s5[2 * i] : tensor<8xf32>, %s5[2 * i + 1] : tensor<8xf32>) writes([i] store : tensor<4xf32>) attributes {lamina.op = "level6"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s7 = loop.generic (i) in [2] reads(%s6[2 * i] : tensor<4xf32>, %s6[2 * i + 1] : tensor<4xf32>) writes([i] store : tensor<2xf32>) attributes {lamina.op = "level7"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %s8 = loop.generic (i) in [1] reads(%s7[2 * i] : tensor<2xf32>, %s7[2 * i + 1] : tensor<2xf32>) writes([i] store : tensor<1xf32>) attributes {lamina.op = "level8"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %s8 : tensor<1xf32>
}
// CHECK:         level1 -> level2: {{.*}} fused: computing it again takes
// CHECK-NOT:     not fused: computing
// CHECK:         +level7 -> level8: {{.*}} not fused: 127 ops of the body would be copies, more than 64
// CHECK-LABEL:   @tree
// CHECK:         [[S:%\S+]] = loop.generic (d0) in [2]
// CHECK:         loop.generic (d0) in [1] reads([[S]][d0 * 2] : tensor<2xf32>, [[S]][(d0 * 2) + 1]
// CHECK-NOT:     loop.generic
// CHECK:         func.return
