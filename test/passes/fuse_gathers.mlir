// RUN: lamina-opt %s -p fuse-gathers --split-input-file | filecheck %s

// The difference is computed where it is read, from checked reads of what it is made from.
func.func @picked(%x: tensor<8x100xf32>, %m: tensor<8xf32>, %t: tensor<8xi64>) -> tensor<8xf32> {
  %p = loop.generic (i, j) in [8, 100] reads(%x[i, j] : tensor<8x100xf32>, %m[i] : tensor<8xf32>)
      writes([i, j] store : tensor<8x100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.subf %a, %b : f32
    loop.yield %v : f32
  }
  %g = loop.generic (i) in [8] reads(%t[i] : tensor<8xi64>) sources(%p : tensor<8x100xf32>)
      writes([i] store : tensor<8xf32>) {
  ^bb0(%at: i64, %table: tensor<8x100xf32>):
    %i = loop.index 0 : index
    %j = arith.index_cast %at : i64 to index
    %v = loop.read %table[%i, %j] : tensor<8x100xf32>
    loop.yield %v : f32
  }
  func.return %g : tensor<8xf32>
}
// CHECK-LABEL: func.func @picked
// What is read at the position itself is a read like any other.
// CHECK-NEXT: %g = loop.generic (d0) in [8] reads(%t[d0] : tensor<8xi64>, %m[d0] : tensor<8xf32>)
// CHECK-SAME: sources(%x : tensor<8x100xf32>)
// CHECK-NEXT: ^bb0(%{{[^ ]*}}: i64, %[[B:[^ ]*]]: f32,
// CHECK: %[[J:[^ ]*]] = arith.index_cast
// CHECK-NEXT: %[[A:[^ ]*]] = loop.read %{{[^ ]*}}[%{{[^ ]*}}, %[[J]]] : tensor<8x100xf32>
// CHECK-NEXT: arith.subf %[[A]], %[[B]]

// -----

// Read in full as well, the result is stored anyway.
func.func @also_stored(%x: tensor<8x100xf32>, %t: tensor<8xi64>)
    -> (tensor<8xf32>, tensor<8x100xf32>) {
  %p = loop.generic (i, j) in [8, 100] reads(%x[i, j] : tensor<8x100xf32>)
      writes([i, j] store : tensor<8x100xf32>) {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %g = loop.generic (i) in [8] reads(%t[i] : tensor<8xi64>) sources(%p : tensor<8x100xf32>)
      writes([i] store : tensor<8xf32>) {
  ^bb0(%at: i64, %table: tensor<8x100xf32>):
    %i = loop.index 0 : index
    %j = arith.index_cast %at : i64 to index
    %v = loop.read %table[%i, %j] : tensor<8x100xf32>
    loop.yield %v : f32
  }
  func.return %g, %p : tensor<8xf32>, tensor<8x100xf32>
}
// CHECK-LABEL: func.func @also_stored
// CHECK: sources(%p : tensor<8x100xf32>)

// -----

// A broadcast axis has no read whose check would catch a bad index: nothing is fused.
func.func @unchecked(%m: tensor<8xf32>, %t: tensor<8xi64>) -> tensor<8xf32> {
  %p = loop.generic (i, j) in [8, 100] reads(%m[i] : tensor<8xf32>)
      writes([i, j] store : tensor<8x100xf32>) {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %g = loop.generic (i) in [8] reads(%t[i] : tensor<8xi64>) sources(%p : tensor<8x100xf32>)
      writes([i] store : tensor<8xf32>) {
  ^bb0(%at: i64, %table: tensor<8x100xf32>):
    %i = loop.index 0 : index
    %j = arith.index_cast %at : i64 to index
    %v = loop.read %table[%i, %j] : tensor<8x100xf32>
    loop.yield %v : f32
  }
  func.return %g : tensor<8xf32>
}
// CHECK-LABEL: func.func @unchecked
// CHECK: sources(%p : tensor<8x100xf32>)

// -----

// A limit of an index is one of the reads of what it picks.
func.func @limited(%x: tensor<8x100xf32>, %m: tensor<100xf32>, %t: tensor<8xi64>, %n: tensor<i64>) -> tensor<8xf32> {
  %p = loop.generic (i, j) in [8, 100] reads(%x[i, j] : tensor<8x100xf32>, %m[j] : tensor<100xf32>)
      writes([i, j] store : tensor<8x100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.subf %a, %b : f32
    loop.yield %v : f32
  }
  %g = loop.generic (i) in [8] reads(%t[i] : tensor<8xi64>, %n[] : tensor<i64>) sources(%p : tensor<8x100xf32>)
      writes([i] store : tensor<8xf32>) {
  ^bb0(%at: i64, %end: i64, %table: tensor<8x100xf32>):
    %i = loop.index 0 : index
    %j = arith.index_cast %at : i64 to index
    %e = arith.index_cast %end : i64 to index
    %v = loop.read %table[%i, %j below %e] : tensor<8x100xf32>
    loop.yield %v : f32
  }
  func.return %g : tensor<8xf32>
}
// CHECK-LABEL: func.func @limited
// CHECK: %[[J:[^ ]*]] = arith.index_cast
// CHECK-NEXT: %[[E:[^ ]*]] = arith.index_cast
// CHECK-NEXT: loop.read %{{[^ ]*}}[%{{[^ ]*}}, %[[J]] below %[[E]]] : tensor<8x100xf32>
// CHECK-NEXT: loop.read %{{[^ ]*}}[%[[J]] below %[[E]]] : tensor<100xf32>
