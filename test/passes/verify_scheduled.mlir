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

// CHECK:         verify-scheduled: @main takes tensor<8xf32>; arguments are memrefs of static shape
func.func @main(%x: tensor<8xf32>) attributes {lamina.entry} {
  func.return
}

// -----

// CHECK:         verify-scheduled: @main takes memref<?xf32>; arguments are memrefs of static shape
func.func @main(%x: memref<?xf32>) attributes {lamina.entry} {
  func.return
}

// -----

// CHECK:         verify-scheduled: @main returns values; results are arguments
func.func @main(%x: memref<8xf32>) -> memref<8xf32> attributes {lamina.entry} {
  func.return %x : memref<8xf32>
}

// -----

// CHECK:         verify-scheduled: memref.alloc in entry @main; an entry only calls kernels
func.func @main(%x: memref<8xf32>) attributes {lamina.entry} {
  %a = memref.alloc() : memref<8xf32>
  func.return
}

// -----

// CHECK:         verify-scheduled: @helper is neither an entry (lamina.entry) nor a kernel (lamina.kernel)
func.func @helper(%x: memref<8xf32>) {
  func.return
}

// -----

// CHECK:         verify-scheduled: loop.generic in kernel @kernel_0 is not scheduled
func.func private @kernel_0(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [8] reads(%x[i] : memref<8xf32>) writes([i] store into %y : memref<8xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// CHECK:         verify-scheduled: test.op at module level
"test.op"() : () -> ()

// -----

// What a team runs on every thread may write in shared loops only.
// CHECK:         verify-scheduled: a team runs kernel_0 on every thread, and it is no kernel of parallel loops; loop.single runs it on one
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
