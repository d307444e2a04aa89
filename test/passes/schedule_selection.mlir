// RUN: lamina-opt %s -p 'schedule{target="x86-64-v3"}' --split-input-file | filecheck %s

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

// All of a row: runs are merged.
func.func private @all(%x: memref<4x64xf32>, %v: memref<4x64xf32>, %p: memref<4x64xi64>, %w: memref<4x64xf32>, %q: memref<4x64xi64>) attributes {lamina.kernel} {
  loop.sort %x outs(%v, %p, %w, %q : memref<4x64xf32>, memref<4x64xi64>, memref<4x64xf32>, memref<4x64xi64>) : memref<4x64xf32>
  func.return
}
// CHECK-LABEL: @all
// CHECK-NOT:     memref.alloca
// CHECK:         arith.minui
