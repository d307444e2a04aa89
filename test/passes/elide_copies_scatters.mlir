// RUN: lamina-opt %s -p elide-copies --split-input-file | filecheck %s

// Zeros that are made to be scattered into are made where the result is, and are not copied.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    func.call @zeros(%y) : (memref<8x4xf32>) -> ()
// CHECK-NEXT:    func.call @put(%y, %i, %x) : (memref<8x4xf32>, memref<5xi64>, memref<5x4xf32>) -> ()
// CHECK-NEXT:    func.return
func.func @main(%i: memref<5xi64>, %x: memref<5x4xf32>, %y: memref<8x4xf32>) attributes {lamina.entry} {
  %z = memref.alloc() {alignment = 64 : i64} : memref<8x4xf32>
  func.call @zeros(%z) : (memref<8x4xf32>) -> ()
  func.call @put(%z, %i, %x, %y) : (memref<8x4xf32>, memref<5xi64>, memref<5x4xf32>, memref<8x4xf32>) -> ()
  func.return
}
func.func private @zeros(%o: memref<8x4xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 4] writes([i, j] store into %o : memref<8x4xf32>) {
    %c = arith.constant 0.0 : f32
    loop.yield %c : f32
  }
  func.return
}
// CHECK-LABEL: func.func private @put(%z: memref<8x4xf32>, %i: memref<5xi64>, %x: memref<5x4xf32>)
// CHECK:         into(%z : memref<8x4xf32> -> %z : memref<8x4xf32>)
func.func private @put(%z: memref<8x4xf32>, %i: memref<5xi64>, %x: memref<5x4xf32>, %o: memref<8x4xf32>) attributes {lamina.kernel} {
  loop.scatter (d0, d1) in [5, 4] reads(%i[d0] : memref<5xi64>, %x[d0, d1] : memref<5x4xf32>) into(%z : memref<8x4xf32> -> %o : memref<8x4xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %r = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    %s = arith.addf %old, %v : f32
    loop.yield %r, %c, %s : index, index, f32
  }
  func.return
}

// -----

// What is read again behind a scatter stays, and so does an argument.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[Z:%\S+]] = memref.alloc()
// CHECK-NEXT:    func.call @copy(%x, [[Z]])
// CHECK-NEXT:    func.call @put([[Z]], %i, %y)
// CHECK-NEXT:    func.call @copy([[Z]], %w)
// CHECK-NEXT:    func.call @put_given(%x, %i, %v)
// CHECK:         into(%z : memref<8xf32> -> %o : memref<8xf32>)
// CHECK:         into(%z : memref<8xf32> -> %o : memref<8xf32>)
func.func @main(%i: memref<5xi64>, %x: memref<8xf32>, %y: memref<8xf32>, %w: memref<8xf32>, %v: memref<8xf32>) attributes {lamina.entry} {
  %z = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  func.call @copy(%x, %z) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @put(%z, %i, %y) : (memref<8xf32>, memref<5xi64>, memref<8xf32>) -> ()
  func.call @copy(%z, %w) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @put_given(%x, %i, %v) : (memref<8xf32>, memref<5xi64>, memref<8xf32>) -> ()
  func.return
}
func.func private @copy(%a: memref<8xf32>, %o: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [8] reads(%a[i] : memref<8xf32>) writes([i] store into %o : memref<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
func.func private @put(%z: memref<8xf32>, %i: memref<5xi64>, %o: memref<8xf32>) attributes {lamina.kernel} {
  loop.scatter (d0) in [5] reads(%i[d0] : memref<5xi64>) into(%z : memref<8xf32> -> %o : memref<8xf32>) {
  ^bb0(%p: i64, %old: f32):
    %r = arith.index_cast %p : i64 to index
    %s = arith.addf %old, %old : f32
    loop.yield %r, %s : index, f32
  }
  func.return
}
func.func private @put_given(%z: memref<8xf32>, %i: memref<5xi64>, %o: memref<8xf32>) attributes {lamina.kernel} {
  loop.scatter (d0) in [5] reads(%i[d0] : memref<5xi64>) into(%z : memref<8xf32> -> %o : memref<8xf32>) {
  ^bb0(%p: i64, %old: f32):
    %r = arith.index_cast %p : i64 to index
    %s = arith.mulf %old, %old : f32
    loop.yield %r, %s : index, f32
  }
  func.return
}

// -----

// Not where the memory of the result is read while the buffer lives, nor where one of two calls of a kernel needs a copy.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[Z:%\S+]] = memref.alloc()
// CHECK-NEXT:    func.call @copy(%x, [[Z]])
// CHECK-NEXT:    func.call @copy(%y, %w)
// CHECK-NEXT:    func.call @put([[Z]], %i, %y)
// CHECK-NEXT:    [[U:%\S+]] = memref.alloc()
// CHECK-NEXT:    func.call @copy(%x, [[U]])
// CHECK-NEXT:    func.call @put([[U]], %i, %v)
// CHECK:         into(%z : memref<8xf32> -> %o : memref<8xf32>)
func.func @main(%i: memref<5xi64>, %x: memref<8xf32>, %y: memref<8xf32>, %w: memref<8xf32>, %v: memref<8xf32>) attributes {lamina.entry} {
  %z = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  func.call @copy(%x, %z) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @copy(%y, %w) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @put(%z, %i, %y) : (memref<8xf32>, memref<5xi64>, memref<8xf32>) -> ()
  %u = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  func.call @copy(%x, %u) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @put(%u, %i, %v) : (memref<8xf32>, memref<5xi64>, memref<8xf32>) -> ()
  func.return
}
func.func private @copy(%a: memref<8xf32>, %o: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [8] reads(%a[i] : memref<8xf32>) writes([i] store into %o : memref<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
func.func private @put(%z: memref<8xf32>, %i: memref<5xi64>, %o: memref<8xf32>) attributes {lamina.kernel} {
  loop.scatter (d0) in [5] reads(%i[d0] : memref<5xi64>) into(%z : memref<8xf32> -> %o : memref<8xf32>) {
  ^bb0(%p: i64, %old: f32):
    %r = arith.index_cast %p : i64 to index
    %s = arith.addf %old, %old : f32
    loop.yield %r, %s : index, f32
  }
  func.return
}
