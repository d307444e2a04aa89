// RUN: lamina-opt %s -p 'fuse-kernels{target="x86-64-v3"},merge-siblings{target="x86-64-v3"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'fuse-kernels{target="x86-64-v3"},merge-siblings{target="x86-64-v3" print-decisions=true}' --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=SAID

// Two reductions of one tensor are one nest with two results, and read it once.
func.func @sum_and_max(%x: tensor<16x40xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %s = loop.generic (i, j) in [16, 40] reads(%x[i, j] : tensor<16x40xf32>) writes([i] add : tensor<16xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%p: f32):
    %v = arith.mulf %p, %p : f32
    loop.yield %v : f32
  }
  %m = loop.generic (i, j) in [16, 40] reads(%x[i, j] : tensor<16x40xf32>) writes([i] max : tensor<16xf32>) attributes {lamina.op = "amax"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %m : tensor<16xf32>, tensor<16xf32>
}
// CHECK-LABEL: @sum_and_max
// CHECK-NEXT:    [[K:%\S+]], [[L:%\S+]] = loop.kernel([[X:%\S+]] = %x : tensor<16x40xf32>)
// CHECK-NEXT:    [[S:%\S+]], [[M:%\S+]] = loop.generic (d0, d1) in [16, 40] reads([[X]][d0, d1] : tensor<16x40xf32>)
// CHECK-SAME:      writes([d0] add : tensor<16xf32>, [d0] max : tensor<16xf32>)
// CHECK-SAME:      lamina.op = ["sum", "amax"]
// CHECK-NEXT:    ^bb0([[P:%\S+]]: f32):
// CHECK-NEXT:    [[Q:%\S+]] = arith.mulf [[P]], [[P]]
// CHECK-NEXT:    loop.yield [[Q]], [[P]]
// CHECK:         loop.return [[S]], [[M]]
// CHECK-NOT:     loop.kernel
// CHECK:         func.return [[K]], [[L]]
// SAID: merge-siblings: sum | amax: saves 2560 bytes: fused: it is read once

// -----

// A pointwise kernel gives up its inner rows to share those of a reduction.
func.func @fewer_rows(%x: tensor<16x40xf32>) -> (tensor<16xf32>, tensor<16x40xf32>) {
  %s = loop.generic (i, j) in [16, 40] reads(%x[i, j] : tensor<16x40xf32>) writes([i] add : tensor<16xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %e = loop.generic (i, j) in [16, 40] reads(%x[i, j] : tensor<16x40xf32>) writes([i, j] store : tensor<16x40xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %s, %e : tensor<16xf32>, tensor<16x40xf32>
}
// CHECK-LABEL: @fewer_rows
// CHECK:         loop.kernel
// CHECK:         writes([d0] add : tensor<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>}
// CHECK:         writes([d0, d1] store : tensor<16x40xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>}
// CHECK-NOT:     loop.kernel
// CHECK:         func.return

// -----

// Sums of rows and of columns have no rows in common; the reason is kept.
func.func @across(%x: tensor<160x40xf32>) -> (tensor<160xf32>, tensor<40xf32>) {
  %s = loop.generic (i, j) in [160, 40] reads(%x[i, j] : tensor<160x40xf32>) writes([i] add : tensor<160xf32>) attributes {lamina.op = "rows"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i, j) in [160, 40] reads(%x[i, j] : tensor<160x40xf32>) writes([j] add : tensor<40xf32>) attributes {lamina.op = "columns"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t : tensor<160xf32>, tensor<40xf32>
}
// CHECK-LABEL: @across
// CHECK:         loop.kernel
// CHECK:         loop.kernel
// CHECK-SAME:      lamina.not_fused = ["rows | columns: they walk it along different rows"
// SAID: merge-siblings: rows | columns: saves 25600 bytes: not fused: they walk it along different rows

// -----

// One needs the other, through a third: no order could run both at once.
func.func @dependent(%x: tensor<4096x40xf32>) -> (tensor<f32>, tensor<4096xf32>) {
  %s = loop.generic (i, j) in [4096, 40] reads(%x[i, j] : tensor<4096x40xf32>) writes([i] add : tensor<4096xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i) in [4096] reads(%s[i] : tensor<4096xf32>) writes([] add : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %u = loop.generic (i, j) in [4096, 40] reads(%x[i, j] : tensor<4096x40xf32>, %t[] : tensor<f32>) writes([i] max : tensor<4096xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.subf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %t, %u : tensor<f32>, tensor<4096xf32>
}
// CHECK-LABEL: @dependent
// CHECK-COUNT-3: loop.kernel

// -----

// What a program marks is stored by a kernel of its own.
func.func @kept_apart(%x: tensor<16x40xf32>) -> (tensor<16x40xf32>, tensor<16x40xf32>) {
  %s = loop.generic (i, j) in [16, 40] reads(%x[i, j] : tensor<16x40xf32>) writes([i, j] store : tensor<16x40xf32>) attributes {lamina.fuse = "never"} {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  %e = loop.generic (i, j) in [16, 40] reads(%x[i, j] : tensor<16x40xf32>) writes([i, j] store : tensor<16x40xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %s, %e : tensor<16x40xf32>, tensor<16x40xf32>
}
// CHECK-LABEL: @kept_apart
// CHECK:         loop.kernel
// CHECK:         loop.kernel
// CHECK-SAME:      lamina.not_fused = ["loop.generic | loop.generic: lamina.fuse = \22never\22"

// -----

// A bias that both read again and again is no reason to walk two tensors at a time.
func.func @same_bias(%x: tensor<16x40xf32>, %y: tensor<16x40xf32>, %b: tensor<40xf32>) -> (tensor<16x40xf32>, tensor<16x40xf32>) {
  %s = loop.generic (i, j) in [16, 40] reads(%x[i, j] : tensor<16x40xf32>, %b[j] : tensor<40xf32>) writes([i, j] store : tensor<16x40xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i, j) in [16, 40] reads(%y[i, j] : tensor<16x40xf32>, %b[j] : tensor<40xf32>) writes([i, j] store : tensor<16x40xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %s, %t : tensor<16x40xf32>, tensor<16x40xf32>
}
// CHECK-LABEL: @same_bias
// CHECK-COUNT-2: loop.kernel

// -----

// A kernel and one that reads its result: what they hand on stays in the row that both walk.
func.func @handed_on(%x: tensor<16x40xf32>) -> (tensor<16xf32>, tensor<16x40xf32>) {
  %s, %u = loop.kernel(%a = %x : tensor<16x40xf32>) -> (tensor<16xf32>, tensor<16x40xf32>) {
    %t = loop.generic (i, j) in [16, 40] reads(%a[i, j] : tensor<16x40xf32>) writes([i] add : tensor<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%p: f32):
      loop.yield %p : f32
    }
    %e = loop.generic (i, j) in [16, 40] reads(%a[i, j] : tensor<16x40xf32>) writes([i, j] store : tensor<16x40xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%p: f32):
      %v = math.exp %p : f32
      loop.yield %v : f32
    }
    loop.return %t, %e : tensor<16xf32>, tensor<16x40xf32>
  }
  %r = loop.kernel(%b = %s : tensor<16xf32>, %c = %u : tensor<16x40xf32>) -> (tensor<16x40xf32>) {
    %d = loop.generic (i, j) in [16, 40] reads(%c[i, j] : tensor<16x40xf32>, %b[i] : tensor<16xf32>) writes([i, j] store : tensor<16x40xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
    ^bb0(%p: f32, %q: f32):
      %v = arith.divf %p, %q : f32
      loop.yield %v : f32
    }
    loop.return %d : tensor<16x40xf32>
  }
  func.return %s, %r : tensor<16xf32>, tensor<16x40xf32>
}
// CHECK-LABEL: @handed_on
// CHECK:         loop.kernel({{.*}} = %x : tensor<16x40xf32>) -> (tensor<16xf32>, tensor<16x40xf32>)
// CHECK:         [[T:%\S+]] = loop.generic
// CHECK:         [[E:%\S+]] = loop.generic
// CHECK:         reads([[E]][d0, d1] : tensor<16x40xf32>, [[T]][d0] : tensor<16xf32>)
// CHECK-SAME:      lamina.nest = #loop.nest<rows = [d0]>
// CHECK-NOT:     loop.kernel
// CHECK:         func.return

// -----

// Read at other rows than it was made: two kernels, with a store between them.
func.func @turned(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %u = loop.kernel(%a = %x : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
    %e = loop.generic (i, j) in [64, 64] reads(%a[i, j] : tensor<64x64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%p: f32):
      %v = math.exp %p : f32
      loop.yield %v : f32
    }
    loop.return %e : tensor<64x64xf32>
  }
  %r = loop.kernel(%b = %x : tensor<64x64xf32>, %c = %u : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
    %d = loop.generic (i, j) in [64, 64] reads(%b[i, j] : tensor<64x64xf32>, %c[j, i] : tensor<64x64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%p: f32, %q: f32):
      %v = arith.divf %p, %q : f32
      loop.yield %v : f32
    }
    loop.return %d : tensor<64x64xf32>
  }
  func.return %r : tensor<64x64xf32>
}
// CHECK-LABEL: @turned
// CHECK-COUNT-2: loop.kernel

// -----

// One kernel would have four rows only: reading the tensor twice takes less than idle threads.
func.func @few_rows(%x: tensor<4x30000xf32>) -> (tensor<4x30000xf32>, tensor<4xf32>) {
  %s = loop.generic (i, j) in [4, 30000] reads(%x[i, 29999 - j] : tensor<4x30000xf32>) writes([i, j] store : tensor<4x30000xf32>) attributes {lamina.op = "flip"} {
  ^bb0(%p: f32):
    %e0 = math.exp %p : f32
    %e1 = math.exp %e0 : f32
    %e2 = math.exp %e1 : f32
    %e3 = math.exp %e2 : f32
    %e4 = math.exp %e3 : f32
    %e5 = math.exp %e4 : f32
    %e6 = math.exp %e5 : f32
    %e7 = math.exp %e6 : f32
    loop.yield %e7 : f32
  }
  %t = loop.generic (i, j) in [4, 30000] reads(%x[i, j] : tensor<4x30000xf32>) writes([i] add : tensor<4xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t : tensor<4x30000xf32>, tensor<4xf32>
}
// CHECK-LABEL: @few_rows
// CHECK:         loop.kernel
// CHECK:         loop.kernel
// CHECK-SAME:      lamina.not_fused = ["flip | sum: together they have only 4 rows to run in parallel: work of idle threads takes
// SAID: merge-siblings: flip | sum: saves 480000 bytes: not fused: together they have only 4 rows

// -----

// Unless the program says that both belong together.
func.func @few_rows_forced(%x: tensor<4x30000xf32>) -> (tensor<4x30000xf32>, tensor<4xf32>) {
  %s = loop.generic (i, j) in [4, 30000] reads(%x[i, 29999 - j] : tensor<4x30000xf32>) writes([i, j] store : tensor<4x30000xf32>) attributes {lamina.op = "flip", lamina.fuse = "always"} {
  ^bb0(%p: f32):
    %e0 = math.exp %p : f32
    %e1 = math.exp %e0 : f32
    %e2 = math.exp %e1 : f32
    %e3 = math.exp %e2 : f32
    %e4 = math.exp %e3 : f32
    %e5 = math.exp %e4 : f32
    %e6 = math.exp %e5 : f32
    %e7 = math.exp %e6 : f32
    loop.yield %e7 : f32
  }
  %t = loop.generic (i, j) in [4, 30000] reads(%x[i, j] : tensor<4x30000xf32>) writes([i] add : tensor<4xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t : tensor<4x30000xf32>, tensor<4xf32>
}
// CHECK-LABEL: @few_rows_forced
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
// SAID: merge-siblings: flip | sum: saves 480000 bytes: fused: it is read once

// -----

// A mask of the positions below a number costs nothing, and would leave its reader fewer rows.
func.func @mask(%n: tensor<i64>, %x: tensor<8x256xi64>, %m: tensor<256xi1>) -> (tensor<8xi1>, tensor<8x256xi64>) {
  %b = loop.generic (i) in [8] reads(%n[] : tensor<i64>) writes([i] store : tensor<8xi1>) attributes {lamina.op = "lt"} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %i = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %i, %a : i64
    loop.yield %c : i1
  }
  %t = loop.generic (i, j) in [8, 256] reads(%x[i, j] : tensor<8x256xi64>, %b[i] : tensor<8xi1>, %m[j] : tensor<256xi1>) writes([i, j] store : tensor<8x256xi64>) attributes {lamina.op = "where"} {
  ^bb0(%a: i64, %p: i1, %q: i1):
    %both = arith.andi %p, %q : i1
    %zero = arith.constant 0 : i64
    %r = arith.select %both, %a, %zero : i64
    loop.yield %r : i64
  }
  func.return %b, %t : tensor<8xi1>, tensor<8x256xi64>
}
// CHECK-LABEL: @mask
// CHECK:         loop.kernel
// CHECK:         rows = [d0]>
// CHECK:         loop.kernel
// CHECK:         rows = [d0, d1]>
// SAID: merge-siblings: lt | where: saves 8 bytes: not fused: a mask of positions has fewer rows than its reader

// -----

// Unless the program says that both belong together.
func.func @mask_forced(%n: tensor<i64>, %x: tensor<8x256xi64>) -> (tensor<8xi1>, tensor<8x256xi64>) {
  %b = loop.generic (i) in [8] reads(%n[] : tensor<i64>) writes([i] store : tensor<8xi1>) attributes {lamina.op = "lt", lamina.fuse = "always"} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %i = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %i, %a : i64
    loop.yield %c : i1
  }
  %t = loop.generic (i, j) in [8, 256] reads(%x[i, j] : tensor<8x256xi64>, %b[i] : tensor<8xi1>) writes([i, j] store : tensor<8x256xi64>) attributes {lamina.op = "where"} {
  ^bb0(%a: i64, %p: i1):
    %zero = arith.constant 0 : i64
    %r = arith.select %p, %a, %zero : i64
    loop.yield %r : i64
  }
  func.return %b, %t : tensor<8xi1>, tensor<8x256xi64>
}
// CHECK-LABEL: @mask_forced
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
