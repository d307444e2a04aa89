// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-rows,limit-rows --split-input-file | filecheck %s

// A scan along all elements of rows ends where the rows do that are in front: none of them needs those behind.
// CHECK-LABEL: @main
func.func @main(%x: tensor<8x6xi64>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x6xi64> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = loop.reshape %x : tensor<8x6xi64> -> tensor<48xi64>
  %1 = func.call @scan(%0) : (tensor<48xi64>) -> tensor<48xi64>
  %2 = loop.reshape %1 : tensor<48xi64> -> tensor<8x6xi64>
  %3 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %2, %3 : tensor<8x6xi64>, tensor<i64>
}
// CHECK-LABEL: func.func private @scan(
// CHECK:         lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8, 6]>
func.func private @scan(%x: tensor<48xi64>) -> tensor<48xi64> attributes {lamina.kernel} {
  %0 = loop.scan (d0) in [48] along 0 reads(%x[d0] : tensor<48xi64>) carries(0 : i64) gives(tensor<48xi64>) {
  ^bb0(%a: i64, %s: i64):
    %b = arith.addi %s, %a : i64
    loop.yield %b, %b : i64, i64
  }
  func.return %0 : tensor<48xi64>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// Where the elements within rows end it has all of them: those of the next row follow behind.
// CHECK-LABEL: @main
// CHECK-NOT:     live
func.func @main(%x: tensor<8x6xi64>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<8x6xi64> {lamina.sizes = [-1, 0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = loop.reshape %x : tensor<8x6xi64> -> tensor<48xi64>
  %1 = func.call @scan(%0) : (tensor<48xi64>) -> tensor<48xi64>
  %2 = loop.reshape %1 : tensor<48xi64> -> tensor<8x6xi64>
  %3 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %2, %3 : tensor<8x6xi64>, tensor<i64>
}
func.func private @scan(%x: tensor<48xi64>) -> tensor<48xi64> attributes {lamina.kernel} {
  %0 = loop.scan (d0) in [48] along 0 reads(%x[d0] : tensor<48xi64>) carries(0 : i64) gives(tensor<48xi64>) {
  ^bb0(%a: i64, %s: i64):
    %b = arith.addi %s, %a : i64
    loop.yield %b, %b : i64, i64
  }
  func.return %0 : tensor<48xi64>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// A mask that is chosen to be false behind a size is as good as a conjunction: places that it chooses end there. Where
// it is chosen to be true, places behind are asked for.
// CHECK-LABEL: @main
func.func @main(%m: tensor<48xi1>, %i: tensor<48xi64>, %t: tensor<48xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<48xf32> {lamina.sizes = [0]}, tensor<48xf32> {lamina.sizes = [0]}, tensor<i64> {lamina.kind = "size"}) {
  %0, %1 = func.call @masks(%m, %n) : (tensor<48xi1>, tensor<i64>) -> (tensor<48xi1>, tensor<48xi1>)
  %2 = func.call @places(%i) : (tensor<48xi64>) -> tensor<48xi64>
  %3 = func.call @take(%0, %2, %t) : (tensor<48xi1>, tensor<48xi64>, tensor<48xf32>) -> tensor<48xf32>
  %4 = func.call @others(%i) : (tensor<48xi64>) -> tensor<48xi64>
  %5 = func.call @take(%1, %4, %t) : (tensor<48xi1>, tensor<48xi64>, tensor<48xf32>) -> tensor<48xf32>
  %6 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %3, %5, %6 : tensor<48xf32>, tensor<48xf32>, tensor<i64>
}
func.func private @masks(%m: tensor<48xi1>, %n: tensor<i64>) -> (tensor<48xi1>, tensor<48xi1>) attributes {lamina.kernel} {
  %0, %1 = loop.generic (d0) in [48] reads(%m[d0] : tensor<48xi1>, %n[] : tensor<i64>) writes([d0] store : tensor<48xi1>, [d0] store : tensor<48xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i1, %e: i64):
    %i = loop.index 0 : index
    %p = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %p, %e : i64
    %f = arith.constant false
    %t = arith.constant true
    %b = arith.select %c, %a, %f : i1
    %d = arith.select %c, %a, %t : i1
    loop.yield %b, %d : i1, i1
  }
  func.return %0, %1 : tensor<48xi1>, tensor<48xi1>
}
// CHECK-LABEL: func.func private @places(
// CHECK:         lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 48]>
func.func private @places(%i: tensor<48xi64>) -> tensor<48xi64> attributes {lamina.kernel} {
  %0 = loop.generic (d0) in [48] reads(%i[d0] : tensor<48xi64>) writes([d0] store : tensor<48xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %b = arith.muli %a, %a : i64
    loop.yield %b : i64
  }
  func.return %0 : tensor<48xi64>
}
// CHECK-LABEL: func.func private @others(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @take(
func.func private @others(%i: tensor<48xi64>) -> tensor<48xi64> attributes {lamina.kernel} {
  %0 = loop.generic (d0) in [48] reads(%i[d0] : tensor<48xi64>) writes([d0] store : tensor<48xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %b = arith.addi %a, %a : i64
    loop.yield %b : i64
  }
  func.return %0 : tensor<48xi64>
}
func.func private @take(%m: tensor<48xi1>, %p: tensor<48xi64>, %t: tensor<48xf32>) -> tensor<48xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0) in [48] reads(%m[d0] : tensor<48xi1>, %p[d0] : tensor<48xi64>) sources(%t : tensor<48xf32>) writes([d0] store : tensor<48xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%b: i1, %a: i64, %s: tensor<48xf32>):
    %z = arith.constant 0 : i64
    %c = arith.select %b, %a, %z : i64
    %i = arith.index_cast %c : i64 to index
    %v = loop.read %s[%i] : tensor<48xf32>
    loop.yield %v : f32
  }
  func.return %0 : tensor<48xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}
