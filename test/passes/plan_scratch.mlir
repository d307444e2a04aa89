// RUN: lamina-opt %s -p 'plan-scratch{target="x86-64-v3" stack=1024},verify-scheduled' --split-input-file | filecheck %s

// The long buffer goes to the arena, the short one stays. The part of a thread is a page; the arena has
// one for each of sixteen threads behind what was there, and the team has no more threads than that.
func.func @main(%x: memref<512xf32>, %y: memref<512xf32> {lamina.kind = "output"}, %arena: memref<64xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  loop.team {
    func.call @long(%x, %y) : (memref<512xf32>, memref<512xf32>) -> ()
  }
  func.return
}
// CHECK-LABEL: @main
// CHECK-SAME:    %arena: memref<69632xi8>
// CHECK:         [[END:%\S+]] = arith.constant 4096 : index
// CHECK-NEXT:    [[PARTS:%\S+]] = memref.view %arena{{\[}}[[END]]][] : memref<69632xi8> to memref<65536xi8>
// CHECK:         loop.team attributes {max_threads = 16 : i64} {
// CHECK-NEXT:      func.call @long(%x, %y, [[PARTS]]) : (memref<512xf32>, memref<512xf32>, memref<65536xi8>) -> ()

// CHECK:       func.func private @long(%x: memref<512xf32>, %y: memref<512xf32>, [[MINE:%\S+]]: memref<65536xi8>) attributes {lamina.kernel, lamina.scratch = array<i64: 64, 2048>}
// CHECK-NEXT:    [[THREAD:%\S+]] = loop.thread : index
// CHECK-NEXT:    [[SIZE:%\S+]] = arith.constant 4096 : index
// CHECK-NEXT:    [[START:%\S+]] = arith.muli [[THREAD]], [[SIZE]] : index
// CHECK:         ^bb0
// CHECK-NEXT:    [[OFFSET:%\S+]] = arith.constant 0 : index
// CHECK-NEXT:    [[PLACE:%\S+]] = arith.addi [[START]], [[OFFSET]] : index
// CHECK-NEXT:    memref.view [[MINE]]{{\[}}[[PLACE]]][] : memref<65536xi8> to memref<512xf32>
// CHECK:         memref.alloca() : memref<4xf32>
func.func private @long(%x: memref<512xf32>, %y: memref<512xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  "scf.parallel"(%c0, %c512, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %long = memref.alloca() : memref<512xf32>
    %short = memref.alloca() : memref<4xf32>
    %v = memref.load %x[%i] : memref<512xf32>
    memref.store %v, %long[%i] : memref<512xf32>
    memref.store %v, %short[%c0] : memref<4xf32>
    %w = memref.load %long[%i] : memref<512xf32>
    memref.store %w, %y[%i] : memref<512xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

// What is needed at different times shares bytes: 2048 of the arena for both.
func.func @main(%y: memref<512xf32> {lamina.kind = "output"}, %arena: memref<0xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  func.call @turns(%y) : (memref<512xf32>) -> ()
  func.return
}
// CHECK-LABEL: @main
// CHECK-SAME:    %arena: memref<65536xi8>
// CHECK:       func.func private @turns({{.*}} lamina.scratch = array<i64: 0, 2048>
func.func private @turns(%y: memref<512xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %first = memref.alloca() : memref<512xf32>
  %second = memref.alloca() : memref<512xf32>
  %v = memref.load %y[%c0] : memref<512xf32>
  memref.store %v, %first[%c0] : memref<512xf32>
  %w = memref.load %first[%c0] : memref<512xf32>
  memref.store %w, %second[%c0] : memref<512xf32>
  %z = memref.load %second[%c0] : memref<512xf32>
  memref.store %z, %y[%c0] : memref<512xf32>
  func.return
}

// -----

// Short scratch stays where it is, and is noted.
// CHECK-LABEL: @short
// CHECK-SAME:    lamina.scratch = array<i64: 64, 0>
// CHECK:         memref.alloca
func.func private @short(%y: memref<4xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %first = memref.alloca() : memref<4xf32>
  %v = memref.load %first[%c0] : memref<4xf32>
  memref.store %v, %y[%c0] : memref<4xf32>
  func.return
}
