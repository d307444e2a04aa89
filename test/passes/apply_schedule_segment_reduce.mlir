// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v3"},choose-schedule{target="x86-64-v3"},apply-schedule' --split-input-file | filecheck %s

// Sums of rows that a list names: the sums of 20 columns stay in three vectors, the last one masked, and one check
// of the row serves all three. A table in the nearest cache is not fetched ahead.
func.func private @sums(%o: memref<65xi64>, %i: memref<500xi64>, %t: memref<30x20xf32>, %y: memref<64x20xf32>) attributes {lamina.kernel} {
  loop.segment_reduce (d0, d1, d2) in [64, 500, 20] offsets(%o : memref<65xi64>) reads(%i[d1] : memref<500xi64>) sources(%t : memref<30x20xf32>) carries(0.0 : f32) outs(%y : memref<64x20xf32>) {
  ^bb0(%at: i64, %source: memref<30x20xf32>, %sum: f32):
    %row = arith.index_cast %at : i64 to index
    %column = loop.index 2 : index
    %v = loop.read %source[%row, %column] : memref<30x20xf32>
    %next = arith.addf %sum, %v : f32
    loop.yield %next : f32
  }
  func.return
}
// CHECK-LABEL:   @sums
// CHECK:         scf.parallel
// CHECK:         cf.assert {{.*}} "offsets of segments must not fall, and lie between 0 and 500"
// CHECK:         vector.create_mask
// CHECK:         scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-NOT:     loop.prefetch
// CHECK:         cf.assert {{.*}} "index out of range
// CHECK-NOT:     cf.assert
// CHECK:         vector.load
// CHECK:         vector.load
// CHECK:         vector.maskedload
// CHECK:         scf.yield
// CHECK:         vector.store
// CHECK:         vector.store
// CHECK:         vector.maskedstore

// -----

// A large table: the lines of a later row are fetched. What is the same in all columns is carried once.
func.func private @first(%o: memref<65xi64>, %i: memref<500xi64>, %t: memref<5000x16xf32>, %y: memref<64x16xf32>) attributes {lamina.kernel} {
  loop.segment_reduce (d0, d1, d2) in [64, 500, 16] offsets(%o : memref<65xi64>) reads(%i[d1] : memref<500xi64>) sources(%t : memref<5000x16xf32>) carries(0.0 : f32, false) outs(%y : memref<64x16xf32>) {
  ^bb0(%at: i64, %source: memref<5000x16xf32>, %first: f32, %begun: i1):
    %row = arith.index_cast %at : i64 to index
    %column = loop.index 2 : index
    %v = loop.read %source[%row, %column] : memref<5000x16xf32>
    %yes = arith.constant true
    %next = arith.select %begun, %first, %v : f32
    loop.yield %next, %yes : f32, i1
  }
  func.return
}
// CHECK-LABEL:   @first
// CHECK:         scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, i1)
// CHECK-COUNT-1: loop.prefetch
// CHECK-NOT:     loop.prefetch
// CHECK:         scf.yield

// -----

// More columns than registers hold are walked in blocks.
func.func private @wide(%o: memref<65xi64>, %x: memref<500x256xf32>, %y: memref<64x256xf32>) attributes {lamina.kernel} {
  loop.segment_reduce (d0, d1, d2) in [64, 500, 256] offsets(%o : memref<65xi64>) reads(%x[d1, d2] : memref<500x256xf32>) carries(0.0 : f32) outs(%y : memref<64x256xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next : f32
  }
  func.return
}
// CHECK-LABEL:   @wide
// CHECK-DAG:     [[STEP:%\S+]] = arith.constant 64 : index
// CHECK-DAG:     [[END:%\S+]] = arith.constant 256 : index
// CHECK:         scf.for {{.*}} to [[END]] step [[STEP]]
// CHECK:         scf.for
// CHECK-COUNT-8: vector.load
// CHECK-NOT:     vector.load
// CHECK:         scf.yield

// -----

// Without columns, a number for each segment.
func.func private @numbers(%o: memref<65xi64>, %x: memref<500xi64>, %y: memref<64xi64>) attributes {lamina.kernel} {
  loop.segment_reduce (d0, d1) in [64, 500] offsets(%o : memref<65xi64>) reads(%x[d1] : memref<500xi64>) carries(0 : i64) outs(%y : memref<64xi64>) {
  ^bb0(%v: i64, %sum: i64):
    %next = arith.addi %sum, %v : i64
    loop.yield %next : i64
  }
  func.return
}
// CHECK-LABEL:   @numbers
// CHECK-NOT:     vector
// CHECK:         scf.for {{.*}} -> (i64)
// CHECK:         memref.store
