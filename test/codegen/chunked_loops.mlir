// RUN: lamina-opt %s -t llvmir | filecheck %s

// Two loops of a kernel are taken in chunks, the first by a bound that the call gives; both kernels
// have numbers of their own in the team, six in all. A team in a loop of the program begins anew.

// CHECK-LABEL: define internal void @marks(ptr nonnull %a0, ptr nonnull %a1, ptr nonnull %a2, ptr nonnull %status, i64 %thread, i64 %threads, ptr %arrived, i64 %loops)
// CHECK:         [[OWN:%\S+]] = alloca i64
// CHECK:         icmp ugt i64 %threads, 1
// CHECK:         icmp sge i64 %loops, 0
// CHECK:         add i64 %loops, 0
// CHECK:         phi ptr [ [[OWN]], %{{.*}} ], [ {{.*}} ]
// CHECK:         load atomic i64, ptr [[NUMBER:%\S+]] monotonic, align 8
// CHECK:         atomicrmw add ptr [[NUMBER]], i64 3 monotonic
// CHECK:         add i64 %loops, 1
// CHECK:         atomicrmw add ptr {{.*}}, i64 1 monotonic
// CHECK-LABEL: define internal void @lamina_main.team1(ptr %context)
// CHECK:         call void @marks({{.*}}, ptr %context, i64 0)
// CHECK:         call void @lamina.barrier(
// CHECK:         call void @marks({{.*}}, ptr %context, i64 2)
// CHECK:         call void @marks({{.*}}, i64 0, i64 1, ptr null, i64 -1)
// CHECK-LABEL: define i32 @lamina_main(
// CHECK:         call ptr @llvm.stacksave.p0()
// CHECK:         [[USUAL:%\S+]] = call i32 @omp_get_max_threads()
// CHECK:         [[THREADS:%\S+]] = call i32 @llvm.umin.i32(i32 [[USUAL]], i32 256)
// CHECK:         [[SIZE:%\S+]] = mul i32 [[THREADS]], 128
// CHECK-NEXT:    [[NUMBERS:%\S+]] = alloca i8, i32 [[SIZE]], align 128
// CHECK-NEXT:    call void @llvm.memset.p0.i32(ptr align 128 [[NUMBERS]], i8 0, i32 [[SIZE]], i1 false)
// CHECK:         call void @GOMP_parallel(ptr @lamina_main.team1, ptr {{.*}}, i32 [[THREADS]], i32 0)
// CHECK-NEXT:    call void @llvm.stackrestore.p0(
func.func private @marks(%limit: memref<1xi64>, %n: memref<64xi64>, %by: memref<64xi64>) attributes {lamina.kernel} {
  %me = loop.thread : index
  %thread = arith.index_cast %me : index to i64
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %64 = arith.constant 64 : index
  %one = arith.constant 1 : i64
  %l = memref.load %limit[%0] : memref<1xi64>
  %end = arith.index_cast %l : i64 to index
  "scf.parallel"(%1, %end, %2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %old = memref.load %n[%i] : memref<64xi64>
    %new = arith.addi %old, %one : i64
    memref.store %new, %n[%i] : memref<64xi64>
    scf.reduce
  }) {lamina.chunk = 3 : i64} : (index, index, index) -> ()
  "scf.parallel"(%0, %64, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %old = memref.load %by[%i] : memref<64xi64>
    %ten = arith.constant 10 : i64
    %tens = arith.muli %old, %ten : i64
    %new = arith.addi %tens, %thread : i64
    memref.store %new, %by[%i] : memref<64xi64>
    scf.reduce
  }) {lamina.chunk = 1 : i64} : (index, index, index) -> ()
  func.return
}

func.func @main(%limit: memref<1xi64>, %n: memref<64xi64>, %by: memref<64xi64>, %m: memref<64xi64>) attributes {lamina.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %3 = arith.constant 3 : index
  scf.for %i = %0 to %3 step %1 {
    loop.team {
      func.call @marks(%limit, %n, %by) : (memref<1xi64>, memref<64xi64>, memref<64xi64>) -> ()
      loop.barrier
      func.call @marks(%limit, %n, %m) : (memref<1xi64>, memref<64xi64>, memref<64xi64>) -> ()
      loop.barrier
      loop.single {
        func.call @marks(%limit, %n, %m) : (memref<1xi64>, memref<64xi64>, memref<64xi64>) -> ()
      }
    }
  }
  func.return
}
