// RUN: %roundtrip
// RUN: %generic_roundtrip

// CHECK-LABEL: func.func private @k
// CHECK:         loop.single {
// CHECK-NEXT:      memref.store
// CHECK:         loop.barrier
// CHECK-NEXT:    %n = loop.num_threads : index
func.func private @k(%x: memref<4xf32>, %v: f32) attributes {lamina.kernel} {
  %i = arith.constant 0 : index
  loop.single {
    memref.store %v, %x[%i] : memref<4xf32>
  }
  loop.barrier
  %n = loop.num_threads : index
  func.return
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    loop.team {
// CHECK-NEXT:      func.call @a(%x) : (memref<4xf32>) -> ()
// CHECK-NEXT:      loop.barrier
// CHECK-NEXT:      loop.single {
// CHECK-NEXT:        func.call @b(%x) : (memref<4xf32>) -> ()
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @main(%x: memref<4xf32>) attributes {lamina.entry} {
  loop.team {
    func.call @a(%x) : (memref<4xf32>) -> ()
    loop.barrier
    loop.single {
      func.call @b(%x) : (memref<4xf32>) -> ()
    }
  }
  func.return
}
func.func private @a(memref<4xf32>)
func.func private @b(memref<4xf32>)

// -----

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    loop.team if(%n, %m : memref<i64>, memref<i64>) attributes {live = #loop.live<[arg0 of 8, arg1 of 128, 4]>, least_rows = 9 : i64} {
func.func @main(%x: memref<4xf32>, %n: memref<i64>, %m: memref<i64>) attributes {lamina.entry} {
  loop.team if(%n, %m : memref<i64>, memref<i64>) attributes {live = #loop.live<[arg0 of 8, arg1 of 128, 4]>, least_rows = 9 : i64} {
    func.call @a(%x) : (memref<4xf32>) -> ()
  }
  func.return
}
func.func private @a(memref<4xf32>)
