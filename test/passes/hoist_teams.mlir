// RUN: lamina-opt %s -p share-kernels,merge-parallel-regions,hoist-teams,verify-scheduled --split-input-file | filecheck %s

// One team goes through all steps. The product waits for the copy of the step in front, and what one thread does for it.
// One thread keeps its own order.
func.func @main(%x: memref<8xf32>, %h: memref<8xf32>, %n: memref<8xf32>) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %step = %c0 to %c9 step %c1 {
    func.call @big(%h, %n) : (memref<8xf32>, memref<8xf32>) -> ()
    func.call @small(%n, %x) : (memref<8xf32>, memref<8xf32>) -> ()
    "memref.copy"(%n, %h) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  func.return
}
func.func private @big(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
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
func.func private @small(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 300 : i64} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %y[%c0] : memref<8xf32>
  func.return
}
// CHECK-LABEL: func.func @main
// CHECK:         loop.team {
// CHECK-NEXT:      scf.for %step =
// CHECK-NEXT:        loop.barrier
// CHECK-NEXT:        func.call @big(%h, %n)
// CHECK-NEXT:        loop.barrier
// CHECK-NEXT:        loop.single {
// CHECK-NEXT:          func.call @small(%n, %x)
// CHECK-NEXT:        }
// CHECK-NEXT:        loop.single {
// CHECK-NEXT:          "memref.copy"(%n, %h)
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// -----

// A team of several kernels, and a step that waits for nothing that the one in front has made.
func.func @main(%x: memref<8xf32>, %h: memref<8xf32>, %n: memref<8xf32>) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %step = %c0 to %c9 step %c1 {
    func.call @big(%x, %h) : (memref<8xf32>, memref<8xf32>) -> ()
    func.call @big(%x, %n) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  func.return
}
func.func private @big(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
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
func.func private @small(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 300 : i64} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %y[%c0] : memref<8xf32>
  func.return
}
// CHECK-LABEL: func.func @main
// CHECK:         loop.team {
// CHECK-NEXT:      scf.for %step =
// CHECK-NEXT:        loop.barrier
// CHECK-NEXT:        func.call @big(%x, %h)
// CHECK-NEXT:        func.call @big(%x, %n)
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// Long steps fork for each: threads take chunks from late ones there.
func.func @main(%x: memref<8xf32>, %h: memref<8xf32>, %n: memref<8xf32>) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %step = %c0 to %c9 step %c1 {
    func.call @big(%h, %n) : (memref<8xf32>, memref<8xf32>) -> ()
    func.call @small(%n, %x) : (memref<8xf32>, memref<8xf32>) -> ()
    "memref.copy"(%n, %h) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  func.return
}
func.func private @big(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 600000 : i64} {
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
func.func private @small(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 300 : i64} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %y[%c0] : memref<8xf32>
  func.return
}
// CHECK-LABEL: func.func @main
// CHECK:         scf.for
// CHECK-NEXT:      loop.team {
// CHECK-NEXT:        func.call @big(%h, %n)
// CHECK-NEXT:      }

// -----

// What one thread does for long is not for a team to wait for.
func.func @main(%x: memref<8xf32>, %h: memref<8xf32>, %n: memref<8xf32>) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %step = %c0 to %c9 step %c1 {
    func.call @big(%h, %n) : (memref<8xf32>, memref<8xf32>) -> ()
    func.call @small(%n, %x) : (memref<8xf32>, memref<8xf32>) -> ()
    "memref.copy"(%n, %h) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  func.return
}
func.func private @big(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
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
func.func private @small(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 50000 : i64} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %y[%c0] : memref<8xf32>
  func.return
}
// CHECK-LABEL: func.func @main
// CHECK:         scf.for
// CHECK-NEXT:      loop.team {

// -----

// Steps without a team stay those of one thread.
func.func @main(%x: memref<8xf32>, %h: memref<8xf32>, %n: memref<8xf32>) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %step = %c0 to %c9 step %c1 {
    func.call @small(%n, %x) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  func.return
}
func.func private @big(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
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
func.func private @small(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 300 : i64} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %y[%c0] : memref<8xf32>
  func.return
}
// CHECK-LABEL: func.func @main
// CHECK-NOT:     loop.team
// CHECK:         scf.for

// -----

// Large copies are no work for one thread of a team.
func.func @main(%x: memref<8xf32>, %h: memref<8xf32>, %n: memref<8xf32>, %p: memref<32768xf32>, %q: memref<32768xf32>) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %step = %c0 to %c9 step %c1 {
    func.call @big(%h, %n) : (memref<8xf32>, memref<8xf32>) -> ()
    "memref.copy"(%p, %q) : (memref<32768xf32>, memref<32768xf32>) -> ()
  }
  func.return
}
func.func private @big(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
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
func.func private @small(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 300 : i64} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %y[%c0] : memref<8xf32>
  func.return
}
// CHECK-LABEL: func.func @main
// CHECK:         scf.for
// CHECK-NEXT:      loop.team {

// -----

// Branches may differ from thread to thread.
func.func @main(%x: memref<8xf32>, %h: memref<8xf32>, %n: memref<8xf32>, %go: memref<i1>) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %step = %c0 to %c9 step %c1 {
    func.call @big(%h, %n) : (memref<8xf32>, memref<8xf32>) -> ()
    %b = memref.load %go[] : memref<i1>
    scf.if %b {
      func.call @small(%n, %x) : (memref<8xf32>, memref<8xf32>) -> ()
    }
  }
  func.return
}
func.func private @big(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
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
func.func private @small(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 300 : i64} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %y[%c0] : memref<8xf32>
  func.return
}
// CHECK-LABEL: func.func @main
// CHECK:         scf.for
// CHECK-NEXT:      loop.team {
