// RUN: lamina-opt %s -p 'fuse-kernels,merge-siblings,merge-small-kernels' --split-input-file | filecheck %s

// A size that follows from one of the call is a kernel of its own: rows of what stands in front of its reader may end
// at it.
// CHECK-LABEL: @main
// CHECK:         loop.kernel
// CHECK-COUNT-1: loop.generic () in []
// CHECK-NOT:     loop.generic
// CHECK:         loop.return
// CHECK:         loop.kernel
// CHECK:         loop.generic (d0) in [64]
func.func @main(%n: tensor<i64> {lamina.kind = "input", lamina.name = "n"}) -> tensor<64xi1> {
  %less = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.op = "less"} {
  ^bb0(%a: i64):
    %c = arith.constant -1 : i64
    %b = arith.addi %a, %c : i64
    loop.yield %b : i64
  }
  %mask = loop.generic (d0) in [64] reads(%less[] : tensor<i64>) writes([d0] store : tensor<64xi1>) attributes {lamina.op = "mask"} {
  ^bb0(%a: i64):
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %b = arith.cmpi slt, %p, %a : i64
    loop.yield %b : i1
  }
  func.return %mask : tensor<64xi1>
}

// -----

// A number that the program computes of data is none: it joins its reader.
// CHECK-LABEL: @main
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
func.func @main(%x: tensor<4xi64> {lamina.kind = "input", lamina.name = "x"}) -> tensor<64xi1> {
  %most = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xi64>) writes([] max : tensor<i64>) attributes {lamina.op = "most"} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  %less = loop.generic () in [] reads(%most[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.op = "less"} {
  ^bb0(%a: i64):
    %c = arith.constant -1 : i64
    %b = arith.addi %a, %c : i64
    loop.yield %b : i64
  }
  %mask = loop.generic (d0) in [64] reads(%less[] : tensor<i64>) writes([d0] store : tensor<64xi1>) attributes {lamina.op = "mask"} {
  ^bb0(%a: i64):
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %b = arith.cmpi slt, %p, %a : i64
    loop.yield %b : i1
  }
  func.return %mask : tensor<64xi1>
}
