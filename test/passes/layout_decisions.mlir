// RUN: lamina-opt %s -p 'fold-layout{print-decisions=true},fuse-gathers{target="x86-64-v3" print-decisions=true}' --split-input-file 2>&1 >/dev/null | filecheck %s

// CHECK: fold-layout: turned -> exp: saves 1024 bytes, adds 0 flops: fused: the reader's index map takes it
func.func @turned(%x: tensor<8x16xf32>) -> tensor<16x8xf32> {
  %t = loop.generic (i, j) in [16, 8] reads(%x[j, i] : tensor<8x16xf32>) writes([i, j] store : tensor<16x8xf32>) attributes {lamina.op = "turned"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [16, 8] reads(%t[i, j] : tensor<16x8xf32>) writes([i, j] store : tensor<16x8xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<16x8xf32>
}

// -----

// CHECK: fold-layout: loop.reshape -> exp: saves 960 bytes, adds 0 flops: not fused: a reshape between them has no linear index map
func.func @reshaped(%x: tensor<8x15xf32>) -> tensor<10x12xf32> {
  %s = loop.reshape %x : tensor<8x15xf32> -> tensor<10x12xf32>
  %r = loop.generic (i, j) in [10, 12] reads(%s[i, j] : tensor<10x12xf32>) writes([i, j] store : tensor<10x12xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<10x12xf32>
}

// -----

// CHECK: fuse-gathers: sub -> gather: saves {{[0-9]+}} bytes, adds 0 flops: fused: computing it again takes 0.00 us
func.func @picked(%x: tensor<8x100xf32>, %m: tensor<8xf32>, %t: tensor<8xi64>) -> tensor<8xf32> {
  %p = loop.generic (i, j) in [8, 100] reads(%x[i, j] : tensor<8x100xf32>, %m[i] : tensor<8xf32>)
      writes([i, j] store : tensor<8x100xf32>) attributes {lamina.op = "sub"} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.subf %a, %b : f32
    loop.yield %v : f32
  }
  %g = loop.generic (i) in [8] reads(%t[i] : tensor<8xi64>) sources(%p : tensor<8x100xf32>)
      writes([i] store : tensor<8xf32>) attributes {lamina.op = "gather"} {
  ^bb0(%at: i64, %table: tensor<8x100xf32>):
    %i = loop.index 0 : index
    %j = arith.index_cast %at : i64 to index
    %v = loop.read %table[%i, %j] : tensor<8x100xf32>
    loop.yield %v : f32
  }
  func.return %g : tensor<8xf32>
}

// -----

// CHECK: fuse-gathers: exp -> gather: {{.*}} not fused: no read of the producer would check the computed indices
func.func @unchecked(%m: tensor<8xf32>, %t: tensor<8xi64>) -> tensor<8xf32> {
  %p = loop.generic (i, j) in [8, 100] reads(%m[i] : tensor<8xf32>)
      writes([i, j] store : tensor<8x100xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %g = loop.generic (i) in [8] reads(%t[i] : tensor<8xi64>) sources(%p : tensor<8x100xf32>)
      writes([i] store : tensor<8xf32>) attributes {lamina.op = "gather"} {
  ^bb0(%at: i64, %table: tensor<8x100xf32>):
    %i = loop.index 0 : index
    %j = arith.index_cast %at : i64 to index
    %v = loop.read %table[%i, %j] : tensor<8x100xf32>
    loop.yield %v : f32
  }
  func.return %g : tensor<8xf32>
}
