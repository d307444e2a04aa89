// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v3"},choose-schedule{target="x86-64-v3"},apply-schedule' --split-input-file | filecheck %s

// The first few: vectors are compared with the last one kept, and elements looked at where any goes before it.
func.func private @few(%x: memref<4x5000xf32>, %v: memref<4x5xf32>, %p: memref<4x5xi64>, %w: memref<4x5005xf32>, %q: memref<4x5005xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<4x5xf32>, memref<4x5xi64>, memref<4x5005xf32>, memref<4x5005xi64>) {descending, taken = array<i64: 0, 5>} : memref<4x5000xf32>
  func.return
}
// CHECK-LABEL: @few
// CHECK:         vector.load {{.*}} : memref<20000xf32>, vector<8xf32>
// CHECK:         vector.reduction <or>
// CHECK:         scf.if
// CHECK:         scf.while

// -----

// A single one: elements are counted by digits of their keys.
func.func private @one(%x: memref<4x5000xf32>, %v: memref<4x1xf32>, %p: memref<4x1xi64>, %w: memref<4x5001xf32>, %q: memref<4x5001xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<4x1xf32>, memref<4x1xi64>, memref<4x5001xf32>, memref<4x5001xi64>) {taken = array<i64: 2500, 1>} : memref<4x5000xf32>
  func.return
}
// CHECK-LABEL: @one
// CHECK:         memref.alloca() {{.*}} : memref<2048xi64>
// CHECK:         arith.bitcast {{.*}} : f32 to i32
// CHECK-NOT:     scf.while

// -----

// Some hundred: found by the digits of the last one, and taken from the blocks of vectors in which any are (uge).
func.func private @some(%x: memref<4x5000xf32>, %v: memref<4x500xf32>, %p: memref<4x500xi64>, %w: memref<4x5500xf32>, %q: memref<4x5500xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<4x500xf32>, memref<4x500xi64>, memref<4x5500xf32>, memref<4x5500xi64>) {descending, taken = array<i64: 0, 500>} : memref<4x5000xf32>
  func.return
}
// CHECK-LABEL: @some
// CHECK:         memref.alloca() {{.*}} : memref<2048xi64>
// CHECK:         loop.cmpf {{.*}} {predicate = 10 : i64}
// CHECK:         vector.reduction <or>
// CHECK:         scf.if

// -----

// All of a row: keys and places are words; ranks of sixteen at once are counted in vectors, and such runs merged.
func.func private @all(%x: memref<4x100xf32>, %v: memref<4x100xf32>, %p: memref<4x100xi64>, %w: memref<4x100xf32>, %q: memref<4x100xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<4x100xf32>, memref<4x100xi64>, memref<4x100xf32>, memref<4x100xi64>) : memref<4x100xf32>
  func.return
}
// CHECK-LABEL: @all
// CHECK:         memref.alloca() {{.*}} : memref<16xi64>
// CHECK:         arith.shli
// CHECK:         scf.for {{.*}} -> (vector<4xi64>, vector<4xi64>, vector<4xi64>, vector<4xi64>)
// CHECK:         loop.cmpi {{.*}} {predicate = 2 : i64}
// CHECK:         arith.minui

// -----

// Keys of 64 bits have no room for a place: numbers in their order, of equal ones those that stand in front.
func.func private @wide(%x: memref<4x100xf64>, %v: memref<4x100xf64>, %p: memref<4x100xi64>, %w: memref<4x100xf64>, %q: memref<4x100xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<4x100xf64>, memref<4x100xi64>, memref<4x100xf64>, memref<4x100xi64>) : memref<4x100xf64>
  func.return
}
// CHECK-LABEL: @wide
// CHECK:         memref.alloca() {{.*}} : memref<16xi64>
// CHECK:         scf.for {{.*}} -> (vector<4xi64>, vector<4xi64>, vector<4xi64>, vector<4xi64>)
// CHECK:         loop.cmpi {{.*}} {predicate = 2 : i64}
// CHECK:         loop.cmpi {{.*}} {predicate = 0 : i64}
// CHECK:         loop.cmpi {{.*}} {predicate = 6 : i64}
// CHECK:         arith.minui
// CHECK-NOT:     arith.cmpf {{.*}}olt

// -----

// Many short rows: each lane keeps the first three of its row, by maxima and minima of keys with their places.
func.func private @short(%x: memref<66x20xf32>, %v: memref<66x3xf32>, %p: memref<66x3xi64>, %w: memref<66x23xf32>, %q: memref<66x23xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<66x3xf32>, memref<66x3xi64>, memref<66x23xf32>, memref<66x23xi64>) {descending, taken = array<i64: 0, 3>} : memref<66x20xf32>
  func.return
}
// CHECK-LABEL:   @short
// CHECK-DAG:     [[TASKS:%\S+]] = arith.constant 17 : index
// CHECK:         scf.{{for|parallel}}{{.*}}[[TASKS]]
// CHECK:         scf.for {{.*}} -> (vector<4xi64>, vector<4xi64>, vector<4xi64>)
// CHECK:         loop.gather
// CHECK-COUNT-3: arith.maxsi
// CHECK-NOT:     arith.maxsi

// -----

// A single one near the end of the order is counted from there.
func.func private @near_the_end(%x: memref<64x20xi32>, %v: memref<64x1xi32>, %p: memref<64x1xi64>, %w: memref<64x21xi32>, %q: memref<64x21xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<64x1xi32>, memref<64x1xi64>, memref<64x21xi32>, memref<64x21xi64>) {taken = array<i64: 18, 1>} : memref<64x20xi32>
  func.return
}
// CHECK-LABEL:   @near_the_end
// CHECK:         scf.for {{.*}} -> (vector<4xi64>, vector<4xi64>)
// CHECK-NOT:     arith.cmpf

// -----

// Fewer rows than lanes, and elements whose keys leave no room for a place, are put in order one by one.
func.func private @wide_keys(%x: memref<64x20xf64>, %v: memref<64x1xf64>, %p: memref<64x1xi64>, %w: memref<64x21xf64>, %q: memref<64x21xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<64x1xf64>, memref<64x1xi64>, memref<64x21xf64>, memref<64x21xi64>) {taken = array<i64: 18, 1>} : memref<64x20xf64>
  func.return
}
// CHECK-LABEL:   @wide_keys
// CHECK-NOT:     loop.gather

// -----

func.func private @few_rows(%x: memref<3x20xf32>, %v: memref<3x1xf32>, %p: memref<3x1xi64>, %w: memref<3x21xf32>, %q: memref<3x21xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<3x1xf32>, memref<3x1xi64>, memref<3x21xf32>, memref<3x21xi64>) {taken = array<i64: 18, 1>} : memref<3x20xf32>
  func.return
}
// CHECK-LABEL:   @few_rows
// CHECK-NOT:     loop.gather
