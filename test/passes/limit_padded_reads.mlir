// RUN: lamina-opt %s -p 'limit-padded-reads' --split-input-file | filecheck %s

// What stands behind the sizes of a call nobody knows: reads with a pad end there.
func.func @main(%x: memref<16x64xf32> {lamina.counts = ["size(a)", "size(b)"]}, %a: memref<i64> {lamina.name = "size(a)"}, %b: memref<i64> {lamina.name = "size(b)"}, %out: memref<18x66xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kernel(%b, %x, %a, %out) : (memref<i64>, memref<16x64xf32>, memref<i64>, memref<18x66xf32>) -> ()
  func.return
}
func.func private @kernel(%b: memref<i64>, %x: memref<16x64xf32>, %a: memref<i64>, %out: memref<18x66xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [18, 66] reads(%x[i - 1, j - 1] pad 0.0 : f32 : memref<16x64xf32>) writes([i, j] store into %out : memref<18x66xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK-LABEL: func.func private @kernel(%b: memref<i64>, %x: memref<16x64xf32> {lamina.limits = [2 : i64, 0 : i64]}, %a: memref<i64>, %out: memref<18x66xf32>)

// -----

// A kernel that is not given a number cannot ask for it.
func.func @main(%x: memref<16x64xf32> {lamina.counts = ["size(a)", "size(b)"]}, %a: memref<i64> {lamina.name = "size(a)"}, %b: memref<i64> {lamina.name = "size(b)"}, %out: memref<18x66xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @one_number(%b, %x, %out) : (memref<i64>, memref<16x64xf32>, memref<18x66xf32>) -> ()
  func.return
}
func.func private @one_number(%b: memref<i64>, %x: memref<16x64xf32>, %out: memref<18x66xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [18, 66] reads(%x[i - 1, j - 1] pad 0.0 : f32 : memref<16x64xf32>) writes([i, j] store into %out : memref<18x66xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK-LABEL: func.func private @one_number
// CHECK-SAME:    lamina.limits = [-1 : i64, 0 : i64]

// -----

// Without a pad nothing is beyond an edge; and calls have to agree.
func.func @main(%x: memref<16x64xf32> {lamina.counts = ["size(a)", "size(b)"]}, %y: memref<16x64xf32>, %a: memref<i64> {lamina.name = "size(a)"}, %b: memref<i64> {lamina.name = "size(b)"}, %out: memref<16x64xf32> {lamina.kind = "output"}, %more: memref<18x66xf32> {lamina.kind = "output"}, %last: memref<18x66xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @no_pad(%x, %a, %b, %out) : (memref<16x64xf32>, memref<i64>, memref<i64>, memref<16x64xf32>) -> ()
  func.call @called_twice(%x, %a, %b, %more) : (memref<16x64xf32>, memref<i64>, memref<i64>, memref<18x66xf32>) -> ()
  func.call @called_twice(%y, %a, %b, %last) : (memref<16x64xf32>, memref<i64>, memref<i64>, memref<18x66xf32>) -> ()
  func.return
}
func.func private @no_pad(%x: memref<16x64xf32>, %a: memref<i64>, %b: memref<i64>, %out: memref<16x64xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [16, 64] reads(%x[i, j] : memref<16x64xf32>) writes([i, j] store into %out : memref<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
func.func private @called_twice(%x: memref<16x64xf32>, %a: memref<i64>, %b: memref<i64>, %out: memref<18x66xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [18, 66] reads(%x[i - 1, j - 1] pad 0.0 : f32 : memref<16x64xf32>) writes([i, j] store into %out : memref<18x66xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK-LABEL: func.func private @no_pad
// CHECK-NOT:     lamina.limits
// CHECK-LABEL: func.func private @called_twice
// CHECK-NOT:     lamina.limits

// -----

// What a text claims does not stand: a number that is no size of what the call brings ends no read.
func.func @main(%x: memref<16x64xf32>, %a: memref<i64>, %out: memref<18x66xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @claimed(%x, %a, %out) : (memref<16x64xf32>, memref<i64>, memref<18x66xf32>) -> ()
  func.return
}
func.func private @claimed(%x: memref<16x64xf32> {lamina.limits = [1, -1]}, %a: memref<i64>, %out: memref<18x66xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [18, 66] reads(%x[i - 1, j - 1] pad 0.0 : f32 : memref<16x64xf32>) writes([i, j] store into %out : memref<18x66xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK-LABEL: func.func private @claimed
// CHECK-NOT:     lamina.limits
