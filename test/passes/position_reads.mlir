// RUN: lamina-opt %s -p fuse-elementwise --split-input-file | filecheck %s

// An index that is linear in positions and inside the tensor is an index map; the wrap of negative
// indices is a choice with a known answer.
func.func @index(%e: tensor<1024x64xf32>) -> tensor<100x64xf32> {
  %i = loop.generic (d0) in [100] writes([d0] store : tensor<100xi64>) {
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.constant 2 : i64
    %v = arith.muli %q, %c : i64
    %n = arith.constant 1024 : i64
    %w = arith.addi %v, %n : i64
    %z = arith.constant 0 : i64
    %l = arith.cmpi slt, %v, %z : i64
    %s = arith.select %l, %w, %v : i64
    loop.yield %s : i64
  }
  %r = loop.generic (d0, d1) in [100, 64] reads(%i[d0] : tensor<100xi64>) sources(%e : tensor<1024x64xf32>) writes([d0, d1] store : tensor<100x64xf32>) {
  ^bb0(%a: i64, %t: tensor<1024x64xf32>):
    %q = arith.index_cast %a : i64 to index
    %p = loop.index 1 : index
    %v = loop.read %t[%q, %p] : tensor<1024x64xf32>
    %n = arith.negf %v : f32
    loop.yield %n : f32
  }
  func.return %r : tensor<100x64xf32>
}
// CHECK-LABEL: func.func @index
// CHECK: loop.generic (d0, d1) in [100, 64] reads(%e[d0 * 2, d1] : tensor<1024x64xf32>) writes([d0, d1] store : tensor<100x64xf32>)
// CHECK-NEXT: ^bb0(%[[A:[^ ]*]]: f32):
// CHECK-NEXT: arith.negf %[[A]]
// CHECK-NOT: loop.read

// -----

// What gives the tensor may then be computed where it is read.
func.func @beside(%e: tensor<16xf32>) -> tensor<4x4xf32> {
  %n = loop.generic (d0) in [16] reads(%e[d0] : tensor<16xf32>) writes([d0] store : tensor<16xf32>) {
  ^bb0(%a: f32):
    %v = arith.negf %a : f32
    loop.yield %v : f32
  }
  %r = loop.generic (d0, d1) in [4, 4] sources(%n : tensor<16xf32>) writes([d0, d1] store : tensor<4x4xf32>) {
  ^bb0(%t: tensor<16xf32>):
    %p = loop.index 0 : index
    %q = loop.index 1 : index
    %c = arith.constant 3 : index
    %m = arith.muli %p, %c : index
    %i = arith.addi %m, %q : index
    %v = loop.read %t[%i] : tensor<16xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<4x4xf32>
}
// CHECK-LABEL: func.func @beside
// CHECK: loop.generic (d0, d1) in [4, 4] reads(%e[(d0 * 3) + d1] : tensor<16xf32>)
// CHECK: arith.negf

// -----

// One that may be outside is checked at run time, as is one that overflows on its way, or that data give.
func.func @checked(%e: tensor<100xf32>, %j: tensor<4xi64>) -> (tensor<101xf32>, tensor<100xf32>, tensor<4xf32>) {
  %o = loop.generic (d0) in [101] sources(%e : tensor<100xf32>) writes([d0] store : tensor<101xf32>) {
  ^bb0(%t: tensor<100xf32>):
    %p = loop.index 0 : index
    %v = loop.read %t[%p] : tensor<100xf32>
    loop.yield %v : f32
  }
  %w = loop.generic (d0) in [100] sources(%e : tensor<100xf32>) writes([d0] store : tensor<100xf32>) {
  ^bb0(%t: tensor<100xf32>):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i8
    %c = arith.constant 2 : i8
    %m = arith.muli %q, %c : i8
    %d = arith.subi %m, %m : i8
    %i = arith.index_cast %d : i8 to index
    %v = loop.read %t[%i] : tensor<100xf32>
    loop.yield %v : f32
  }
  %r = loop.generic (d0) in [4] reads(%j[d0] : tensor<4xi64>) sources(%e : tensor<100xf32>) writes([d0] store : tensor<4xf32>) {
  ^bb0(%a: i64, %t: tensor<100xf32>):
    %i = arith.index_cast %a : i64 to index
    %v = loop.read %t[%i] : tensor<100xf32>
    loop.yield %v : f32
  }
  func.return %o, %w, %r : tensor<101xf32>, tensor<100xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @checked
// CHECK: sources(%e
// CHECK: sources(%e
// CHECK: sources(%e

// -----

// An index that ends at a number of the call is checked, though its position is inside the tensor.
func.func @limited(%e: tensor<1024x64xf32>, %n: tensor<i64>) -> tensor<100x64xf32> {
  %r = loop.generic (d0, d1) in [100, 64] reads(%n[] : tensor<i64>) sources(%e : tensor<1024x64xf32>) writes([d0, d1] store : tensor<100x64xf32>) {
  ^bb0(%a: i64, %t: tensor<1024x64xf32>):
    %m = arith.index_cast %a : i64 to index
    %q = loop.index 0 : index
    %p = loop.index 1 : index
    %v = loop.read %t[%q below %m, %p] : tensor<1024x64xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<100x64xf32>
}
// CHECK-LABEL: func.func @limited
// CHECK: sources(%e : tensor<1024x64xf32>)
// CHECK: loop.read %{{.*}}[%{{.*}} below %{{.*}}, %{{.*}}] : tensor<1024x64xf32>
