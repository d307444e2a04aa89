// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v3"},choose-schedule{target="x86-64-v3"},apply-schedule' --split-input-file | filecheck %s

// Four rows at once, so that four chains of additions overlap; two threads or more share the groups.
func.func private @rows(%x: memref<1024x64xf32>, %y: memref<1024x64xf32>) attributes {lamina.kernel} {
  loop.scan (d0, d1) in [1024, 64] along 1 reads(%x[d0, d1] : memref<1024x64xf32>) carries(0.0 : f32) outs(%y : memref<1024x64xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return
}
// CHECK-LABEL: @rows
// CHECK-DAG:     [[N:%\S+]] = arith.constant 256 : index
// CHECK:         scf.parallel"({{.*}}, [[N]], {{.*}})
// CHECK:         scf.for {{.*}} -> (f32, f32, f32, f32)
// CHECK-COUNT-4: memref.store
// CHECK-NEXT:    scf.yield

// -----

// An odd number of rows runs one by one.
func.func private @odd(%x: memref<67x64xf32>, %y: memref<67x64xf32>) attributes {lamina.kernel} {
  loop.scan (d0, d1) in [67, 64] along 1 reads(%x[d0, d1] : memref<67x64xf32>) carries(0.0 : f32) outs(%y : memref<67x64xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return
}
// CHECK-LABEL: @odd
// CHECK:         scf.for {{.*}} -> (f32)

// -----

// One along rows of six that are in front ends behind the last of these.
func.func private @prefix(%x: memref<48xf32>, %n: memref<i64>, %y: memref<48xf32>) attributes {lamina.kernel} {
  loop.scan (d0) in [48] along 0 reads(%x[d0] : memref<48xf32>) carries(0.0 : f32) outs(%y : memref<48xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8, 6]>} {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next, %next : f32, f32
  }
  func.return
}
// CHECK-LABEL: @prefix
// CHECK-DAG:     [[SIX:%\S+]] = arith.constant 6 : index
// CHECK:         [[END:%\S+]] = arith.muli {{%\S+}}, [[SIX]] : index
// CHECK:         scf.for {{%\S+}} = {{%\S+}} to [[END]]
