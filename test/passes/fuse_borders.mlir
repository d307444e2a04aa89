// RUN: lamina-opt %s -p fuse-borders --split-input-file | filecheck %s
// RUN: lamina-opt %s -p fuse-borders,plan-memory,choose-schedule,verify-bufferized,apply-schedule --split-input-file > /dev/null

// The image of a product is copied between a border of one line above, two below, one place before
// and none behind. The same two kernels are called twice: they become one.
func.func @main(%x: memref<2x6x5x8xf32>, %w: memref<1x8x32xf32>, %b: memref<32xf32>, %y: memref<2x9x6x32xf32>, %z: memref<2x9x6x32xf32>) attributes {lamina.entry} {
  %e = memref.alloc() {alignment = 64 : i64} : memref<2x6x5x32xf32>
  func.call @product(%x, %w, %e) : (memref<2x6x5x8xf32>, memref<1x8x32xf32>, memref<2x6x5x32xf32>) -> ()
  func.call @pad(%e, %b, %y) : (memref<2x6x5x32xf32>, memref<32xf32>, memref<2x9x6x32xf32>) -> ()
  %f = memref.alloc() {alignment = 64 : i64} : memref<2x6x5x32xf32>
  func.call @product(%x, %w, %f) : (memref<2x6x5x8xf32>, memref<1x8x32xf32>, memref<2x6x5x32xf32>) -> ()
  func.call @pad(%f, %b, %z) : (memref<2x6x5x32xf32>, memref<32xf32>, memref<2x9x6x32xf32>) -> ()
  func.return
}
func.func private @product(%x: memref<2x6x5x8xf32>, %w: memref<1x8x32xf32>, %out: memref<2x6x5x32xf32>) attributes {lamina.kernel, lamina.ops = ["conv"]} {
  loop.generic (n, y, x, c, k) in [2, 6, 5, 32, 8] reads(%x[n, y, x, k] : memref<2x6x5x8xf32>, %w[c floordiv 32, k, c mod 32] : memref<1x8x32xf32>) writes([n, y, x, c] add into %out : memref<2x6x5x32xf32>) attributes {lamina.op = "conv", lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1, d2, d3]>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @pad(%e: memref<2x6x5x32xf32>, %b: memref<32xf32>, %out: memref<2x9x6x32xf32>) attributes {lamina.kernel, lamina.ops = ["add", "pad"], lamina.not_fused = ["conv -> add+pad: the result is read beyond its edge", "conv | other: they share no data"]} {
  loop.generic (n, y, x, c) in [2, 9, 6, 32] reads(%e[n, y + -1, x + -1, c] pad 0.0 : f32 : memref<2x6x5x32xf32>, %b[c] : memref<32xf32>) writes([n, y, x, c] store into %out : memref<2x9x6x32xf32>) attributes {lamina.op = ["add", "pad"], lamina.materialized, lamina.nest = #loop.nest<rows = [d0, d1, d2, d3]>} {
  ^bb0(%a: f32, %d: f32):
    %s = arith.addf %a, %d : f32
    %zero = arith.constant 0.0 : f32
    %y = loop.index 1 : index
    %one = arith.constant 1 : index
    %above = arith.cmpi slt, %y, %one : index
    %t = arith.select %above, %zero, %s : f32
    %seven = arith.constant 7 : index
    %low = arith.cmpi slt, %y, %seven : index
    %u = arith.select %low, %t, %zero : f32
    %x = loop.index 2 : index
    %left = arith.cmpi slt, %x, %one : index
    %v = arith.select %left, %zero, %u : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK:         func.func @main
// CHECK-NEXT:      func.call @[[K:\S+]](%x, %w, %b, %y)
// CHECK-NEXT:      func.call @[[K]](%x, %w, %b, %z)
// CHECK-NEXT:      func.return
// CHECK-NOT:     @product
// CHECK-NOT:     @pad
// CHECK:         func.func private @[[K]](%x: memref<2x6x5x8xf32>, %w: memref<1x8x32xf32>, %b: memref<32xf32>, %out: memref<2x9x6x32xf32>)
// CHECK-SAME:    lamina.ops = ["conv", "add", "pad"], lamina.not_fused = ["conv | other: they share no data"]}
// CHECK-NEXT:      [[E:%\S+]] = memref.alloc() {alignment = 64 : i64} : memref<2x6x5x32xf32>
// CHECK-NEXT:      loop.generic (d0, d1, d2, d3, d4) in [2, 6, 5, 32, 8]
// CHECK-SAME:      writes([d0, d1, d2, d3] add into [[E]]
// CHECK:           loop.generic (d0, d1, d2, d3) in [2, 6, 5, 32]
// CHECK-SAME:      reads([[E]][d0, d1, d2, d3] : memref<2x6x5x32xf32>, %b[d3] : memref<32xf32>) writes([d0, d1 + 1, d2 + 1, d3] store into %out
// CHECK-SAME:      lamina.nest = #loop.nest<rows = [d0, d1, d2, d3]>}
// CHECK:             arith.addf
// CHECK-NEXT:        loop.yield
// CHECK:           loop.generic (d0, d1, d2, d3) in [2, 1, 6, 32] writes([d0, d1, d2, d3] store into %out
// CHECK-SAME:      part = 1>
// CHECK:           loop.generic (d0, d1, d2, d3) in [2, 2, 6, 32] writes([d0, d1 + 7, d2, d3] store into %out
// CHECK-SAME:      part = 2>
// CHECK:           loop.generic (d0, d1, d2, d3) in [2, 6, 1, 32] writes([d0, d1 + 1, d2, d3] store into %out
// CHECK-SAME:      part = 3>

// -----

// A copy with nothing to compute pads by its read. What it pads with may be computed on, too.
func.func @main(%x: memref<6x5x8xf32>, %w: memref<1x8x32xf32>, %y: memref<7x5x32xf32>) attributes {lamina.entry} {
  %e = memref.alloc() {alignment = 64 : i64} : memref<6x5x32xf32>
  func.call @product(%x, %w, %e) : (memref<6x5x8xf32>, memref<1x8x32xf32>, memref<6x5x32xf32>) -> ()
  func.call @pad(%e, %y) : (memref<6x5x32xf32>, memref<7x5x32xf32>) -> ()
  func.return
}
func.func private @product(%x: memref<6x5x8xf32>, %w: memref<1x8x32xf32>, %out: memref<6x5x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c, k) in [6, 5, 32, 8] reads(%x[y, x, k] : memref<6x5x8xf32>, %w[c floordiv 32, k, c mod 32] : memref<1x8x32xf32>) writes([y, x, c] add into %out : memref<6x5x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @pad(%e: memref<6x5x32xf32>, %out: memref<7x5x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c) in [7, 5, 32] reads(%e[y, x, c] pad 2.0 : f32 : memref<6x5x32xf32>) writes([y, x, c] store into %out : memref<7x5x32xf32>) attributes {lamina.materialized, lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK:         func.call @[[K:\S+]](%x, %w, %y)
// CHECK:         func.func private @[[K]]
// CHECK:           loop.generic (d0, d1, d2) in [6, 5, 32] reads([[E:%\S+]][d0, d1, d2] : memref<6x5x32xf32>) writes([d0, d1, d2] store into %out
// CHECK:           loop.generic (d0, d1, d2) in [1, 5, 32] writes([d0 + 6, d1, d2] store into %out
// CHECK-NEXT:        [[P:%\S+]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:        math.exp [[P]]

// -----

// What stays as it is: an image that is read again, one that is not copied right behind its
// product, one that the program wants stored, and copies that leave a line out, walk it turned into
// one line, or have no border.
func.func @main(%x: memref<6x5x8xf32>, %w: memref<1x8x32xf32>, %y: memref<8x5x32xf32>, %z: memref<5x5x32xf32>, %l: memref<31x32xf32>, %s: memref<6x5x32xf32>) attributes {lamina.entry} {
  %again = memref.alloc() {alignment = 64 : i64} : memref<6x5x32xf32>
  func.call @product(%x, %w, %again) : (memref<6x5x8xf32>, memref<1x8x32xf32>, memref<6x5x32xf32>) -> ()
  func.call @pad(%again, %y) : (memref<6x5x32xf32>, memref<8x5x32xf32>) -> ()
  %later = memref.alloc() {alignment = 64 : i64} : memref<6x5x32xf32>
  func.call @product(%x, %w, %later) : (memref<6x5x8xf32>, memref<1x8x32xf32>, memref<6x5x32xf32>) -> ()
  func.call @crop(%again, %z) : (memref<6x5x32xf32>, memref<5x5x32xf32>) -> ()
  func.call @pad(%later, %y) : (memref<6x5x32xf32>, memref<8x5x32xf32>) -> ()
  %stored = memref.alloc() {alignment = 64 : i64} : memref<6x5x32xf32>
  func.call @stored(%x, %w, %stored) : (memref<6x5x8xf32>, memref<1x8x32xf32>, memref<6x5x32xf32>) -> ()
  func.call @pad(%stored, %y) : (memref<6x5x32xf32>, memref<8x5x32xf32>) -> ()
  %cropped = memref.alloc() {alignment = 64 : i64} : memref<6x5x32xf32>
  func.call @product(%x, %w, %cropped) : (memref<6x5x8xf32>, memref<1x8x32xf32>, memref<6x5x32xf32>) -> ()
  func.call @crop(%cropped, %z) : (memref<6x5x32xf32>, memref<5x5x32xf32>) -> ()
  %plain = memref.alloc() {alignment = 64 : i64} : memref<6x5x32xf32>
  func.call @product(%x, %w, %plain) : (memref<6x5x8xf32>, memref<1x8x32xf32>, memref<6x5x32xf32>) -> ()
  func.call @same(%plain, %s) : (memref<6x5x32xf32>, memref<6x5x32xf32>) -> ()
  %line = memref.alloc() {alignment = 64 : i64} : memref<30x32xf32>
  func.call @in_line(%x, %w, %line) : (memref<6x5x8xf32>, memref<1x8x32xf32>, memref<30x32xf32>) -> ()
  func.call @pad_line(%line, %l) : (memref<30x32xf32>, memref<31x32xf32>) -> ()
  func.return
}
func.func private @product(%x: memref<6x5x8xf32>, %w: memref<1x8x32xf32>, %out: memref<6x5x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c, k) in [6, 5, 32, 8] reads(%x[y, x, k] : memref<6x5x8xf32>, %w[c floordiv 32, k, c mod 32] : memref<1x8x32xf32>) writes([y, x, c] add into %out : memref<6x5x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @stored(%x: memref<6x5x8xf32>, %w: memref<1x8x32xf32>, %out: memref<6x5x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c, k) in [6, 5, 32, 8] reads(%x[y, x, k] : memref<6x5x8xf32>, %w[c floordiv 32, k, c mod 32] : memref<1x8x32xf32>) writes([y, x, c] add into %out : memref<6x5x32xf32>) attributes {lamina.fuse = "never", lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @in_line(%x: memref<6x5x8xf32>, %w: memref<1x8x32xf32>, %out: memref<30x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c, k) in [6, 5, 32, 8] reads(%x[y, x, k] : memref<6x5x8xf32>, %w[c floordiv 32, k, c mod 32] : memref<1x8x32xf32>) writes([y * 5 + x, c] add into %out : memref<30x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @pad(%e: memref<6x5x32xf32>, %out: memref<8x5x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c) in [8, 5, 32] reads(%e[y + -1, x, c] pad 0.0 : f32 : memref<6x5x32xf32>) writes([y, x, c] store into %out : memref<8x5x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
func.func private @crop(%e: memref<6x5x32xf32>, %out: memref<5x5x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c) in [5, 5, 32] reads(%e[y + -1, x, c] pad 0.0 : f32 : memref<6x5x32xf32>) writes([y, x, c] store into %out : memref<5x5x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
func.func private @same(%e: memref<6x5x32xf32>, %out: memref<6x5x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c) in [6, 5, 32] reads(%e[y, x, c] : memref<6x5x32xf32>) writes([y, x, c] store into %out : memref<6x5x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
func.func private @pad_line(%e: memref<30x32xf32>, %out: memref<31x32xf32>) attributes {lamina.kernel} {
  loop.generic (p, c) in [31, 32] reads(%e[p, c] pad 0.0 : f32 : memref<30x32xf32>) writes([p, c] store into %out : memref<31x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK:         func.func @main
// CHECK:           func.call @product(%x, %w, %again)
// CHECK-NEXT:      func.call @pad(%again, %y)
// CHECK:           func.call @product(%x, %w, %later)
// CHECK-NEXT:      func.call @crop(%again, %z)
// CHECK-NEXT:      func.call @pad(%later, %y)
// CHECK:           func.call @stored(%x, %w, %stored)
// CHECK-NEXT:      func.call @pad(%stored, %y)
// CHECK:           func.call @product(%x, %w, %cropped)
// CHECK-NEXT:      func.call @crop(%cropped, %z)
// CHECK:           func.call @product(%x, %w, %plain)
// CHECK-NEXT:      func.call @same(%plain, %s)
// CHECK:           func.call @in_line(%x, %w, %line)
// CHECK-NEXT:      func.call @pad_line(%line, %l)

// -----

// A maker without a product, and a schedule that the text gives: both stay.
func.func @main(%x: memref<6x32xf32>, %w: memref<1x32x32xf32>, %y: memref<8x32xf32>) attributes {lamina.entry} {
  %e = memref.alloc() {alignment = 64 : i64} : memref<6x32xf32>
  func.call @sine(%x, %e) : (memref<6x32xf32>, memref<6x32xf32>) -> ()
  func.call @pad(%e, %y) : (memref<6x32xf32>, memref<8x32xf32>) -> ()
  %f = memref.alloc() {alignment = 64 : i64} : memref<6x32xf32>
  func.call @given(%x, %w, %f) : (memref<6x32xf32>, memref<1x32x32xf32>, memref<6x32xf32>) -> ()
  func.call @pad(%f, %y) : (memref<6x32xf32>, memref<8x32xf32>) -> ()
  func.return
}
func.func private @sine(%x: memref<6x32xf32>, %out: memref<6x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, c) in [6, 32] reads(%x[y, c] : memref<6x32xf32>) writes([y, c] store into %out : memref<6x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %v = math.sin %a : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @given(%x: memref<6x32xf32>, %w: memref<1x32x32xf32>, %out: memref<6x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, c, k) in [6, 32, 32] reads(%x[y, k] : memref<6x32xf32>, %w[c floordiv 32, k, c mod 32] : memref<1x32x32xf32>) writes([y, c] add into %out : memref<6x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<jam = d0 x 2>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @pad(%e: memref<6x32xf32>, %out: memref<8x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, c) in [8, 32] reads(%e[y + -1, c] pad 0.0 : f32 : memref<6x32xf32>) writes([y, c] store into %out : memref<8x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK:         func.call @sine(%x, %e)
// CHECK-NEXT:    func.call @pad(%e, %y)
// CHECK:         func.call @given(%x, %w, %f)
// CHECK-NEXT:    func.call @pad(%f, %y)

// -----

// A kernel that gives another result as well stores that one as before.
func.func @main(%x: memref<6x5x8xf32>, %w: memref<1x8x32xf32>, %z: memref<6x5x8xf32>, %y: memref<7x5x32xf32>) attributes {lamina.entry} {
  %e = memref.alloc() {alignment = 64 : i64} : memref<6x5x32xf32>
  func.call @product(%x, %w, %z, %e) : (memref<6x5x8xf32>, memref<1x8x32xf32>, memref<6x5x8xf32>, memref<6x5x32xf32>) -> ()
  func.call @pad(%e, %y) : (memref<6x5x32xf32>, memref<7x5x32xf32>) -> ()
  func.return
}
func.func private @product(%x: memref<6x5x8xf32>, %w: memref<1x8x32xf32>, %z: memref<6x5x8xf32>, %out: memref<6x5x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, k) in [6, 5, 8] reads(%x[y, x, k] : memref<6x5x8xf32>) writes([y, x, k] store into %z : memref<6x5x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  loop.generic (y, x, c, k) in [6, 5, 32, 8] reads(%z[y, x, k] : memref<6x5x8xf32>, %w[c floordiv 32, k, c mod 32] : memref<1x8x32xf32>) writes([y, x, c] add into %out : memref<6x5x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
func.func private @pad(%e: memref<6x5x32xf32>, %out: memref<7x5x32xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c) in [7, 5, 32] reads(%e[y, x, c] pad 0.0 : f32 : memref<6x5x32xf32>) writes([y, x, c] store into %out : memref<7x5x32xf32>) attributes {lamina.materialized, lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK:         func.call @[[K:\S+]](%x, %w, %z, %y)
// CHECK:         func.func private @[[K]]
// CHECK:           math.exp
// CHECK:           loop.generic (d0, d1, d2) in [6, 5, 32] reads([[E:%\S+]][d0, d1, d2] : memref<6x5x32xf32>) writes([d0, d1, d2] store into %out
