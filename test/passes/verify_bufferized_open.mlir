// RUN: lamina-opt %s -p 'verify-bufferized{open=true},choose-schedule{target="x86-64-v3"},verify-bufferized' | filecheck %s
// RUN: lamina-opt %s -p 'verify-bufferized{open=true}' | filecheck %s --check-prefix OPEN
// RUN: not lamina-opt %s -p verify-bufferized 2>&1 | filecheck %s --check-prefix WHOLE

// Part of a schedule is completed before it is judged: tiles of a loop that is chosen with them.
func.func @main(%x: memref<37x70xf32>, %w: memref<70xf32>, %y: memref<37x70xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kernel(%x, %w, %y) : (memref<37x70xf32>, memref<70xf32>, memref<37x70xf32>) -> ()
  func.return
}
// CHECK-LABEL: private @kernel
// CHECK-SAME:    #loop.rows<parallel = false, inner = [1], tile = 2>
// OPEN-LABEL:  private @kernel
// OPEN-SAME:     #loop.rows<tile = 2>
// WHOLE:       tile: the nests of the kernel have no loop in common
func.func private @kernel(%x: memref<37x70xf32>, %w: memref<70xf32>, %y: memref<37x70xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<tile = 2>]} {
  loop.generic (d0, d1) in [37, 70] reads(%x[d0, d1] : memref<37x70xf32>, %w[d1] : memref<70xf32>) writes([d0, d1] store into %y : memref<37x70xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.addf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
