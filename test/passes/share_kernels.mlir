// RUN: lamina-opt %s -p share-kernels,verify-scheduled --split-input-file | filecheck %s
// RUN: lamina-opt %s -p share-kernels,share-kernels,verify-scheduled --split-input-file | filecheck %s

// Threads share a parallel loop that takes longer than a barrier, and one whose time nobody noted.
// CHECK-LABEL: @long(
// CHECK-SAME:    lamina.shared
func.func private @long(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @unknown(
// CHECK-SAME:    lamina.shared
func.func private @unknown(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

// A barrier takes longer; a loop on one thread has nothing to share.
// CHECK-NOT:   lamina.shared
func.func private @short(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func private @serial(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

// What stands beside the loops goes to one thread; the loop that reads it waits.
// CHECK-LABEL: @steps(
// CHECK-SAME:    lamina.shared
// CHECK:         loop.single {
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.barrier
// CHECK-NEXT:    "scf.parallel"(
func.func private @steps(%x: memref<8xf32>, %s: memref<1xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %f = memref.load %x[%c0] : memref<8xf32>
  memref.store %f, %s[%c0] : memref<1xf32>
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %s[%c0] : memref<1xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
