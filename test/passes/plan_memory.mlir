// RUN: lamina-opt %s -p plan-memory --split-input-file | filecheck %s

// %b lives from @k2 to @k3, %a and %c beside it never at the same time, and %d in what %b leaves.
// Sizes are whole cache lines; booleans take a byte each. A reshape keeps its buffer alive.
func.func @main(%x: memref<4xf32>, %out: memref<4xf32>) attributes {lamina.entry} {
  %a = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  func.call @k1(%x, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  %b = memref.alloc() {alignment = 64 : i64} : memref<100xf32>
  func.call @k2(%a, %b) : (memref<4xf32>, memref<100xf32>) -> ()
  %c = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  %v = loop.reshape %b : memref<100xf32> -> memref<10x10xf32>
  func.call @k3(%v, %c) : (memref<10x10xf32>, memref<4xf32>) -> ()
  %d = memref.alloc() {alignment = 64 : i64} : memref<20x5xi1>
  func.call @k4(%c, %d) : (memref<4xf32>, memref<20x5xi1>) -> ()
  func.call @k5(%d, %out) : (memref<20x5xi1>, memref<4xf32>) -> ()
  func.return
}
func.func private @k1(memref<4xf32>, memref<4xf32>) -> ()
func.func private @k2(memref<4xf32>, memref<100xf32>) -> ()
func.func private @k3(memref<10x10xf32>, memref<4xf32>) -> ()
func.func private @k4(memref<4xf32>, memref<20x5xi1>) -> ()
func.func private @k5(memref<20x5xi1>, memref<4xf32>) -> ()
// CHECK:         func.func @main(%x: memref<4xf32>, %out: memref<4xf32>, [[M:%\S+]]: memref<512xi8> {lamina.kind = "arena"})
// CHECK-NEXT:    [[A:%\S+]] = arith.constant 448 : index
// CHECK-NEXT:    memref.view [[M]]{{.}}[[A]]{{.}}[] : memref<512xi8> to memref<4xf32>
// CHECK:         [[B:%\S+]] = arith.constant 0 : index
// CHECK-NEXT:    memref.view [[M]]{{.}}[[B]]{{.}}[] : memref<512xi8> to memref<100xf32>
// CHECK:         [[C:%\S+]] = arith.constant 448 : index
// CHECK-NEXT:    memref.view [[M]]{{.}}[[C]]{{.}}[] : memref<512xi8> to memref<4xf32>
// CHECK:         [[D:%\S+]] = arith.constant 0 : index
// CHECK-NEXT:    memref.view [[M]]{{.}}[[D]]{{.}}[] : memref<512xi8> to memref<20x5xi1>
// CHECK-NOT:     memref.alloc

// -----

// Nothing to keep: an arena without bytes.
func.func @main(%x: memref<4xf32>) attributes {lamina.entry} {
  func.return
}
// CHECK:         func.func @main(%x: memref<4xf32>, %{{.*}}: memref<0xi8> {lamina.kind = "arena"})

// -----

// Scratch inside kernels belongs to `schedule`.
func.func private @kernel_0(%x: memref<4xf32>) attributes {lamina.kernel} {
  %a = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  func.return
}
// CHECK:         func.func private @kernel_0(%x: memref<4xf32>)
// CHECK-NEXT:    memref.alloc

// -----

// %a dies in @kernel_1, which reads it where it writes: %b takes its place. @kernel_2 reads %b along
// another dimension than it writes: %c is a buffer of its own.
func.func @main(%x: memref<8x8xf32>, %out: memref<8x8xf32>) attributes {lamina.entry} {
  %a = memref.alloc() {alignment = 64 : i64} : memref<8x8xf32>
  func.call @kernel_0(%x, %a) : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  %b = memref.alloc() {alignment = 64 : i64} : memref<8x8xf32>
  func.call @kernel_0(%a, %b) : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  %c = memref.alloc() {alignment = 64 : i64} : memref<8x8xf32>
  func.call @kernel_2(%b, %c) : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  func.call @kernel_0(%c, %out) : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  func.return
}
func.func private @kernel_0(%x: memref<8x8xf32>, %out: memref<8x8xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1) in [8, 8] reads(%x[d0, d1] : memref<8x8xf32>) writes([d0, d1] store into %out : memref<8x8xf32>) {
  ^bb0(%v: f32):
    %w = arith.negf %v : f32
    loop.yield %w : f32
  }
  func.return
}
func.func private @kernel_2(%x: memref<8x8xf32>, %out: memref<8x8xf32>) attributes {lamina.kernel} {
  loop.generic (d0, d1) in [8, 8] reads(%x[d1, d0] : memref<8x8xf32>) writes([d0, d1] store into %out : memref<8x8xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK:         func.func @main(%x: memref<8x8xf32>, %out: memref<8x8xf32>, [[M:%\S+]]: memref<512xi8> {lamina.kind = "arena"})
// CHECK-NEXT:    arith.constant 0 : index
// CHECK:         arith.constant 0 : index
// CHECK:         arith.constant 256 : index

// -----

// What a loop reads or writes of outside lives through all rounds: %s shares no byte with %a, though
// it comes after the last use of %a. What a round makes for itself shares with the next ops' buffers.
func.func @main(%x: memref<4xf32>, %out: memref<4xf32>) attributes {lamina.entry} {
  %a = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  func.call @k1(%x, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  scf.while () : () -> () {
    %f = memref.alloc() {alignment = 64 : i64} : memref<i1>
    func.call @t(%a, %f) : (memref<4xf32>, memref<i1>) -> ()
    %v = memref.load %f[] : memref<i1>
    scf.condition(%v)
  } do {
    %s = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
    func.call @k1(%x, %s) : (memref<4xf32>, memref<4xf32>) -> ()
    func.call @k1(%s, %out) : (memref<4xf32>, memref<4xf32>) -> ()
    scf.yield
  }
  %d = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  func.call @k1(%out, %d) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @k1(%d, %out) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
func.func private @k1(memref<4xf32>, memref<4xf32>) -> ()
func.func private @t(memref<4xf32>, memref<i1>) -> ()
// CHECK:         func.func @main(%x: memref<4xf32>, %out: memref<4xf32>, [[M:%\S+]]: memref<128xi8> {lamina.kind = "arena"})
// CHECK-NEXT:    [[A:%\S+]] = arith.constant 0 : index
// CHECK-NEXT:    memref.view [[M]]{{.}}[[A]]{{.}}[] : memref<128xi8> to memref<4xf32>
// CHECK:         scf.while
// CHECK-NEXT:      [[F:%\S+]] = arith.constant 64 : index
// CHECK-NEXT:      memref.view [[M]]{{.}}[[F]]{{.}}[] : memref<128xi8> to memref<i1>
// CHECK:         } do {
// CHECK-NEXT:      [[S:%\S+]] = arith.constant 64 : index
// CHECK-NEXT:      memref.view [[M]]{{.}}[[S]]{{.}}[] : memref<128xi8> to memref<4xf32>
// CHECK:         [[D:%\S+]] = arith.constant 0 : index
// CHECK-NEXT:    memref.view [[M]]{{.}}[[D]]{{.}}[] : memref<128xi8> to memref<4xf32>
