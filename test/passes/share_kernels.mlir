// RUN: lamina-opt %s -p share-kernels,verify-scheduled --split-input-file | filecheck %s
// RUN: lamina-opt %s -p share-kernels,share-kernels,verify-scheduled --split-input-file | filecheck %s

// Threads share a parallel loop that takes longer than a barrier, and one whose time nobody noted.
// Of the first each iteration takes 12.5 us: a thread takes one at a time.
// CHECK-LABEL: @long(
// CHECK-SAME:    lamina.shared
// CHECK:         lamina.chunk = 1 : i64
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
// CHECK-NOT:     lamina.chunk
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

// -----

// Chunks take 5 us at least: 3 of these 99 iterations of 2 us, all 8 of 0.5 us, which are no loop to
// take from, and what a text says. Of four iterations of 25 us each thread of two has two.
// CHECK-LABEL: @many(
// CHECK:         lamina.chunk = 3 : i64
// CHECK-LABEL: @fast(
// CHECK-NOT:     lamina.chunk
// CHECK-LABEL: @given(
// CHECK:         lamina.chunk = 2 : i64
// CHECK-LABEL: @four(
// CHECK:         lamina.chunk = 1 : i64
// CHECK-LABEL: @three(
// CHECK-NOT:     lamina.chunk
func.func private @many(%x: memref<198xf32>, %y: memref<198xf32>) attributes {lamina.kernel, lamina.nanoseconds = 198000 : i64} {
  %first = arith.constant 0 : index
  %step = arith.constant 2 : index
  %end = arith.constant 198 : index
  "scf.parallel"(%first, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<198xf32>
    memref.store %v, %y[%i] : memref<198xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func private @fast(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 4000 : i64} {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant 8 : index
  "scf.parallel"(%first, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func private @given(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant 8 : index
  "scf.parallel"(%first, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    scf.reduce
  }) {lamina.chunk = 2 : i64} : (index, index, index) -> ()
  func.return
}
func.func private @four(%x: memref<4xf32>, %y: memref<4xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant 4 : index
  "scf.parallel"(%first, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %y[%i] : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func private @three(%x: memref<3xf32>, %y: memref<3xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant 3 : index
  "scf.parallel"(%first, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<3xf32>
    memref.store %v, %y[%i] : memref<3xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

// Loops that end at a number of the call: of 64 iterations at most each takes 3.1 us; how many there
// are of the other nobody knows.
// CHECK-LABEL: @rows(
// CHECK:         lamina.chunk = 2 : i64
// CHECK-LABEL: @unbounded(
// CHECK-NOT:     lamina.chunk
func.func private @rows(%n: memref<i64>, %y: memref<64xf32>) attributes {lamina.kernel, lamina.nanoseconds = 200000 : i64} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %64 = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %given = memref.load %n[] : memref<i64>
  %count = arith.index_cast %given : i64 to index
  %least = arith.maxsi %count, %1 : index
  %end = arith.minsi %least, %64 : index
  "scf.parallel"(%0, %end, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %f, %y[%i] : memref<64xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func private @unbounded(%n: memref<i64>, %y: memref<64xf32>) attributes {lamina.kernel, lamina.nanoseconds = 200000 : i64} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %f = arith.constant 0.0 : f32
  %given = memref.load %n[] : memref<i64>
  %end = arith.index_cast %given : i64 to index
  "scf.parallel"(%0, %end, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %f, %y[%i] : memref<64xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

// As many blocks as threads, four at most, of which each has at least one.
// CHECK-LABEL: @blocks(
// CHECK:         lamina.chunk = 1 : i64
func.func private @blocks(%y: memref<64xf32>) attributes {lamina.kernel, lamina.nanoseconds = 400000 : i64} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %64 = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %threads = loop.num_threads : index
  %blocks = arith.minsi %threads, %4 : index
  %each = arith.divui %64, %blocks : index
  "scf.parallel"(%0, %each, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %f, %y[%i] : memref<64xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
