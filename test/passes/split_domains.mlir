// RUN: lamina-opt %s -p split-domains --split-input-file | filecheck %s

// Each piece is computed where it is wanted, straight into its slice, and needs no pad.
func.func private @cat(%x: memref<16x32xf32>, %y: memref<16x64xf32>, %out: memref<16x96xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [16, 96] reads(%x[i, j] pad 0.0 : f32 : memref<16x32xf32>, %y[i, j - 32] pad 0.0 : f32 : memref<16x64xf32>) writes([i, j] store into %out : memref<16x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %s = math.sin %p : f32
    %c = math.cos %q : f32
    %at = loop.index 1 : index
    %limit = arith.constant 32 : index
    %first = arith.cmpi slt, %at, %limit : index
    %v = arith.select %first, %s, %c : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @cat
// CHECK-NEXT:    loop.generic (d0, d1) in [16, 32] reads(%x[d0, d1] : memref<16x32xf32>) writes([d0, d1] store into %out : memref<16x96xf32>)
// CHECK-NEXT:    ^bb0([[P:%\S+]]: f32):
// CHECK-NEXT:    [[S:%\S+]] = math.sin [[P]]
// CHECK-NEXT:    loop.yield [[S]]
// CHECK:         loop.generic (d0, d1) in [16, 64] reads(%y[d0, d1] : memref<16x64xf32>) writes([d0, d1 + 32] store into %out : memref<16x96xf32>)
// CHECK-SAME:      part = 1
// CHECK:         math.cos
// CHECK-NOT:     loop.generic

// -----

// A position that is computed with goes on from where the part begins.
func.func private @positions(%x: memref<8xf32>, %out: memref<12xi64>) attributes {lamina.kernel} {
  loop.generic (i) in [12] reads(%x[i] pad 0.0 : f32 : memref<8xf32>) writes([i] store into %out : memref<12xi64>) {
  ^bb0(%p: f32):
    %at = loop.index 0 : index
    %limit = arith.constant 8 : index
    %first = arith.cmpi slt, %at, %limit : index
    %e = math.exp %p : f32
    %n = arith.fptosi %e : f32 to i64
    %k = arith.index_cast %at : index to i64
    %v = arith.select %first, %n, %k : i64
    loop.yield %v : i64
  }
  func.return
}
// CHECK-LABEL: @positions
// CHECK:         loop.generic (d0) in [8] reads(%x[d0] : memref<8xf32>)
// CHECK:         loop.generic (d0) in [4] writes([d0 + 8] store into %out
// CHECK-NEXT:    [[I:%\S+]] = loop.index 0
// CHECK-NEXT:    [[C:%\S+]] = arith.constant 8
// CHECK-NEXT:    [[A:%\S+]] = arith.addi [[I]], [[C]]
// CHECK-NEXT:    [[K:%\S+]] = arith.index_cast [[A]]
// CHECK-NEXT:    loop.yield [[K]]

// -----

// The edges of a padding are too small to be worth loops of their own.
func.func private @pad(%x: memref<16x62xf32>, %out: memref<16x64xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [16, 64] reads(%x[i, j - 1] pad 0.0 : f32 : memref<16x62xf32>) writes([i, j] store into %out : memref<16x64xf32>) {
  ^bb0(%p: f32):
    %s = math.cos %p : f32
    %at = loop.index 1 : index
    %pad = arith.constant 0.0 : f32
    %low = arith.constant 1 : index
    %high = arith.constant 63 : index
    %before = arith.cmpi slt, %at, %low : index
    %inside = arith.select %before, %pad, %s : f32
    %not_after = arith.cmpi slt, %at, %high : index
    %v = arith.select %not_after, %inside, %pad : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @pad
// CHECK:         loop.generic (d0, d1) in [16, 64]
// CHECK-NOT:     loop.generic

// -----

// Nests of one kernel share its rows: a choice along these stays, one inside the rows does not.
func.func private @rows(%x: memref<16x8xf32>, %s: memref<16xf32>, %out: memref<16x8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [16, 8] reads(%x[i, j] : memref<16x8xf32>) writes([i] add into %s : memref<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  loop.generic (i, j) in [16, 8] reads(%x[i, j] : memref<16x8xf32>) writes([i, j] store into %out : memref<16x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    %e = math.exp %p : f32
    %t = math.sin %p : f32
    %row = loop.index 0 : index
    %place = loop.index 1 : index
    %limit = arith.constant 4 : index
    %upper = arith.cmpi slt, %row, %limit : index
    %left = arith.cmpi slt, %place, %limit : index
    %u = arith.select %upper, %e, %p : f32
    %v = arith.select %left, %u, %t : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @rows
// CHECK:         loop.generic (d0, d1) in [16, 8] {{.*}} add into %s
// CHECK:         loop.generic (d0, d1) in [16, 4] {{.*}} writes([d0, d1] store into %out
// CHECK-NOT:     part = 
// CHECK:         arith.cmpi
// CHECK:         loop.generic (d0, d1) in [16, 4] {{.*}} writes([d0, d1 + 4] store into %out
// CHECK-NOT:     arith.cmpi
// CHECK-NOT:     loop.generic

// -----

// Halves that lie side by side are left to pair-results, which gives both at once.
func.func private @pairs(%x: memref<32xf32>, %y: memref<32xf32>, %out: memref<32x2xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [32, 2] reads(%x[i] : memref<32xf32>, %y[i] : memref<32xf32>) writes([i, j] store into %out : memref<32x2xf32>) {
  ^bb0(%p: f32, %q: f32):
    %s = math.sin %p : f32
    %c = math.cos %q : f32
    %at = loop.index 1 : index
    %limit = arith.constant 1 : index
    %first = arith.cmpi slt, %at, %limit : index
    %v = arith.select %first, %s, %c : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @pairs
// CHECK-NEXT:    loop.generic (d0, d1) in [32, 2]
// CHECK-NOT:     loop.generic

// -----

// Pairs that are cut elsewhere are divided all the same: several nests write to their memory then.
func.func private @pieces(%x: memref<32xf32>, %y: memref<32xf32>, %out: memref<64x2xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [64, 2] reads(%x[i] pad 0.0 : f32 : memref<32xf32>, %y[i - 32] pad 0.0 : f32 : memref<32xf32>) writes([i, j] store into %out : memref<64x2xf32>) {
  ^bb0(%p: f32, %q: f32):
    %s = math.sin %p : f32
    %c = math.cos %q : f32
    %at = loop.index 0 : index
    %limit = arith.constant 32 : index
    %first = arith.cmpi slt, %at, %limit : index
    %half = loop.index 1 : index
    %one = arith.constant 1 : index
    %left = arith.cmpi slt, %half, %one : index
    %z = arith.constant 0.0 : f32
    %w = arith.select %first, %s, %c : f32
    %v = arith.select %left, %w, %z : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @pieces
// CHECK-COUNT-3: loop.generic

// -----

// Of live rows a part has those in it: what begins behind the first row ends at the same count, or before.
func.func private @live(%x: memref<16x4xf32>, %n: memref<i64>, %out: memref<17x4xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [17, 4] reads(%x[i - 1, j] pad 0.0 : f32 : memref<16x4xf32>) writes([i, j] store into %out : memref<17x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 17, 4]>} {
  ^bb0(%p: f32):
    %s = math.sin %p : f32
    %z = arith.constant 0.0 : f32
    %at = loop.index 0 : index
    %limit = arith.constant 1 : index
    %first = arith.cmpi slt, %at, %limit : index
    %v = arith.select %first, %z, %s : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @live
// CHECK-NEXT:    loop.generic (d0, d1) in [1, 4]
// CHECK-NOT:       live
// CHECK:         loop.generic (d0, d1) in [16, 4]
// CHECK-SAME:      live = [arg1 of 16, 4]

// -----

// A position with a constant added, and compared as an unsigned number, which it is.
func.func private @unsigned(%x: memref<16x32xf32>, %y: memref<16x64xf32>, %out: memref<16x96xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [16, 96] reads(%x[i, j] pad 0.0 : f32 : memref<16x32xf32>, %y[i, j - 32] pad 0.0 : f32 : memref<16x64xf32>) writes([i, j] store into %out : memref<16x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %s = math.sin %p : f32
    %c = math.cos %q : f32
    %at = loop.index 1 : index
    %two = arith.constant 2 : index
    %place = arith.addi %at, %two : index
    %limit = arith.constant 34 : index
    %first = arith.cmpi ult, %place, %limit : index
    %v = arith.select %first, %s, %c : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @unsigned
// CHECK-NEXT:    loop.generic (d0, d1) in [16, 32]
// CHECK-NOT:     math.cos
// CHECK:         loop.generic (d0, d1) in [16, 64]
// CHECK-NOT:     math.sin

// -----

// What may be below 0 is another number without a sign.
func.func private @wraps(%x: memref<16x32xf32>, %y: memref<16x64xf32>, %out: memref<16x96xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [16, 96] reads(%x[i, j] pad 0.0 : f32 : memref<16x32xf32>, %y[i, j - 32] pad 0.0 : f32 : memref<16x64xf32>) writes([i, j] store into %out : memref<16x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %s = math.sin %p : f32
    %c = math.cos %q : f32
    %at = loop.index 1 : index
    %less = arith.constant -2 : index
    %place = arith.addi %at, %less : index
    %limit = arith.constant 30 : index
    %first = arith.cmpi ult, %place, %limit : index
    %v = arith.select %first, %s, %c : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @wraps
// CHECK-NEXT:    loop.generic (d0, d1) in [16, 96]
// CHECK-NOT:     loop.generic

// -----

// Loops of parts end where those of the whole do, which is nearer from where they begin.
func.func private @ends(%x: memref<16x64xf32>, %y: memref<16x64xf32>, %n: memref<i64>, %out: memref<16x128xf32>) attributes {lamina.kernel} {
  %t = memref.alloc() : memref<16x64xf32>
  loop.generic (i, j) in [16, 64] reads(%y[i, j] : memref<16x64xf32>) writes([i, j] store into %t : memref<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(i, j)[s0] -> ()>, upper affine_map<(i, j)[s0] -> (s0 - 64)>, counts [2]>]} {
  ^bb0(%q: f32):
    %c = math.cos %q : f32
    loop.yield %c : f32
  }
  loop.generic (i, j) in [16, 128] reads(%x[i, j] pad 0.0 : f32 : memref<16x64xf32>, %t[i, j - 64] pad 0.0 : f32 : memref<16x64xf32>) writes([i, j] store into %out : memref<16x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(i, j)[s0] -> ()>, upper affine_map<(i, j)[s0] -> (s0)>, counts [2]>]} {
  ^bb0(%p: f32, %q: f32):
    %s = math.sin %p : f32
    %at = loop.index 1 : index
    %limit = arith.constant 64 : index
    %first = arith.cmpi slt, %at, %limit : index
    %v = arith.select %first, %s, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @ends
// CHECK:         loop.generic (d0, d1) in [16, 64] reads(%y[d0, d1]
// CHECK-SAME:    upper affine_map<(d0, d1)[s0] -> ((s0 + -64))>
// CHECK:         loop.generic (d0, d1) in [16, 64] reads(%x[d0, d1]
// CHECK-SAME:    upper affine_map<(d0, d1)[s0] -> (s0)>
// CHECK:         loop.generic (d0, d1) in [16, 64] reads(%t[d0, d1]
// CHECK-SAME:    upper affine_map<(d0, d1)[s0] -> ((s0 + -64))>

// -----

// What the kernel reads itself, row by row, as a norm of joined pieces does: the pieces are in front of it.
func.func private @joined_and_summed(%x: memref<16x32xf32>, %y: memref<16x32xf32>, %out: memref<16xf32>) attributes {lamina.kernel} {
  %t = memref.alloc() : memref<16x64xf32>
  loop.generic (i, j) in [16, 64] reads(%x[i, j] pad 0.0 : f32 : memref<16x32xf32>, %y[i, j - 32] pad 0.0 : f32 : memref<16x32xf32>) writes([i, j] store into %t : memref<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32, %q: f32):
    %at = loop.index 1 : index
    %limit = arith.constant 32 : index
    %first = arith.cmpi slt, %at, %limit : index
    %v = arith.select %first, %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (i, j) in [16, 64] reads(%t[i, j] : memref<16x64xf32>) writes([i] add into %out : memref<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK-LABEL: @joined_and_summed
// CHECK:         %t = memref.alloc
// CHECK-NEXT:    loop.generic (d0, d1) in [16, 32] reads(%x[d0, d1] : memref<16x32xf32>) writes([d0, d1] store into %t : memref<16x64xf32>)
// CHECK:         loop.generic (d0, d1) in [16, 32] reads(%y[d0, d1] : memref<16x32xf32>) writes([d0, d1 + 32] store into %t : memref<16x64xf32>)
// CHECK:         loop.generic (d0, d1) in [16, 64] reads(%t[d0, d1] : memref<16x64xf32>) writes([d0] add into %out : memref<16xf32>)

// -----

// Not what another nest writes as well: which of both comes last is not theirs to say.
func.func private @written_twice(%x: memref<16x32xf32>, %y: memref<16x32xf32>, %out: memref<16x64xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [16, 64] reads(%x[i, j] pad 0.0 : f32 : memref<16x32xf32>, %y[i, j - 32] pad 0.0 : f32 : memref<16x32xf32>) writes([i, j] store into %out : memref<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32, %q: f32):
    %at = loop.index 1 : index
    %limit = arith.constant 32 : index
    %first = arith.cmpi slt, %at, %limit : index
    %v = arith.select %first, %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (i) in [16] reads(%x[i, 0] : memref<16x32xf32>) writes([i, 0] store into %out : memref<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK-LABEL: @written_twice
// CHECK:         loop.generic (d0, d1) in [16, 64]
// CHECK:         loop.generic (d0) in [16]

// -----

// Bounds of a sum follow from what a mask makes 0. Nothing is known of what parts write, so that the sum has none then.
func.func private @summed_behind_zeros(%x: memref<16x32xf32>, %w: memref<64x8xf32>, %out: memref<16x8xf32>) attributes {lamina.kernel} {
  %t = memref.alloc() : memref<16x64xf32>
  loop.generic (i, j) in [16, 64] reads(%x[i, j - 32] pad 0.0 : f32 : memref<16x32xf32>) writes([i, j] store into %t : memref<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1) -> (32)>, upper affine_map<(d0, d1) -> ()>>} {
  ^bb0(%p: f32):
    %at = loop.index 1 : index
    %limit = arith.constant 32 : index
    %first = arith.cmpi slt, %at, %limit : index
    %z = arith.constant 0.0 : f32
    %e = math.exp %p : f32
    %v = arith.select %first, %z, %e : f32
    loop.yield %v : f32
  }
  loop.generic (i, j, k) in [16, 8, 64] reads(%t[i, k] : memref<16x64xf32>, %w[k, j] : memref<64x8xf32>) writes([i, j] add into %out : memref<16x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2) -> (32)>, upper affine_map<(d0, d1, d2) -> ()>>} {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    loop.yield %m : f32
  }
  func.return
}
// CHECK-LABEL: @summed_behind_zeros
// CHECK-NOT:     lamina.bounds
// CHECK:         loop.generic (d0, d1) in [16, 32]
// CHECK:         loop.generic (d0, d1) in [16, 32]
// CHECK:         loop.generic (d0, d1, d2) in [16, 8, 64]
// CHECK-NOT:     lamina.bounds
