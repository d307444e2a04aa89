// RUN: lamina-opt %s -p parallelize | filecheck %s
// RUN: lamina-opt %s -p apply-schedule | filecheck %s --check-prefix LOOPS

// Tasks of rows that count, taken in turn, are dealt out; a task may have none.
// CHECK-LABEL: @sums
// CHECK:         scf.parallel
// CHECK:           %[[HIGH:[0-9]+]] = arith.remui %{{[0-9]+}}, %[[TWO:[0-9]+]]
// CHECK:           %[[SCALED:[0-9]+]] = arith.muli %[[HIGH]], %[[TWO]]
// CHECK:           %[[LOW:[0-9]+]] = arith.divui %{{[0-9]+}}, %[[TWO]]
// CHECK:           %[[TASK:[0-9]+]] = arith.addi %[[SCALED]], %[[LOW]]
// CHECK:           %[[END:[0-9]+]] = loop.live_turns %[[TASK]] of 16 : index(%n) in <[arg0 of 64]> : memref<i64>
// CHECK:           scf.for %[[TURN:[0-9]+]] = %{{[0-9]+}} to %[[END]]
// CHECK:             loop.generic (d0, d1, d2) in [4, 16, 8] slice(d0 = %[[TASK]], d1 = %[[TURN]])
// LOOPS-LABEL: @sums
// LOOPS:         arith.subi
// LOOPS:         arith.maxsi
// LOOPS:         %[[END:[0-9]+]] = arith.minsi
// LOOPS:         scf.for %{{[0-9]+}} = %{{[0-9]+}} to %[[END]]
func.func private @sums(%x: memref<64x8xf32>, %n: memref<i64>, %y: memref<4x8xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (p, i, j) in [4, 16, 8] reads(%x[p * 16 + i, j] : memref<64x8xf32>, %n[] : memref<i64>) writes([p, j] add into %y : memref<4x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 64]>, lamina.schedule = #loop.schedule<vectorize = d2 x 8>} {
  ^bb0(%a: f32, %e: i64):
    %p = loop.index 0 : index
    %i = loop.index 1 : index
    %s = arith.constant 16 : index
    %t = arith.muli %p, %s : index
    %q = arith.addi %t, %i : index
    %r = arith.index_cast %q : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  func.return
}
