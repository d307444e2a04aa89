// RUN: lamina-opt %s -p share-kernels,merge-parallel-regions,verify-scheduled --split-input-file | filecheck %s

// Two kernels that do not touch what the other writes need no barrier. The third reads what the
// second wrote; the fourth only reads the same input. Reads of one buffer go together.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    loop.team {
// CHECK-NEXT:      func.call @big(%x, %a)
// CHECK-NEXT:      func.call @big(%x, %b)
// CHECK-NEXT:      loop.barrier
// CHECK-NEXT:      func.call @big(%b, %c)
// CHECK-NEXT:      func.call @big(%x, %d)
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @main(%x: memref<8xf32>, %a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf32>) attributes {lamina.entry} {
  func.call @big(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%x, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%b, %c) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%x, %d) : (memref<8xf32>, memref<8xf32>) -> ()
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

// -----

// Writing what others still read, or what others wrote, waits too: places of the arena are compared
// by their bytes. Views go in front of the team.
// CHECK-LABEL: func.func @main
// CHECK:         [[LOW:%\S+]] = memref.view %arena[%{{\S+}}][] : memref<96xi8> to memref<8xf32>
// CHECK:         [[MIDDLE:%\S+]] = memref.view
// CHECK:         [[HIGH:%\S+]] = memref.view
// CHECK-NEXT:    loop.team {
// CHECK-NEXT:      func.call @big(%x, [[LOW]])
// CHECK-NEXT:      func.call @big(%x, [[HIGH]])
// CHECK-NEXT:      loop.barrier
// CHECK-NEXT:      func.call @big(%x, [[MIDDLE]])
// CHECK-NEXT:      loop.barrier
// CHECK-NEXT:      func.call @big([[LOW]], %y)
// CHECK-NEXT:      loop.barrier
// CHECK-NEXT:      func.call @big(%x, [[LOW]])
// CHECK-NEXT:    }
func.func @main(%x: memref<8xf32>, %y: memref<8xf32>, %arena: memref<96xi8>) attributes {lamina.entry} {
  %0 = arith.constant 0 : index
  %low = memref.view %arena[%0][] : memref<96xi8> to memref<8xf32>
  func.call @big(%x, %low) : (memref<8xf32>, memref<8xf32>) -> ()
  %16 = arith.constant 16 : index
  %middle = memref.view %arena[%16][] : memref<96xi8> to memref<8xf32>
  %32 = arith.constant 32 : index
  %high = memref.view %arena[%32][] : memref<96xi8> to memref<8xf32>
  func.call @big(%x, %high) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%x, %middle) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%low, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%x, %low) : (memref<8xf32>, memref<8xf32>) -> ()
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

// -----

// A short kernel of one thread between others goes to the first thread; two of them in a row need no
// barrier between them. At the ends there is no team.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    func.call @serial(%x, %a)
// CHECK-NEXT:    loop.team {
// CHECK-NEXT:      func.call @big(%a, %b)
// CHECK-NEXT:      loop.barrier
// CHECK-NEXT:      loop.single {
// CHECK-NEXT:        func.call @serial(%b, %c)
// CHECK-NEXT:        func.call @serial(%c, %d)
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.barrier
// CHECK-NEXT:      func.call @big(%d, %e)
// CHECK-NEXT:    }
// CHECK-NEXT:    func.call @serial(%e, %f)
func.func @main(%x: memref<8xf32>, %a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf32>, %e: memref<8xf32>, %f: memref<8xf32>) attributes {lamina.entry} {
  func.call @serial(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @serial(%b, %c) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @serial(%c, %d) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%d, %e) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @serial(%e, %f) : (memref<8xf32>, memref<8xf32>) -> ()
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
func.func private @serial(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100 : i64} {
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

// A long one parts two teams: threads would wait for it longer than a team takes to start.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    loop.team {
// CHECK-NEXT:      func.call @big(%x, %a)
// CHECK-NEXT:    }
// CHECK-NEXT:    func.call @long(%a, %b)
// CHECK-NEXT:    loop.team {
// CHECK-NEXT:      func.call @big(%b, %c)
// CHECK-NEXT:    }
func.func @main(%x: memref<8xf32>, %a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) attributes {lamina.entry} {
  func.call @big(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @long(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%b, %c) : (memref<8xf32>, memref<8xf32>) -> ()
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
func.func private @long(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 2000000 : i64} {
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

// Little work is not worth a fork and a barrier: both kernels stay with one thread.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     loop.team
// CHECK-LABEL: func.func private @small
func.func @main(%x: memref<8xf32>, %a: memref<8xf32>, %b: memref<8xf32>) attributes {lamina.entry} {
  func.call @small(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @small(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @small(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 700 : i64} {
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

// A kernel that one thread is done with as soon as two would be stays with one, in the team.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    loop.team {
// CHECK-NEXT:      func.call @big(%x, %a)
// CHECK-NEXT:      loop.barrier
// CHECK-NEXT:      loop.single {
// CHECK-NEXT:        func.call @tiny(%a, %b)
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.barrier
// CHECK-NEXT:      func.call @big(%b, %c)
// CHECK-NEXT:    }
func.func @main(%x: memref<8xf32>, %a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) attributes {lamina.entry} {
  func.call @big(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @tiny(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%b, %c) : (memref<8xf32>, memref<8xf32>) -> ()
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
func.func private @tiny(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 300 : i64} {
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

// Neither a branch nor a call of code from elsewhere goes into a team; in a branch there may be one.
// CHECK-LABEL: func.func @main
// CHECK:         loop.team {
// CHECK-NEXT:      func.call @big(%x, %a)
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.if %{{.*}} {
// CHECK-NEXT:      loop.team {
// CHECK-NEXT:        func.call @big(%a, %b)
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.extern
// CHECK-NEXT:    loop.team {
// CHECK-NEXT:      func.call @big(%b, %a)
// CHECK-NEXT:    }
func.func @main(%x: memref<8xf32>, %a: memref<8xf32>, %b: memref<8xf32>, %flag: memref<i1>, %callee: memref<1xi8> {lamina.kind = "extern", lamina.signature = "{\22inputs\22: [[\22f32\22, [8]]], \22kernel\22: \22f\22, \22options\22: {}, \22results\22: [[\22f32\22, [8]]]}"}) attributes {lamina.entry} {
  %c = memref.load %flag[] : memref<i1>
  func.call @big(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  scf.if %c {
    func.call @big(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  loop.extern "f" {} (%a : memref<8xf32>) outs(%b : memref<8xf32>) through %callee : memref<1xi8>
  func.call @big(%b, %a) : (memref<8xf32>, memref<8xf32>) -> ()
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

// -----

// The new value of an argument may be in the argument's own place.
// CHECK-LABEL: func.func @main
// CHECK:         loop.team {
// CHECK-NEXT:      func.call @big(%state, %a)
// CHECK-NEXT:      loop.barrier
// CHECK-NEXT:      func.call @big(%x, %new)
// CHECK-NEXT:    }
func.func @main(%x: memref<8xf32>, %state: memref<8xf32> {lamina.name = "state"}, %a: memref<8xf32>, %new: memref<8xf32> {lamina.kind = "mutation", lamina.target = "state"}) attributes {lamina.entry} {
  func.call @big(%state, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @big(%x, %new) : (memref<8xf32>, memref<8xf32>) -> ()
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

// -----

// What a kernel does outside of its parallel loops goes to one thread, with a barrier if a loop
// needs it. Kernels that nobody weighed count as worth it.
// CHECK-LABEL: func.func private @fills
// CHECK:         loop.single {
// CHECK-NEXT:      scf.for
// CHECK:         loop.barrier
// CHECK-NEXT:    "scf.parallel"
// CHECK-LABEL: func.func private @apart
// CHECK:         loop.single {
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    }
// CHECK-NEXT:    "scf.parallel"
func.func @main(%x: memref<8xf32>, %a: memref<8xf32>, %b: memref<8xf32>) attributes {lamina.entry} {
  func.call @fills(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @apart(%x, %a, %b) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @fills(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %j = %c0 to %c8 step %c1 {
    memref.store %zero, %y[%j] : memref<8xf32>
  }
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func private @apart(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %z[%c1] : memref<8xf32>
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

// A kernel that keeps memory for all its loops cannot be shared: each thread would have its own.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     loop.team
// CHECK-LABEL: func.func private @keeps
// CHECK-NOT:     loop.single
func.func @main(%x: memref<8xf32>, %a: memref<8xf32>) attributes {lamina.entry} {
  func.call @keeps(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @keeps(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %own = memref.alloca() : memref<8xf32>
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

// What a serial step reads may be made between its ops: it stands in front of all of them.
// CHECK-LABEL: func.func private @between
// CHECK:         "scf.parallel"
// CHECK:         [[MADE:%.*]] = arith.constant 1.000000e+00 : f32
// CHECK:         loop.single {
// CHECK-NEXT:      memref.store
// CHECK-NEXT:      memref.store [[MADE]]
// CHECK-NEXT:    }
func.func @main(%x: memref<8xf32>, %a: memref<8xf32>, %b: memref<8xf32>) attributes {lamina.entry} {
  func.call @between(%x, %a, %b) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
  func.call @between(%x, %a, %b) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @between(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  memref.store %zero, %z[%c0] : memref<8xf32>
  %one = arith.constant 1.0 : f32
  memref.store %one, %z[%c1] : memref<8xf32>
  func.return
}

// -----

// Rows that count in part: a team where they are enough, as many as take what a fork costs.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    loop.team if(%n : memref<i64>) attributes {live = #loop.live<[arg0 of 1000]>, least_rows = {{[0-9]+}} : i64} {
// CHECK-NEXT:      func.call @rows(%x, %n, %y)
func.func @main(%x: memref<1000xf32>, %n: memref<i64>, %y: memref<1000xf32>) attributes {lamina.entry} {
  func.call @rows(%x, %n, %y) : (memref<1000xf32>, memref<i64>, memref<1000xf32>) -> ()
  func.return
}
func.func private @rows(%x: memref<1000xf32>, %n: memref<i64>, %y: memref<1000xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64, lamina.live = #loop.live<[arg1 of 1000]>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.load %n[] : memref<i64>
  %end = arith.index_cast %m : i64 to index
  "scf.parallel"(%c0, %end, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<1000xf32>
    memref.store %v, %y[%i] : memref<1000xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

// Not where others of the team have enough to do in any case.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    loop.team {
func.func @main(%x: memref<1000xf32>, %n: memref<i64>, %y: memref<1000xf32>, %z: memref<1000xf32>) attributes {lamina.entry} {
  func.call @rows(%x, %n, %y) : (memref<1000xf32>, memref<i64>, memref<1000xf32>) -> ()
  func.call @all(%x, %z) : (memref<1000xf32>, memref<1000xf32>) -> ()
  func.return
}
func.func private @rows(%x: memref<1000xf32>, %n: memref<i64>, %y: memref<1000xf32>) attributes {lamina.kernel, lamina.nanoseconds = 100000 : i64, lamina.live = #loop.live<[arg1 of 1000]>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.load %n[] : memref<i64>
  %end = arith.index_cast %m : i64 to index
  "scf.parallel"(%c0, %end, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<1000xf32>
    memref.store %v, %y[%i] : memref<1000xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func private @all(%x: memref<1000xf32>, %y: memref<1000xf32>) attributes {lamina.kernel, lamina.nanoseconds = 90000 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 1000 : index
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<1000xf32>
    memref.store %v, %y[%i] : memref<1000xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
