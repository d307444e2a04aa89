// RUN: lamina-opt %s -t llvmir | filecheck %s

// Each iteration writes its row from a per-thread buffer; the second kernel has a dynamic bound
// and a step that does not divide it; the third reads rows that other threads wrote. One team runs
// all three, with a barrier in front of the third. Afterwards one thread runs the second kernel
// again, and a kernel of parallel loops that no team calls.

// CHECK-LABEL: define internal void @lamina.barrier(ptr %arrived, i64 %threads)
// CHECK: call i32 @sched_yield()
// CHECK-LABEL: define internal void @squares(ptr noalias nonnull %a0, ptr noalias nonnull %a1, ptr nonnull %status, i64 %thread, i64 %threads, ptr %arrived)
// CHECK: udiv i64 {{.*}}, %threads
// CHECK-LABEL: define internal void @count(
// CHECK: urem i64 {{.*}}, %threads
// CHECK-LABEL: define internal void @alone(ptr nonnull %a0, ptr nonnull %status)
// CHECK-NOT: udiv
// CHECK-LABEL: define internal void @lamina_main.team1(ptr %context)
// CHECK: call i32 @omp_get_thread_num()
// CHECK: call i32 @omp_get_num_threads()
// CHECK: call void @squares(ptr {{.*}}, ptr {{.*}}, ptr [[STATUS:%\S+]], i64 [[ME:%\S+]], i64 [[ALL:%\S+]], ptr %context)
// CHECK: call void @count(ptr {{.*}}, ptr {{.*}}, ptr [[STATUS]], i64 [[ME]], i64 [[ALL]], ptr %context)
// CHECK-NEXT: icmp eq i64 [[ME]], 0
// CHECK: call void @alone(
// CHECK: call void @lamina.barrier(ptr %context, i64 [[ALL]])
// CHECK: call void @reverse(
// CHECK-LABEL: define i32 @lamina_main(
// CHECK: alloca %lamina_main.team1.context, align 128
// CHECK: call void @GOMP_parallel(ptr @lamina_main.team1, ptr {{.*}}, i32 0, i32 0)
// CHECK: call void @count(ptr {{.*}}, ptr {{.*}}, ptr %status, i64 0, i64 1, ptr null)
func.func private @squares(%x: memref<101x8xf32> {llvm.noalias}, %y: memref<101x8xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 101 : index
  "scf.parallel"(%c0, %rows, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %buffer = memref.alloca() : memref<8xf32>
    %v = vector.load %x[%i, %c0] : memref<101x8xf32>, vector<8xf32>
    %s = arith.mulf %v, %v : vector<8xf32>
    vector.store %s, %buffer[%c0] : memref<8xf32>, vector<8xf32>
    %t = vector.load %buffer[%c0] : memref<8xf32>, vector<8xf32>
    vector.store %t, %y[%i, %c0] : memref<101x8xf32>, vector<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

func.func private @count(%limit: memref<1xi64> {llvm.noalias}, %n: memref<64xi64> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : i64
  %l = memref.load %limit[%c0] : memref<1xi64>
  %end = arith.index_cast %l : i64 to index
  "scf.parallel"(%c2, %end, %c3) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %old = memref.load %n[%i] : memref<64xi64>
    %new = arith.addi %old, %c1 : i64
    memref.store %new, %n[%i] : memref<64xi64>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

func.func private @reverse(%x: memref<101x8xf32>, %y: memref<101x8xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = arith.constant 100 : index
  %rows = arith.constant 101 : index
  "scf.parallel"(%c0, %rows, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %j = arith.subi %last, %i : index
    %v = vector.load %x[%j, %c0] : memref<101x8xf32>, vector<8xf32>
    vector.store %v, %y[%i, %c0] : memref<101x8xf32>, vector<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

func.func private @alone(%n: memref<64xi64>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 64 : index
  %ten = arith.constant 10 : i64
  "scf.parallel"(%c0, %end, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %old = memref.load %n[%i] : memref<64xi64>
    %new = arith.addi %old, %ten : i64
    memref.store %new, %n[%i] : memref<64xi64>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

func.func @main(%x: memref<101x8xf32>, %y: memref<101x8xf32>, %z: memref<101x8xf32>, %limit: memref<1xi64>, %n: memref<64xi64>, %m: memref<64xi64>) attributes {lamina.entry} {
  loop.team {
    func.call @squares(%x, %y) : (memref<101x8xf32>, memref<101x8xf32>) -> ()
    func.call @count(%limit, %n) : (memref<1xi64>, memref<64xi64>) -> ()
    loop.single {
      func.call @alone(%m) : (memref<64xi64>) -> ()
    }
    loop.barrier
    func.call @reverse(%y, %z) : (memref<101x8xf32>, memref<101x8xf32>) -> ()
  }
  func.call @count(%limit, %n) : (memref<1xi64>, memref<64xi64>) -> ()
  func.return
}
