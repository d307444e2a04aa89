// RUN: lamina-opt %s -p guard-accesses,verify-scheduled --split-input-file | filecheck %s

// Positions of a loop, and what is computed of them, stay inside: nothing is asserted.
func.func @main(%x: memref<6x20xf32>, %y: memref<6x20xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @inside(%x, %y) : (memref<6x20xf32>, memref<6x20xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func private @inside
// CHECK-NOT:     cf.assert
func.func private @inside(%x: memref<6x20xf32>, %y: memref<6x20xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %c16 = arith.constant 16 : index
  %mask = vector.create_mask %c4 : vector<16xi1>
  %pass = arith.constant dense<0.0> : vector<16xf32>
  scf.for %i = %c0 to %c6 step %c1 {
    %v = vector.load %x[%i, %c4] : memref<6x20xf32>, vector<16xf32>
    vector.store %v, %y[%i, %c0] : memref<6x20xf32>, vector<16xf32>
    %t = vector.maskedload %x[%i, %c16], %mask, %pass : memref<6x20xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
    vector.maskedstore %y[%i, %c16], %mask, %t : memref<6x20xf32>, vector<16xi1>, vector<16xf32>
    %r = arith.remui %i, %c4 : index
    %e = memref.load %x[%r, %c16] : memref<6x20xf32>
    memref.store %e, %y[%i, %c16] : memref<6x20xf32>
  }
  func.return
}

// -----

// One round more than there are rows: of the indices those that may be outside are chosen.
func.func @main(%x: memref<6x20xf32>, %y: memref<6x20xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @scalars(%x, %y) : (memref<6x20xf32>, memref<6x20xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func private @scalars
// CHECK:         scf.for [[I:%\S+]] =
// CHECK-NEXT:      [[END:%\S+]] = arith.constant 6 : index
// CHECK-NEXT:      [[IN:%\S+]] = arith.cmpi ult, [[I]], [[END]] : index
// CHECK-NEXT:      [[ZERO:%\S+]] = arith.constant 0 : index
// CHECK-NEXT:      [[AT:%\S+]] = arith.select [[IN]], [[I]], [[ZERO]] : index
// CHECK-NEXT:      cf.assert [[IN]], "{{.*}}.mlir:{{[0-9]+}}:{{[0-9]+}}: memref.load: outside of its buffer"
// CHECK-NEXT:      memref.load %x{{\[}}[[AT]], %{{\S+}}] : memref<6x20xf32>
func.func private @scalars(%x: memref<6x20xf32>, %y: memref<6x20xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %c0 to %c7 step %c1 {
    %e = memref.load %x[%i, %c0] : memref<6x20xf32>
    memref.store %e, %y[%c0, %c1] : memref<6x20xf32>
  }
  func.return
}

// -----

// Vectors are looked at as runs of elements; of a mask of the first lanes just these count.
func.func @main(%x: memref<40xf32>, %y: memref<40xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @vectors(%x, %y) : (memref<40xf32>, memref<40xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func private @vectors
// CHECK:         scf.for [[I:%\S+]] =
// CHECK:           [[END:%\S+]] = arith.constant 25 : index
// CHECK-NEXT:      [[IN:%\S+]] = arith.cmpi ult, %{{\S+}}, [[END]] : index
// CHECK:           [[AT:%\S+]] = arith.select [[IN]], [[I]],
// CHECK-NEXT:      cf.assert [[IN]], "{{.*}}: vector.load: outside of its buffer"
// CHECK-NEXT:      vector.load %x{{\[}}[[AT]]] : memref<40xf32>, vector<16xf32>
// CHECK:           [[ON:%\S+]] = arith.minsi
// CHECK:           [[SIZE:%\S+]] = arith.constant 40 : index
// CHECK-NEXT:      [[LAST:%\S+]] = arith.subi [[SIZE]], [[ON]] : index
// CHECK:           [[EACH:%\S+]] = vector.broadcast [[FITS:%\S+]] : i1 to vector<16xi1>
// CHECK-NEXT:      [[MASK:%\S+]] = arith.andi %{{\S+}}, [[EACH]] : vector<16xi1>
// CHECK-NEXT:      cf.assert [[FITS]], "{{.*}}: vector.maskedstore: outside of its buffer"
// CHECK-NEXT:      vector.maskedstore %y{{\[}}[[I]]], [[MASK]],
func.func private @vectors(%x: memref<40xf32>, %y: memref<40xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  scf.for %i = %c0 to %c40 step %c16 {
    %v = vector.load %x[%i] : memref<40xf32>, vector<16xf32>
    %n = arith.subi %c40, %i : index
    %mask = vector.create_mask %n : vector<16xi1>
    vector.maskedstore %y[%i], %mask, %v : memref<40xf32>, vector<16xi1>, vector<16xf32>
  }
  func.return
}

// -----

// Of other masks, and of lanes that stand anywhere, each lane is asked.
func.func @main(%x: memref<40xf32>, %o: memref<16xi64>, %y: memref<16xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @lanes(%x, %o, %y) : (memref<40xf32>, memref<16xi64>, memref<16xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func private @lanes
// CHECK:         [[OK:%\S+]] = loop.cmpi [[AT:%\S+]], %{{\S+}} {predicate = 6 : i64} : vector<16xi64>, vector<16xi64> -> vector<16xi1>
// CHECK-NEXT:    [[MASK:%\S+]] = arith.andi [[GIVEN:%\S+]], [[OK]] : vector<16xi1>
// CHECK-NEXT:    [[OUT:%\S+]] = arith.xori [[GIVEN]], [[MASK]] : vector<16xi1>
// CHECK-NEXT:    vector.reduction <or>, [[OUT]] : vector<16xi1> into i1
// CHECK:         cf.assert %{{\S+}}, "{{.*}}: loop.gather: outside of its buffer"
// CHECK-NEXT:    loop.gather %x[%{{\S+}}] [%{{\S+}}], [[MASK]],
func.func private @lanes(%x: memref<40xf32>, %o: memref<16xi64>, %y: memref<16xf32>) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %offsets = vector.load %o[%c0] : memref<16xi64>, vector<16xi64>
  %pass = arith.constant dense<0.0> : vector<16xf32>
  %mask = vector.create_mask %c16 : vector<16xi1>
  %v = loop.gather %x[%c0][%offsets], %mask, %pass : memref<40xf32>, vector<16xi64>, vector<16xi1>, vector<16xf32> -> vector<16xf32>
  vector.store %v, %y[%c0] : memref<16xf32>, vector<16xf32>
  func.return
}
