// RUN: lamina-opt %s -p expect-runs --split-input-file | filecheck %s

// A flip: positions, backwards from the last one.
// CHECK-LABEL: @flip
// CHECK:         loop.read {{.*}} {lamina.runs} : tensor<64xf32>
func.func @flip(%x: tensor<64xf32>, %n: tensor<i64>) -> tensor<64xf32> {
  %0 = loop.generic (i) in [64] reads(%n[] : tensor<i64>) sources(%x : tensor<64xf32>) writes([i] store : tensor<64xf32>) {
  ^bb0(%m: i64, %t: tensor<64xf32>):
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %d = arith.subi %m, %p : i64
    %zero = arith.constant 0 : i64
    %inside = arith.maxsi %d, %zero : i64
    %j = arith.index_cast %inside : i64 to index
    %v = loop.read %t[%j] : tensor<64xf32>
    loop.yield %v : f32
  }
  func.return %0 : tensor<64xf32>
}

// -----

// Joined dimensions, whose places another nest makes.
// CHECK-LABEL: @joined
// CHECK:         loop.read {{.*}} {lamina.runs} : tensor<8x8xf32>
func.func @joined(%x: tensor<8x8xf32>, %w: tensor<i64>) -> tensor<64xf32> {
  %q, %r = loop.generic (i) in [64] reads(%w[] : tensor<i64>) writes([i] store : tensor<64xi64>, [i] store : tensor<64xi64>) {
  ^bb0(%n: i64):
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %d = arith.divsi %p, %n : i64
    %m = arith.muli %d, %n : i64
    %s = arith.subi %p, %m : i64
    loop.yield %d, %s : i64, i64
  }
  %0 = loop.generic (i) in [64] reads(%q[i] : tensor<64xi64>, %r[i] : tensor<64xi64>) sources(%x : tensor<8x8xf32>) writes([i] store : tensor<64xf32>) {
  ^bb0(%a: i64, %b: i64, %t: tensor<8x8xf32>):
    %row = arith.index_cast %a : i64 to index
    %column = arith.index_cast %b : i64 to index
    %v = loop.read %t[%row, %column] : tensor<8x8xf32>
    loop.yield %v : f32
  }
  func.return %0 : tensor<64xf32>
}

// -----

// Places that are data may be anywhere.
// CHECK-LABEL: @data
// CHECK-NOT:     lamina.runs
func.func @data(%x: tensor<64xf32>, %i: tensor<64xi64>) -> tensor<64xf32> {
  %0 = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>) sources(%x : tensor<64xf32>) writes([i] store : tensor<64xf32>) {
  ^bb0(%a: i64, %t: tensor<64xf32>):
    %j = arith.index_cast %a : i64 to index
    %v = loop.read %t[%j] : tensor<64xf32>
    loop.yield %v : f32
  }
  func.return %0 : tensor<64xf32>
}

// -----

// Each element twice, and every second one, are no neighbours.
// CHECK-LABEL: @steps
// CHECK-NOT:     lamina.runs
func.func @steps(%x: tensor<64xf32>, %n: tensor<i64>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0, %1 = loop.generic (i) in [64] reads(%n[] : tensor<i64>) sources(%x : tensor<64xf32>) writes([i] store : tensor<64xf32>, [i] store : tensor<64xf32>) {
  ^bb0(%m: i64, %t: tensor<64xf32>):
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %two = arith.constant 2 : i64
    %half = arith.divsi %p, %two : i64
    %double = arith.muli %p, %two : i64
    %cut = arith.minsi %double, %m : i64
    %j = arith.index_cast %half : i64 to index
    %k = arith.index_cast %cut : i64 to index
    %v = loop.read %t[%j] : tensor<64xf32>
    %w = loop.read %t[%k] : tensor<64xf32>
    loop.yield %v, %w : f32, f32
  }
  func.return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
