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

// So does one whose other nests read the new value, as a sum of rows does (n), and one of open sizes, which is padded (p). One whose other
// nests read it in windows may make parts of it twice (q), and one that reads what the argument was in two nests needs both (r).
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %np: memref<8x4xf32> {lamina.kind = "mutation", lamina.target = "p", lamina.counts = ["s", ""], lamina.sizes = [0 : i64, -1 : i64], lamina.in_place}
// CHECK-NEXT:    func.call @sum(%n, %n, %x)
// CHECK-NEXT:    func.call @sum(%p, %p, %y)
// CHECK-NEXT:    func.call @windows(%q, %nq, %z)
// CHECK-NEXT:    func.call @twice(%r, %nr, %w)
func.func @main(%n: memref<8x4xf32> {lamina.name = "n"}, %p: memref<8x4xf32> {lamina.name = "p", lamina.counts = ["s", ""]}, %q: memref<8x4xf32> {lamina.name = "q"}, %r: memref<8x4xf32> {lamina.name = "r"}, %s: memref<i64> {lamina.name = "s"}, %x: memref<8xf32> {lamina.kind = "output"}, %y: memref<8xf32> {lamina.kind = "output"}, %z: memref<8x3xf32> {lamina.kind = "output"}, %w: memref<8x4xf32> {lamina.kind = "output"}, %nn: memref<8x4xf32> {lamina.kind = "mutation", lamina.target = "n"}, %np: memref<8x4xf32> {lamina.kind = "mutation", lamina.target = "p", lamina.counts = ["s", ""], lamina.sizes = [0, -1]}, %nq: memref<8x4xf32> {lamina.kind = "mutation", lamina.target = "q"}, %nr: memref<8x4xf32> {lamina.kind = "mutation", lamina.target = "r"}, %size: memref<i64> {lamina.kind = "size"}) attributes {lamina.entry} {
  func.call @sum(%n, %nn, %x) : (memref<8x4xf32>, memref<8x4xf32>, memref<8xf32>) -> ()
  func.call @sum(%p, %np, %y) : (memref<8x4xf32>, memref<8x4xf32>, memref<8xf32>) -> ()
  func.call @windows(%q, %nq, %z) : (memref<8x4xf32>, memref<8x4xf32>, memref<8x3xf32>) -> ()
  func.call @twice(%r, %nr, %w) : (memref<8x4xf32>, memref<8x4xf32>, memref<8x4xf32>) -> ()
  func.return
}
func.func private @sum(%a: memref<8x4xf32>, %o: memref<8x4xf32>, %s: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 4] reads(%a[i, j] : memref<8x4xf32>) writes([i, j] store into %o : memref<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    %t = arith.addf %p, %p : f32
    loop.yield %t : f32
  }
  loop.generic (i, j) in [8, 4] reads(%o[i, j] : memref<8x4xf32>) writes([i] add into %s : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
func.func private @windows(%a: memref<8x4xf32>, %o: memref<8x4xf32>, %s: memref<8x3xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 4] reads(%a[i, j] : memref<8x4xf32>) writes([i, j] store into %o : memref<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    %t = arith.addf %p, %p : f32
    loop.yield %t : f32
  }
  loop.generic (i, j, k) in [8, 3, 2] reads(%o[i, j + k] : memref<8x4xf32>) writes([i, j] add into %s : memref<8x3xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
func.func private @twice(%a: memref<8x4xf32>, %o: memref<8x4xf32>, %s: memref<8x4xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 4] reads(%a[i, j] : memref<8x4xf32>) writes([i, j] store into %o : memref<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    %t = arith.addf %p, %p : f32
    loop.yield %t : f32
  }
  loop.generic (i, j) in [8, 4] reads(%o[i, j] : memref<8x4xf32>, %a[i, j] : memref<8x4xf32>) writes([i, j] store into %s : memref<8x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32, %q: f32):
    %t = arith.addf %p, %q : f32
    loop.yield %t : f32
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
