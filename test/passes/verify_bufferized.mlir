// RUN: lamina-opt %s -p verify-bufferized --split-input-file --verify-diagnostics | filecheck %s

// Kernels are nests over memory; a schedule may stand there, in parts too.
func.func @main(%x: memref<45xf32>, %y: memref<45xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kernel(%x, %y) : (memref<45xf32>, memref<45xf32>) -> ()
  func.return
}
func.func private @kernel(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<tile = 10>]} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @main
// CHECK:         #loop.rows<tile = 10>

// -----

func.func private @kernel(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  // expected-error@below {{jam = d0: kept beside that of vectors: none}}
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) attributes {lamina.schedule = #loop.schedule<jam = d0 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @kernel(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  // expected-error@below {{is no nest, buffer or return of a kernel on buffers}}
  %z = arith.constant 0 : index
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// expected-error@below {{it is neither an entry (lamina.entry) nor a kernel (lamina.kernel)}}
func.func private @kernel(%x: memref<45xf32>, %y: memref<45xf32>) {
  func.return
}

// -----

// A result may lie over an argument that the kernel reads element by element.
func.func @main(%x: memref<45xf32> {lamina.kind = "output"}, %a: memref<256xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %v = memref.view %a[%c0][] : memref<256xi8> to memref<45xf32>
  %w = memref.view %a[%c0][] : memref<256xi8> to memref<45xf32>
  func.call @copy(%x, %v) : (memref<45xf32>, memref<45xf32>) -> ()
  func.call @copy(%v, %w) : (memref<45xf32>, memref<45xf32>) -> ()
  func.call @copy(%w, %x) : (memref<45xf32>, memref<45xf32>) -> ()
  func.return
}
func.func private @copy(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: func.call @copy(%v, %w)

// -----

func.func @main(%x: memref<45xf32> {lamina.kind = "output"}, %a: memref<256xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %v = memref.view %a[%c0][] : memref<256xi8> to memref<45xf32>
  %w = memref.view %a[%c64][] : memref<256xi8> to memref<45xf32>
  // expected-error@below {{arguments 0 and 1 of @copy share bytes of the arena (0 to 180 and 64 to 244), and the kernel writes one of them}}
  func.call @copy(%v, %w) : (memref<45xf32>, memref<45xf32>) -> ()
  func.call @copy(%w, %x) : (memref<45xf32>, memref<45xf32>) -> ()
  func.return
}
func.func private @copy(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// Backwards, an element would be overwritten before it is read.
func.func @main(%x: memref<45xf32> {lamina.kind = "output"}, %a: memref<256xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  %v = memref.view %a[%c0][] : memref<256xi8> to memref<45xf32>
  %w = memref.view %a[%c0][] : memref<256xi8> to memref<45xf32>
  // expected-error@below {{arguments 0 and 1 of @flip share bytes}}
  func.call @flip(%v, %w) : (memref<45xf32>, memref<45xf32>) -> ()
  func.return
}
func.func private @flip(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [45] reads(%x[-i + 44] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

// expected-error@below {{functions with bodies stand at module level}}
func.func private @kernel(memref<45xf32>) attributes {lamina.kernel}

// -----

// expected-error@below {{@blocks has 2 blocks; nests of a kernel stand in one}}
func.func private @blocks(%x: memref<4xf32>, %y: memref<4xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [4] reads(%x[i] : memref<4xf32>) writes([i] store into %y : memref<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
^bb1:
  func.return
}

// -----

func.func private @kernel(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  %z = memref.alloc() {alignment = 64 : i64} : memref<45xf32>
  // expected-error@below {{it reads a buffer of the kernel that nothing has written}}
  loop.generic (i) in [45] reads(%z[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %z : memref<45xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
