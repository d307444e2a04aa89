// RUN: lamina-opt %s -p limit-panels --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-panels,limit-panels --split-input-file | filecheck %s

// Rows that count look up at places: no more of these are made. Neither are those of which they are computed.
// CHECK-LABEL: func.func private @numbers(
// CHECK:         rows = [d0], live = [arg0 of 64], visited = [d0]>
// CHECK-LABEL: func.func private @places(
// CHECK:         rows = [d0], live = [arg1 of 64], visited = [d0]>
// CHECK-LABEL: func.func private @look_up(
func.func @main(%t: memref<64x16xf32>, %n: memref<i64> {lamina.kind = "input"}, %out: memref<64x16xf32> {lamina.kind = "output"}, %arena: memref<1024xi8>) attributes {lamina.entry} {
  %0 = arith.constant 0 : index
  %1 = memref.view %arena[%0][] : memref<1024xi8> to memref<64xi64>
  func.call @numbers(%1) : (memref<64xi64>) -> ()
  %2 = arith.constant 512 : index
  %3 = memref.view %arena[%2][] : memref<1024xi8> to memref<64xi64>
  func.call @places(%1, %3) : (memref<64xi64>, memref<64xi64>) -> ()
  func.call @look_up(%3, %t, %n, %out) : (memref<64xi64>, memref<64x16xf32>, memref<i64>, memref<64x16xf32>) -> ()
  func.return
}
func.func private @numbers(%out: memref<64xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [64] writes([d0] store into %out : memref<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    loop.yield %2 : i64
  }
  func.return
}
func.func private @places(%a: memref<64xi64>, %out: memref<64xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [64] reads(%a[d0] : memref<64xi64>) writes([d0] store into %out : memref<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%0: i64):
    %1 = arith.constant 2 : i64
    %2 = arith.divsi %0, %1 : i64
    loop.yield %2 : i64
  }
  func.return
}
func.func private @look_up(%p: memref<64xi64>, %t: memref<64x16xf32>, %n: memref<i64>, %out: memref<64x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (d0, d1) in [64, 16] reads(%p[d0] : memref<64xi64>) sources(%t : memref<64x16xf32>) writes([d0, d1] store into %out : memref<64x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg2 of 64, 16]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%0: i64, %1: memref<64x16xf32>):
    %2 = arith.index_cast %0 : i64 to index
    %3 = loop.index 1 : index
    %4 = loop.read %1[%2, %3] : memref<64x16xf32>
    loop.yield %4 : f32
  }
  func.return
}

// -----

// Whoever reads them all gets them all.
// CHECK-LABEL: func.func private @places(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @look_up(
func.func @main(%t: memref<64x16xf32>, %n: memref<i64> {lamina.kind = "input"}, %out: memref<64x16xf32> {lamina.kind = "output"}, %sum: memref<i64> {lamina.kind = "output"}, %arena: memref<512xi8>) attributes {lamina.entry} {
  %0 = arith.constant 0 : index
  %1 = memref.view %arena[%0][] : memref<512xi8> to memref<64xi64>
  func.call @places(%1) : (memref<64xi64>) -> ()
  func.call @look_up(%1, %t, %n, %out) : (memref<64xi64>, memref<64x16xf32>, memref<i64>, memref<64x16xf32>) -> ()
  func.call @total(%1, %sum) : (memref<64xi64>, memref<i64>) -> ()
  func.return
}
func.func private @places(%out: memref<64xi64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [64] writes([d0] store into %out : memref<64xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    loop.yield %2 : i64
  }
  func.return
}
func.func private @look_up(%p: memref<64xi64>, %t: memref<64x16xf32>, %n: memref<i64>, %out: memref<64x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (d0, d1) in [64, 16] reads(%p[d0] : memref<64xi64>) sources(%t : memref<64x16xf32>) writes([d0, d1] store into %out : memref<64x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg2 of 64, 16]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16>} {
  ^bb0(%0: i64, %1: memref<64x16xf32>):
    %2 = arith.index_cast %0 : i64 to index
    %3 = loop.index 1 : index
    %4 = loop.read %1[%2, %3] : memref<64x16xf32>
    loop.yield %4 : f32
  }
  func.return
}
func.func private @total(%p: memref<64xi64>, %out: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (d0) in [64] reads(%p[d0] : memref<64xi64>) writes([] add into %out : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%0: i64):
    loop.yield %0 : i64
  }
  func.return
}
