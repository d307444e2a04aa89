// RUN: lamina-opt %s -p verify-scheduled --split-input-file --verify-diagnostics --allow-unregistered-dialect | filecheck %s

// What fits the contract passes as it is.
// CHECK:         vector.store
func.func @main(%x: memref<8xf32>, %y: memref<8xf32>, %arena: memref<32xi8>) attributes {lamina.entry} {
  %o = arith.constant 0 : index
  %t = memref.view %arena[%o][] : memref<32xi8> to memref<8xf32>
  func.call @kernel_0(%x, %t) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @kernel_0(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  %z = arith.constant 0 : index
  %v = vector.load %x[%z] : memref<8xf32>, vector<8xf32>
  %w = math.exp %v : vector<8xf32>
  vector.store %w, %y[%z] : memref<8xf32>, vector<8xf32>
  func.return
}

// -----

// CHECK:         {{[0-9]+:[0-9]+}}: error: func.func: @main takes tensor<8xf32>; arguments are memrefs of static shape
func.func @main(%x: tensor<8xf32>) attributes {lamina.entry} {
  func.return
}

// -----

// CHECK:         {{[0-9]+:[0-9]+}}: error: func.func: @main takes memref<?xf32>; arguments are memrefs of static shape
func.func @main(%x: memref<?xf32>) attributes {lamina.entry} {
  func.return
}

// -----

// CHECK:         {{[0-9]+:[0-9]+}}: error: func.func: @main returns values; results are arguments
func.func @main(%x: memref<8xf32>) -> memref<8xf32> attributes {lamina.entry} {
  func.return %x : memref<8xf32>
}

// -----

// CHECK:         {{[0-9]+:[0-9]+}}: error: memref.alloc: stands in entry @main; an entry only calls kernels
func.func @main(%x: memref<8xf32>) attributes {lamina.entry} {
  %a = memref.alloc() : memref<8xf32>
  func.return
}

// -----

// CHECK:         {{[0-9]+:[0-9]+}}: error: func.func: @helper is neither an entry (lamina.entry), nor called by one (lamina.callee), nor a kernel (lamina.kernel)
func.func @helper(%x: memref<8xf32>) {
  func.return
}

// -----

// CHECK:         {{[0-9]+:[0-9]+}}: error: loop.generic: stands in kernel @kernel_0, and is not scheduled
func.func private @kernel_0(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [8] reads(%x[i] : memref<8xf32>) writes([i] store into %y : memref<8xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// CHECK:         {{[0-9]+:[0-9]+}}: error: test.op: stands at module level, where functions are
"test.op"() : () -> ()

// -----

// What a team runs on every thread may write in shared loops only.
// CHECK:         {{[0-9]+:[0-9]+}}: error: func.call: a team runs kernel_0 on every thread, and it is no kernel of parallel loops; loop.single runs it on one
func.func @main(%x: memref<1xf32>, %y: memref<1xf32>) attributes {lamina.entry} {
  loop.team {
    func.call @kernel_0(%x, %y) : (memref<1xf32>, memref<1xf32>) -> ()
  }
  func.return
}
func.func private @kernel_0(%x: memref<1xf32>, %y: memref<1xf32>) attributes {lamina.kernel} {
  %z = arith.constant 0 : index
  %v = memref.load %x[%z] : memref<1xf32>
  memref.store %v, %y[%z] : memref<1xf32>
  func.return
}

// -----

// Nor may loops of a team.
// CHECK:         {{[0-9]+:[0-9]+}}: error: func.call: a team runs kernel_0 on every thread, and it is no kernel of parallel loops; loop.single runs it on one
func.func @main(%x: memref<1xf32>, %y: memref<1xf32>) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  loop.team {
    scf.for %i = %c0 to %c1 step %c1 {
      func.call @kernel_0(%x, %y) : (memref<1xf32>, memref<1xf32>) -> ()
    }
  }
  func.return
}
func.func private @kernel_0(%x: memref<1xf32>, %y: memref<1xf32>) attributes {lamina.kernel} {
  %z = arith.constant 0 : index
  %v = memref.load %x[%z] : memref<1xf32>
  memref.store %v, %y[%z] : memref<1xf32>
  func.return
}

// -----

// On one thread it may stand there.
// CHECK:         loop.single {
// CHECK-NEXT:      func.call @kernel_0
func.func @main(%x: memref<1xf32>, %y: memref<1xf32>) attributes {lamina.entry} {
  loop.team {
    loop.single {
      func.call @kernel_0(%x, %y) : (memref<1xf32>, memref<1xf32>) -> ()
    }
  }
  func.return
}
func.func private @kernel_0(%x: memref<1xf32>, %y: memref<1xf32>) attributes {lamina.kernel} {
  %z = arith.constant 0 : index
  %v = memref.load %x[%z] : memref<1xf32>
  memref.store %v, %y[%z] : memref<1xf32>
  func.return
}

// -----

// CHECK: func.func: @kernel_0 is declared without a body
func.func private @kernel_0(memref<8xf32>) attributes {lamina.kernel}

// -----

// CHECK: func.func: @main has 2 blocks; a program branches by ops with regions
func.func @main(%x: memref<8xf32>) attributes {lamina.entry} {
  func.return
^bb1:
  func.return
}

// -----

// The code behind an argument is made for its signature, and for no other call.
// CHECK: loop.extern: %f has another lamina.signature
func.func @main(%x: memref<3x3xf64>, %y: memref<3x3xf64> {lamina.kind = "output"}, %f: memref<1xi8> {lamina.kind = "extern", lamina.signature = "{\22inputs\22: [], \22kernel\22: \22f\22, \22options\22: {}, \22results\22: []}"}) attributes {lamina.entry} {
  loop.extern "linalg.inv" {}(%x : memref<3x3xf64>) outs(%y : memref<3x3xf64>) through %f : memref<1xi8>
  func.return
}

// -----

// CHECK:         {{[0-9]+:[0-9]+}}: error: func.func: @kernel allocates 1024 bytes of stack, lamina.scratch has 64, and there are 1048576
func.func private @kernel(%x: memref<256xf32>) attributes {lamina.kernel, lamina.scratch = array<i64: 64, 0>} {
  %s = memref.alloca() : memref<256xf32>
  func.return
}

// -----

// CHECK:         {{[0-9]+:[0-9]+}}: error: func.func: lamina.scratch is bytes of stack and of arena
func.func private @kernel(%x: memref<256xf32>) attributes {lamina.kernel, lamina.scratch = 64 : i64} {
  func.return
}

// -----

// Kernels call nothing: one that calls itself would use up the stack.
// CHECK: func.call: calls @kernel in a kernel; only entries call kernels
func.func private @kernel(%x: memref<8xf32>) attributes {lamina.kernel} {
  func.call @kernel(%x) : (memref<8xf32>) -> ()
  func.return
}

// -----

// CHECK: func.call: calls @main, which is no kernel
func.func @main(%x: memref<8xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @main(%x) : (memref<8xf32>) -> ()
  func.return
}

// -----

// CHECK: loop.extern: calls through no argument of kind extern
func.func @main(%x: memref<3x3xf64>, %y: memref<3x3xf64> {lamina.kind = "output"}, %f: memref<1xi8>) attributes {lamina.entry} {
  loop.extern "linalg.inv" {}(%x : memref<3x3xf64>) outs(%y : memref<3x3xf64>) through %f : memref<1xi8>
  func.return
}

// -----

// CHECK: loop.extern: stands in a kernel; only entries call what is outside
func.func private @kernel(%x: memref<3x3xf64>, %y: memref<3x3xf64>, %f: memref<1xi8>) attributes {lamina.kernel} {
  loop.extern "linalg.inv" {}(%x : memref<3x3xf64>) outs(%y : memref<3x3xf64>) through %f : memref<1xi8>
  func.return
}

// -----

// CHECK: loop.poll: calls through no argument of kind poll
func.func @main(%x: memref<3x3xf64>, %f: memref<1xi8>) attributes {lamina.entry} {
  loop.poll through %f : memref<1xi8>
  func.return
}

// -----

// CHECK: argument 1 of @main: lamina.signature: 'kernel' is no str in it
func.func @main(%x: memref<3x3xf64> {lamina.kind = "output"}, %f: memref<1xi8> {lamina.kind = "extern", lamina.signature = "{}"}) attributes {lamina.entry} {
  func.return
}

// -----

// CHECK: scf.for: its step is 0; it has to be positive
func.func private @kernel(%x: memref<3xf32>) attributes {lamina.kernel} {
  %0 = arith.constant 0 : index
  %3 = arith.constant 3 : index
  %f = arith.constant 0.0 : f32
  scf.for %i = %0 to %3 step %0 {
    memref.store %f, %x[%i] : memref<3xf32>
  }
  func.return
}

// -----

// CHECK:         func.func: lamina.shared: a team cannot run this kernel together
func.func private @kernel_0(%x: memref<1xf32>, %y: memref<1xf32>) attributes {lamina.kernel, lamina.shared} {
  %z = arith.constant 0 : index
  %v = memref.load %x[%z] : memref<1xf32>
  memref.store %v, %y[%z] : memref<1xf32>
  func.return
}

// -----

// CHECK:         scf.parallel: lamina.chunk is a positive number of iterations, not 0 : i64
func.func private @kernel_0(%x: memref<8xf32>) attributes {lamina.kernel} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %f = arith.constant 0.0 : f32
  "scf.parallel"(%0, %8, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %f, %x[%i] : memref<8xf32>
    scf.reduce
  }) {lamina.chunk = 0 : i64} : (index, index, index) -> ()
  func.return
}

// -----

// CHECK:         scf.for: has lamina.chunk, and is no scf.parallel at the top of its kernel
func.func private @kernel_0(%x: memref<8xf32>) attributes {lamina.kernel} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %f = arith.constant 0.0 : f32
  scf.for %i = %0 to %8 step %1 {
    memref.store %f, %x[%i] : memref<8xf32>
  } {lamina.chunk = 2 : i64}
  func.return
}

// -----

// CHECK:         scf.for: has lamina.backward, and is no scf.parallel at the top of its kernel
func.func private @kernel_0(%x: memref<8xf32>) attributes {lamina.kernel} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %f = arith.constant 0.0 : f32
  scf.for %i = %0 to %8 step %1 {
    memref.store %f, %x[%i] : memref<8xf32>
  } {lamina.backward}
  func.return
}
