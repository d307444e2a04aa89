// RUN: lamina-opt %s -p mutate-in-place --split-input-file | filecheck %s

// A cache that is scattered into is an argument, and nothing reads what it was: rows are written where it is, by both calls of
// the kernel. What reads the new value reads the argument.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %k: memref<8x4xf32> {lamina.kind = "buffer", lamina.name = "k"}
// CHECK-SAME:    %nk: memref<8x4xf32> {lamina.kind = "mutation", lamina.target = "k", lamina.in_place}
// CHECK-SAME:    %nv: memref<8x4xf32> {lamina.kind = "mutation", lamina.target = "v", lamina.in_place}
// CHECK-NEXT:    func.call @put(%k, %i, %x) : (memref<8x4xf32>, memref<1xi64>, memref<1x4xf32>) -> ()
// CHECK-NEXT:    func.call @put(%v, %i, %x) : (memref<8x4xf32>, memref<1xi64>, memref<1x4xf32>) -> ()
// CHECK-NEXT:    func.call @double(%k, %y)
func.func @main(%i: memref<1xi64> {lamina.name = "i"}, %x: memref<1x4xf32> {lamina.name = "x"}, %k: memref<8x4xf32> {lamina.kind = "buffer", lamina.name = "k"}, %v: memref<8x4xf32> {lamina.kind = "buffer", lamina.name = "v"}, %y: memref<8x4xf32> {lamina.kind = "output"}, %nk: memref<8x4xf32> {lamina.kind = "mutation", lamina.target = "k"}, %nv: memref<8x4xf32> {lamina.kind = "mutation", lamina.target = "v"}) attributes {lamina.entry} {
  func.call @put(%k, %i, %x, %nk) : (memref<8x4xf32>, memref<1xi64>, memref<1x4xf32>, memref<8x4xf32>) -> ()
  func.call @put(%v, %i, %x, %nv) : (memref<8x4xf32>, memref<1xi64>, memref<1x4xf32>, memref<8x4xf32>) -> ()
  func.call @double(%nk, %y) : (memref<8x4xf32>, memref<8x4xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func private @put(%z: memref<8x4xf32>, %i: memref<1xi64>, %x: memref<1x4xf32>)
// CHECK:         into(%z : memref<8x4xf32> -> %z : memref<8x4xf32>)
func.func private @put(%z: memref<8x4xf32>, %i: memref<1xi64>, %x: memref<1x4xf32>, %o: memref<8x4xf32>) attributes {lamina.kernel} {
  loop.scatter (d0, d1) in [1, 4] reads(%i[d0] : memref<1xi64>, %x[d0, d1] : memref<1x4xf32>) into(%z : memref<8x4xf32> -> %o : memref<8x4xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %r = arith.index_cast %p : i64 to index
    %c = loop.index 1 : index
    loop.yield %r, %c, %v : index, index, f32
  }
  func.return
}
func.func private @double(%a: memref<8x4xf32>, %o: memref<8x4xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 4] reads(%a[i, j] : memref<8x4xf32>) writes([i, j] store into %o : memref<8x4xf32>) {
  ^bb0(%p: f32):
    %s = arith.addf %p, %p : f32
    loop.yield %s : f32
  }
  func.return
}

// -----

// A kernel that reads just the elements that it writes writes over them.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    func.call @count(%n, %n) : (memref<4xf32>, memref<4xf32>) -> ()
func.func @main(%n: memref<4xf32> {lamina.name = "n"}, %nn: memref<4xf32> {lamina.kind = "mutation", lamina.target = "n"}) attributes {lamina.entry} {
  func.call @count(%n, %nn) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
func.func private @count(%a: memref<4xf32>, %o: memref<4xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [4] reads(%a[i] : memref<4xf32>) writes([i] store into %o : memref<4xf32>) {
  ^bb0(%p: f32):
    %c = arith.constant 1.0 : f32
    %s = arith.addf %p, %c : f32
    loop.yield %s : f32
  }
  func.return
}

// -----

// Not where what the argument was is read afterwards (a), where elements are read that others have overwritten (b), where the
// new value goes to another argument (c to d), in a branch (e), or where @setup takes the argument (f).
// CHECK-LABEL: func.func @main
// CHECK-NOT:     lamina.in_place
// CHECK:         func.call @count(%a, %na)
// CHECK-NEXT:    func.call @count(%a, %y)
// CHECK-NEXT:    func.call @turn(%b, %nb)
// CHECK-NEXT:    func.call @count(%c, %nd)
// CHECK:         scf.if
// CHECK-NEXT:      func.call @count(%e, %ne)
// CHECK:         func.call @count(%f, %nf)
func.func @main(%if: memref<i1> {lamina.name = "if"}, %a: memref<4xf32> {lamina.name = "a"}, %b: memref<4xf32> {lamina.name = "b"}, %c: memref<4xf32> {lamina.name = "c"}, %d: memref<4xf32> {lamina.name = "d"}, %e: memref<4xf32> {lamina.name = "e"}, %f: memref<4xf32> {lamina.name = "f", lamina.kind = "buffer"}, %y: memref<4xf32> {lamina.kind = "output"}, %na: memref<4xf32> {lamina.kind = "mutation", lamina.target = "a"}, %nb: memref<4xf32> {lamina.kind = "mutation", lamina.target = "b"}, %nd: memref<4xf32> {lamina.kind = "mutation", lamina.target = "d"}, %ne: memref<4xf32> {lamina.kind = "mutation", lamina.target = "e"}, %nf: memref<4xf32> {lamina.kind = "mutation", lamina.target = "f"}) attributes {lamina.entry} {
  func.call @count(%a, %na) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @count(%a, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @turn(%b, %nb) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @count(%c, %nd) : (memref<4xf32>, memref<4xf32>) -> ()
  %yes = memref.load %if[] : memref<i1>
  scf.if %yes {
    func.call @count(%e, %ne) : (memref<4xf32>, memref<4xf32>) -> ()
  } else {
    func.call @turn(%e, %ne) : (memref<4xf32>, memref<4xf32>) -> ()
  }
  func.call @count(%f, %nf) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
func.func @setup(%f: memref<4xf32> {lamina.name = "f", lamina.kind = "buffer"}, %p: memref<4xf32> {lamina.name = "p", lamina.kind = "prepared"}) attributes {lamina.entry} {
  func.call @count(%f, %p) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
func.func private @count(%a: memref<4xf32>, %o: memref<4xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [4] reads(%a[i] : memref<4xf32>) writes([i] store into %o : memref<4xf32>) {
  ^bb0(%p: f32):
    %c = arith.constant 1.0 : f32
    %s = arith.addf %p, %c : f32
    loop.yield %s : f32
  }
  func.return
}
func.func private @turn(%a: memref<4xf32>, %o: memref<4xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [4] reads(%a[3 - i] : memref<4xf32>) writes([i] store into %o : memref<4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
