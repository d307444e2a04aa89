// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v3"},choose-schedule{target="x86-64-v3"},apply-schedule' | filecheck %s

// A row's single value that is read beyond its edge stands in memory, where positions can be tested.
func.func private @pads(%x: memref<3x5xf32>, %y: memref<3x5xf32>) attributes {lamina.kernel} {
  %one = memref.alloc() : memref<3x1xf32>
  loop.generic (i) in [3] reads(%x[i, 2] : memref<3x5xf32>) writes([i, 0] store into %one : memref<3x1xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  loop.generic (i, j) in [3, 5] reads(%one[i, j + -4] pad 1.000000e+00 : f32 : memref<3x1xf32>) writes([i, j] store into %y : memref<3x5xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @pads
// CHECK:       [[ONE:%.*]] = memref.alloca() {{.*}} : memref<1xf32>
// CHECK:         [[NEGATED:%.*]] = arith.negf
// CHECK:         memref.store [[NEGATED]], [[ONE]]
// CHECK:         [[PLACES:%.*]] = arith.addi {{.*}} : vector<8xindex>
// CHECK:         loop.cmpi [[PLACES]], {{.*}} : vector<8xindex>
// CHECK-NEXT:    [[INSIDE:%.*]] = arith.andi
// CHECK-NEXT:    loop.gather [[ONE]]{{.*}}, [[INSIDE]],
