// RUN: lamina-opt %s -t llvmir | filecheck %s

// Where fewer rows count than a team pays for, one thread runs the calls where they stand.
// CHECK-LABEL: define i32 @lamina_main(
// CHECK:         [[GIVEN:%\S+]] = load i64, ptr
// CHECK:         [[LEAST:%\S+]] = call i64 @llvm.smax.i64(i64 [[GIVEN]], i64 1)
// CHECK:         [[END:%\S+]] = call i64 @llvm.smin.i64(i64 [[LEAST]], i64 101)
// CHECK:         [[ROWS:%\S+]] = mul i64 {{.*}}, [[END]]
// CHECK:         [[ENOUGH:%\S+]] = icmp sge i64 {{.*}}, 12
// CHECK:         br i1 [[ENOUGH]], label %[[SEVERAL:\S+]], label %[[ALONE:\S+]]
// CHECK:       [[ALONE]]:
// CHECK:         call void @zeros(ptr {{.*}}, ptr %status, i64 0, i64 1, ptr null)
// CHECK:         br label %[[AFTER:\S+]]
// CHECK:       [[SEVERAL]]:
// CHECK:         call void @GOMP_parallel(
// CHECK:         br label %[[AFTER]]
// CHECK:       [[AFTER]]:
func.func @main(%n: memref<i64> {lamina.kind = "input"}, %x: memref<101x2xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  loop.team if(%n : memref<i64>) attributes {live = #loop.live<[arg0 of 101, 2]>, least_rows = 12 : i64} {
    func.call @zeros(%x) : (memref<101x2xf32>) -> ()
  }
  func.return
}
func.func private @zeros(%x: memref<101x2xf32>) attributes {lamina.kernel, lamina.shared} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 101 : index
  "scf.parallel"(%c0, %rows, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = arith.constant 0.0 : f32
    memref.store %v, %x[%i, %c0] : memref<101x2xf32>
    memref.store %v, %x[%i, %c1] : memref<101x2xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
