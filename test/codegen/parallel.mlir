// RUN: lamina-opt %s -t llvmir | filecheck %s

// Each iteration writes its row from a per-thread buffer; the second kernel has a dynamic bound
// and a step that does not divide it.

// CHECK-LABEL: define internal void @squares.region1(ptr noalias nonnull %p0
// CHECK-LABEL: define internal void @squares.region1.thread(ptr %context)
// CHECK: call i32 @omp_get_thread_num()
// CHECK-LABEL: define internal void @squares(
// CHECK: call void @GOMP_parallel(ptr @squares.region1.thread
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

func.func @main(%x: memref<101x8xf32>, %y: memref<101x8xf32>, %limit: memref<1xi64>, %n: memref<64xi64>) attributes {lamina.entry} {
  func.call @squares(%x, %y) : (memref<101x8xf32>, memref<101x8xf32>) -> ()
  func.call @count(%limit, %n) : (memref<1xi64>, memref<64xi64>) -> ()
  func.return
}
