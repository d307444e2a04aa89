// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' | filecheck %s

// The first elements of rows of as many as a call has, at most 256, are found by counting ranks; where all rows have 256, by
// the digits of their keys.
// CHECK-LABEL: @open
// CHECK-SAME:    algorithm = rank
func.func private @open(%x: memref<8x256xf32>, %n: memref<i64>, %v: memref<8x200xf32>, %p: memref<8x200xi64>, %w: memref<8x456xf32>, %q: memref<8x456xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<8x200xf32>, memref<8x200xi64>, memref<8x456xf32>, memref<8x456xi64>) {lamina.nest = #loop.nest<rows = [d0, d1], live = [8, arg1 of 256]>, taken = array<i64: 0, 200>} : memref<8x256xf32>
  func.return
}

// CHECK-LABEL: @known
// CHECK-SAME:    algorithm = selection
func.func private @known(%x: memref<8x256xf32>, %v: memref<8x200xf32>, %p: memref<8x200xi64>, %w: memref<8x456xf32>, %q: memref<8x456xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<8x200xf32>, memref<8x200xi64>, memref<8x456xf32>, memref<8x456xi64>) {taken = array<i64: 0, 200>} : memref<8x256xf32>
  func.return
}

// As many as a call says are found in the way that fits their number: few by insertion, all but some by sorting.
// CHECK-LABEL: @taken
// CHECK-SAME:    algorithm = selection, lanes = 16, few = {{[0-9]+}}, left_out = {{[0-9]+}},
func.func private @taken(%x: memref<8x500xf32>, %n: memref<i64>, %v: memref<8x500xf32>, %p: memref<8x500xi64>, %w: memref<8x1000xf32>, %q: memref<8x1000xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<8x500xf32>, memref<8x500xi64>, memref<8x1000xf32>, memref<8x1000xi64>) {lamina.nest = #loop.nest<taken = [arg1 of 500]>, taken = array<i64: 0, 500>} : memref<8x500xf32>
  func.return
}
