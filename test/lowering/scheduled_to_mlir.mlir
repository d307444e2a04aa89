// RUN: lamina-opt %s -p convert-scheduled-to-mlir --split-input-file --verify-diagnostics | filecheck %s

// One thread runs what stands in a team, in order; attributes of Lamina's go.
func.func @main(%x: memref<2x4xf32>, %out: memref<2x4xf32> {lamina.kind = "output"}, %arena: memref<0xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  loop.team {
    func.call @kernel_0(%x, %out) : (memref<2x4xf32>, memref<2x4xf32>) -> ()
    loop.barrier
    loop.single {
      func.call @kernel_0(%x, %out) : (memref<2x4xf32>, memref<2x4xf32>) -> ()
    }
  }
  func.return
}
func.func private @kernel_0(%x: memref<2x4xf32>, %out: memref<2x4xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %0 = loop.reshape %x : memref<2x4xf32> -> memref<8xf32>
  %1 = loop.reshape %out : memref<2x4xf32> -> memref<8xf32>
  loop.prefetch %0[%c0] : memref<8xf32>
  %2 = vector.load %0[%c0] : memref<8xf32>, vector<8xf32>
  %3 = arith.constant dense<1.0> : vector<8xf32>
  %4 = loop.cmpf %2, %3 {predicate = 4} : vector<8xf32>, vector<8xf32> -> vector<8xi1>
  %5 = loop.select %4, %2, %3 : vector<8xi1>, vector<8xf32>, vector<8xf32> -> vector<8xf32>
  vector.store %5, %1[%c0] : memref<8xf32>, vector<8xf32>
  func.return
}
// CHECK-LABEL: func.func @main(%x: memref<2x4xf32>, %out: memref<2x4xf32>, %arena: memref<0xi8>) {
// CHECK-NEXT: func.call @kernel_0
// CHECK-NEXT: func.call @kernel_0
// CHECK-NEXT: func.return
// CHECK: memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<2x4xf32> to memref<8xf32>
// CHECK-NOT: prefetch
// CHECK: %[[C:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: arith.select %[[C]], %{{.*}}, %{{.*}} : vector<8xi1>, vector<8xf32>

// -----

// Bools and unsigned numbers in memory are bytes without a sign.
func.func @main(%x: memref<8xi1>, %y: memref<8xui8>, %out: memref<8xi1> {lamina.kind = "output"}, %arena: memref<0xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  func.call @kernel_0(%x, %out) : (memref<8xi1>, memref<8xi1>) -> ()
  func.return
}
func.func private @kernel_0(%x: memref<8xi1>, %out: memref<8xi1>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %0 = vector.load %x[%c0] : memref<8xi1>, vector<8xi1>
  vector.store %0, %out[%c0] : memref<8xi1>, vector<8xi1>
  func.return
}
// CHECK-LABEL: func.func @main(%x: memref<8xi8>, %y: memref<8xi8>, %out: memref<8xi8>
// CHECK: %[[B:.*]] = vector.load %x[%{{.*}}] : memref<8xi8>, vector<8xi8>
// CHECK-NEXT: %[[I:.*]] = arith.trunci %[[B]] : vector<8xi8> to vector<8xi1>
// CHECK-NEXT: %[[W:.*]] = arith.extui %[[I]] : vector<8xi1> to vector<8xi8>
// CHECK-NEXT: vector.store %[[W]], %out

// -----

// CHECK: loop.special: "digamma" is no function of math
// CHECK: nearest supported: functions of arith and math
func.func @main(%x: memref<8xf32>, %arena: memref<0xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  func.call @kernel_0(%x) : (memref<8xf32>) -> ()
  func.return
}
func.func private @kernel_0(%x: memref<8xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %0 = vector.load %x[%c0] : memref<8xf32>, vector<8xf32>
  %1 = loop.special "digamma"(%0) : vector<8xf32>
  vector.store %1, %x[%c0] : memref<8xf32>, vector<8xf32>
  func.return
}

// -----

// Lanes are moved together by way of memory that a kernel takes once; pairs are multiplied in f32.
func.func @main(%x: memref<8xf32>, %h: memref<8xbf16>, %out: memref<8xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kernel_0(%x, %h, %out) : (memref<8xf32>, memref<8xbf16>, memref<8xf32>) -> ()
  func.return
}
func.func private @kernel_0(%x: memref<8xf32>, %h: memref<8xbf16>, %out: memref<8xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %p = vector.load %h[%c0] : memref<8xbf16>, vector<8xbf16>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = vector.load %x[%c0] : memref<8xf32>, vector<4xf32>
    %m = loop.cmpf %v, %v {predicate = 2} : vector<4xf32>, vector<4xf32> -> vector<4xi1>
    %c = loop.compress %v, %m : vector<4xf32>, vector<4xi1> -> vector<4xf32>
    %d = loop.dot_pairs %p, %p, %c : vector<8xbf16>, vector<8xbf16>, vector<4xf32> -> vector<4xf32>
    vector.store %d, %out[%i] : memref<8xf32>, vector<4xf32>
  }
  func.return
}
// CHECK: func.func private @kernel_0
// CHECK-NEXT: %[[MEM:.*]] = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[MEM]][%{{.*}}] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: vector.compressstore %[[MEM]][%{{.*}}], %{{.*}}, %{{.*}} : memref<4xf32>, vector<4xi1>, vector<4xf32>
// CHECK-NEXT: vector.load %[[MEM]]
// CHECK-NEXT: arith.extf %{{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK-NEXT: arith.extf
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: vector.shuffle %{{.*}}, %{{.*}} [0, 2, 4, 6] : vector<8xf32>, vector<8xf32>
// CHECK-NEXT: vector.shuffle %{{.*}}, %{{.*}} [1, 3, 5, 7] : vector<8xf32>, vector<8xf32>
// CHECK-NEXT: arith.addf
// CHECK-NEXT: arith.addf
