// RUN: lamina-opt %s -p elide-copies --split-input-file | filecheck %s

// @double reads each element where it writes it: the new value takes the place of the old one. What
// the loop starts from is made at that place too, which must be there by then.
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) attributes {lamina.entry} {
  %start = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  func.call @double(%x, %start) : (memref<4xf32>, memref<4xf32>) -> ()
  %out = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  "memref.copy"(%start, %out) : (memref<4xf32>, memref<4xf32>) -> ()
  scf.while () : () -> () {
    %f = memref.alloc() {alignment = 64 : i64} : memref<i1>
    func.call @test(%out, %f) : (memref<4xf32>, memref<i1>) -> ()
    %v = memref.load %f[] : memref<i1>
    scf.condition(%v)
  } do {
    %n = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
    func.call @double(%out, %n) : (memref<4xf32>, memref<4xf32>) -> ()
    "memref.copy"(%n, %out) : (memref<4xf32>, memref<4xf32>) -> ()
    scf.yield
  }
  func.call @double(%out, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
func.func private @test(%a: memref<4xf32>, %o: memref<i1>) attributes {lamina.kernel} {
  loop.generic (i) in [4] reads(%a[i] : memref<4xf32>) writes([] and into %o : memref<i1>) {
  ^bb0(%p: f32):
    %m = arith.cmpf olt, %p, %p : f32
    loop.yield %m : i1
  }
  func.return
}
func.func private @double(%a: memref<4xf32>, %o: memref<4xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [4] reads(%a[i] : memref<4xf32>) writes([i] store into %o : memref<4xf32>) {
  ^bb0(%p: f32):
    %m = arith.addf %p, %p : f32
    loop.yield %m : f32
  }
  func.return
}
// CHECK:         func.func @main
// CHECK-NEXT:    %out = memref.alloc()
// CHECK-NEXT:    func.call @double(%x, %out)
// CHECK-NEXT:    scf.while
// CHECK:         } do {
// CHECK-NEXT:      func.call @double(%out, %out)
// CHECK-NEXT:      scf.yield

// -----

// @turn reads elsewhere than it writes, @next reads the old %b after the new one is made, and the
// copied %start is read once more: all copies stay.
func.func @main(%x: memref<4xf32>, %a: memref<4xf32>, %b: memref<4xf32>, %y: memref<4xf32>) attributes {lamina.entry} {
  %start = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  func.call @next(%x, %start) : (memref<4xf32>, memref<4xf32>) -> ()
  "memref.copy"(%start, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  "memref.copy"(%x, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  %zero = arith.constant 0 : index
  %five = arith.constant 5 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %five step %one {
    %n = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
    func.call @turn(%a, %n) : (memref<4xf32>, memref<4xf32>) -> ()
    %m = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
    func.call @next(%a, %m) : (memref<4xf32>, memref<4xf32>) -> ()
    func.call @next(%b, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    "memref.copy"(%n, %a) : (memref<4xf32>, memref<4xf32>) -> ()
    "memref.copy"(%m, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  }
  func.call @next(%start, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
func.func private @turn(%a: memref<4xf32>, %o: memref<4xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [4] reads(%a[3 - i] : memref<4xf32>) writes([i] store into %o : memref<4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
func.func private @next(%a: memref<4xf32>, %o: memref<4xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [4] reads(%a[i] : memref<4xf32>) writes([i] store into %o : memref<4xf32>) {
  ^bb0(%p: f32):
    %m = arith.addf %p, %p : f32
    loop.yield %m : f32
  }
  func.return
}
// CHECK:         func.func @main
// CHECK:         "memref.copy"
// CHECK-NEXT:    "memref.copy"
// CHECK:         scf.for
// CHECK:           "memref.copy"
// CHECK-NEXT:      "memref.copy"
