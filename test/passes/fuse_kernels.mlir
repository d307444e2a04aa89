// RUN: lamina-opt %s -p 'fuse-kernels{target="x86-64-v3"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'fuse-kernels{target="x86-64-v3" print-decisions=true}' --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=SAID

// All of softmax runs row by row.
func.func @softmax(%x: tensor<16x40xf32>) -> tensor<16x40xf32> {
  %m = loop.generic (i, j) in [16, 40] reads(%x[i, j] : tensor<16x40xf32>) writes([i] max : tensor<16xf32>) attributes {lamina.op = "amax"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %e = loop.generic (i, j) in [16, 40] reads(%x[i, j] : tensor<16x40xf32>, %m[i] : tensor<16xf32>) writes([i, j] store : tensor<16x40xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%p: f32, %q: f32):
    %u = arith.subf %p, %q : f32
    %v = math.exp %u : f32
    loop.yield %v : f32
  }
  %s = loop.generic (i, j) in [16, 40] reads(%e[i, j] : tensor<16x40xf32>) writes([i] add : tensor<16xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [16, 40] reads(%e[i, j] : tensor<16x40xf32>, %s[i] : tensor<16xf32>) writes([i, j] store : tensor<16x40xf32>) attributes {lamina.op = "div"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.divf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<16x40xf32>
}
// CHECK-LABEL: @softmax
// CHECK-NEXT:    [[R:%\S+]] = loop.kernel([[X:%\S+]] = %x : tensor<16x40xf32>) -> (tensor<16x40xf32>)
// CHECK:         lamina.op = "amax", lamina.nest = #loop.nest<rows = [d0]>
// CHECK:         lamina.op = "exp", lamina.nest = #loop.nest<rows = [d0]>
// CHECK:         lamina.op = "sum", lamina.nest = #loop.nest<rows = [d0]>
// CHECK:         lamina.op = "div", lamina.nest = #loop.nest<rows = [d0]>
// CHECK-NOT:     loop.kernel
// CHECK:         func.return [[R]]

// -----

// Rows are whatever dims agree, under whatever number each nest has them.
func.func @two_columns(%x: tensor<4000x40xf32>) -> tensor<4000x40xf32> {
  %m = loop.generic (j, i) in [40, 4000] reads(%x[i, j] : tensor<4000x40xf32>) writes([j] max : tensor<40xf32>) attributes {lamina.op = "amax"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [4000, 40] reads(%x[i, j] : tensor<4000x40xf32>, %m[j] : tensor<40xf32>) writes([i, j] store : tensor<4000x40xf32>) attributes {lamina.op = "sub"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.subf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4000x40xf32>
}
// CHECK-LABEL: @two_columns
// CHECK:         lamina.op = "amax", lamina.nest = #loop.nest<rows = [d0]>
// CHECK:         lamina.op = "sub", lamina.nest = #loop.nest<rows = [d1]>

// -----

// One row for all would leave the other threads without work.
func.func @whole_sum(%x: tensor<300x300xf32>) -> tensor<300x300xf32> {
  %m = loop.generic (i, j) in [300, 300] reads(%x[i, j] : tensor<300x300xf32>) writes([] add : tensor<f32>) attributes {lamina.op = "sum"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [300, 300] reads(%x[i, j] : tensor<300x300xf32>, %m[] : tensor<f32>) writes([i, j] store : tensor<300x300xf32>) attributes {lamina.op = "div"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.divf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<300x300xf32>
}
// CHECK-LABEL: @whole_sum
// CHECK-NEXT:    [[M:%\S+]] = loop.kernel(
// CHECK:         loop.kernel({{.*}} = [[M]] : tensor<f32>)
// CHECK-SAME:    lamina.not_fused = ["sum -> div: together they have only 1 rows to run in parallel: work of idle threads takes {{[0-9.]+}} us, storing and waiting {{[0-9.]+}} us"
// SAID: fuse-kernels: sum -> div: saves 4 bytes, adds 0 flops: not fused: together they have only 1 rows to run in parallel

// -----

// So little work is sooner done by one thread than handed over.
func.func @small_sum(%x: tensor<30x30xf32>) -> tensor<30x30xf32> {
  %m = loop.generic (i, j) in [30, 30] reads(%x[i, j] : tensor<30x30xf32>) writes([] add : tensor<f32>) attributes {lamina.op = "sum"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [30, 30] reads(%x[i, j] : tensor<30x30xf32>, %m[] : tensor<f32>) writes([i, j] store : tensor<30x30xf32>) attributes {lamina.op = "div"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.divf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<30x30xf32>
}
// CHECK-LABEL: @small_sum
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel
// SAID: fuse-kernels: sum -> div: {{.*}} fused: rows stay in the kernel

// -----

// A program may say that both belong together, whatever it costs.
func.func @forced_sum(%x: tensor<300x300xf32>) -> tensor<300x300xf32> {
  %m = loop.generic (i, j) in [300, 300] reads(%x[i, j] : tensor<300x300xf32>) writes([] add : tensor<f32>) attributes {lamina.op = "sum", lamina.fuse = "always"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [300, 300] reads(%x[i, j] : tensor<300x300xf32>, %m[] : tensor<f32>) writes([i, j] store : tensor<300x300xf32>) attributes {lamina.op = "div"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.divf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<300x300xf32>
}
// CHECK-LABEL: @forced_sum
// CHECK-COUNT-1: loop.kernel
// CHECK-NOT:     loop.kernel

// -----

// Inside a row, a read beyond its edges gives the pad.
func.func @beyond_the_edge(%x: tensor<16x40xf32>) -> tensor<16x40xf32> {
  %e = loop.generic (i, j) in [16, 40] reads(%x[i, j] : tensor<16x40xf32>) writes([i, j] store : tensor<16x40xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i, j) in [16, 40] reads(%e[i, j - 1] pad 0.0 : f32 : tensor<16x40xf32>) writes([i, j] store : tensor<16x40xf32>) attributes {lamina.op = "neg"} {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<16x40xf32>
}
// CHECK-LABEL: @beyond_the_edge
// CHECK:         lamina.op = "exp", lamina.nest = #loop.nest<rows = [d0]>
// CHECK:         lamina.op = "neg", lamina.nest = #loop.nest<rows = [d0]>
// CHECK-NOT:     loop.kernel

// -----

// Along the rows themselves, what lies beyond one is another row.
func.func @beyond_the_row(%x: tensor<160x4000xf32>) -> tensor<160x4000xf32> {
  %e = loop.generic (i, j) in [160, 4000] reads(%x[i, j] : tensor<160x4000xf32>) writes([i, j] store : tensor<160x4000xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i, j) in [160, 4000] reads(%e[i - 1, j] pad 0.0 : f32 : tensor<160x4000xf32>) writes([i, j] store : tensor<160x4000xf32>) attributes {lamina.op = "neg"} {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<160x4000xf32>
}
// CHECK-LABEL: @beyond_the_row
// CHECK:         loop.kernel
// CHECK:         loop.kernel
// CHECK-SAME:    lamina.not_fused = ["exp -> neg: the result is read beyond its edge"

// -----

func.func @computed_indices(%x: tensor<16xf32>, %n: tensor<8xi64>) -> tensor<8xf32> {
  %e = loop.generic (i) in [16] reads(%x[i] : tensor<16xf32>) writes([i] store : tensor<16xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i) in [8] reads(%n[i] : tensor<8xi64>) sources(%e : tensor<16xf32>) writes([i] store : tensor<8xf32>) attributes {lamina.op = "gather"} {
  ^bb0(%p: i64, %t: tensor<16xf32>):
    %a = arith.index_cast %p : i64 to index
    %v = loop.read %t[%a] : tensor<16xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK-LABEL: @computed_indices
// CHECK:         loop.kernel
// CHECK:         loop.kernel
// CHECK-SAME:    lamina.not_fused = ["exp -> gather: the result is read through computed indices"

// -----

// Every returned value gets memory of its own: arguments and repeated values are copied.
func.func @returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>) {
  %e = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %s = loop.reshape %e : tensor<4xf32> -> tensor<2x2xf32>
  func.return %x, %e, %s : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
}
// CHECK-LABEL: @returned
// CHECK-NEXT:    [[E:%\S+]] = loop.kernel(
// CHECK:         [[S:%\S+]] = loop.reshape [[E]]
// CHECK:         [[C:%\S+]] = loop.kernel({{.*}} = %x : tensor<4xf32>)
// CHECK:         lamina.op = "copy"
// CHECK:         [[D:%\S+]] = loop.kernel({{.*}} = [[S]] : tensor<2x2xf32>)
// CHECK:         lamina.op = "copy"
// CHECK:         func.return [[C]], [[E]], [[D]]

// -----

// What stays between nests is on a thread's stack.
func.func @too_long(%x: tensor<16x200000xf32>) -> (tensor<16xf32>, tensor<16x200000xf32>) {
  %e = loop.generic (i, j) in [16, 200000] reads(%x[i, j] : tensor<16x200000xf32>) writes([i, j] store : tensor<16x200000xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %s = loop.generic (i, j) in [16, 200000] reads(%e[i, 199999 - j] : tensor<16x200000xf32>) writes([i] add : tensor<16xf32>) attributes {lamina.op = "sum"} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %e : tensor<16xf32>, tensor<16x200000xf32>
}
// CHECK-LABEL: @too_long
// CHECK:         lamina.not_fused = ["exp -> sum: a row of the result takes 800000 bytes of scratch, more than {{[0-9]+}}"

// -----

// Dimensions that are written as one axis are rows each.
func.func @compound_rows(%x: tensor<8x4x2x16xf32>) -> tensor<8xf32> {
  %r = loop.generic (n, g, c, i) in [8, 4, 2, 16] reads(%x[n, g, c, i] : tensor<8x4x2x16xf32>) writes([2 * g + c] add : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK-LABEL: @compound_rows
// CHECK:         lamina.nest = #loop.nest<rows = [d1, d2]>

// -----

// A mask that is the same for all heads stays apart: over its rows alone, a kernel would hold all heads.
func.func @main(%i: tensor<256x1xf32>, %x: tensor<12x256x256xf32>) -> tensor<12x256xf32> {
  %m = loop.generic (q, k) in [256, 256] reads(%i[q, 0] : tensor<256x1xf32>) writes([q, k] store : tensor<256x256xf32>) attributes {lamina.op = "mask"} {
  ^bb0(%v: f32):
    %e = math.exp %v : f32
    loop.yield %e : f32
  }
  %r = loop.generic (h, q, k) in [12, 256, 256] reads(%m[q, k] : tensor<256x256xf32>, %x[h, q, k] : tensor<12x256x256xf32>) writes([h, q] max : tensor<12x256xf32>) attributes {lamina.op = "amax"} {
  ^bb0(%v: f32, %w: f32):
    %s = arith.addf %v, %w : f32
    loop.yield %s : f32
  }
  func.return %r : tensor<12x256xf32>
}
// CHECK:      lamina.not_fused = ["mask -> amax: it is the same along d0 of the reader, whose rows would be lost"
