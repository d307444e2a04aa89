// RUN: lamina-opt %s -p 'fuse-elementwise{target="x86-64-v3"}' --split-input-file | filecheck %s

// Equal reads are shared, and the names of what was fused are joined.
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %s = loop.generic (i, j) in [4, 8] reads(%x[i, j] : tensor<4x8xf32>, %b[j] : tensor<8xf32>) writes([i, j] store : tensor<4x8xf32>) attributes {lamina.op = "add"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i, j) in [4, 8] reads(%s[i, j] : tensor<4x8xf32>, %b[j] : tensor<8xf32>) writes([i, j] store : tensor<4x8xf32>) attributes {lamina.op = "mul"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %t : tensor<4x8xf32>
}
// CHECK-LABEL: @chain
// CHECK-NEXT:    loop.generic (d0, d1) in [4, 8] reads(%b[d1] : tensor<8xf32>, %x[d0, d1] : tensor<4x8xf32>)
// CHECK-SAME:    attributes {lamina.op = ["add", "mul"]}
// CHECK-NEXT:    ^bb0([[B:%\S+]]: f32, [[X:%\S+]]: f32):
// CHECK-NEXT:    [[S:%\S+]] = arith.addf [[X]], [[B]]
// CHECK-NEXT:    [[M:%\S+]] = arith.mulf [[S]], [[B]]
// CHECK-NEXT:    loop.yield [[M]]
// CHECK-NOT:     loop.generic
// CHECK:         func.return

// -----

// Maps are composed.
func.func @into_reduction(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %s = loop.generic (i, j) in [4, 8] reads(%x[i, j] : tensor<4x8xf32>) writes([i, j] store : tensor<4x8xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %t = loop.generic (k, l) in [8, 4] reads(%s[l, k] : tensor<4x8xf32>) writes([k] add : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %t : tensor<8xf32>
}
// CHECK-LABEL: @into_reduction
// CHECK-NEXT:    loop.generic (d0, d1) in [8, 4] reads(%x[d1, d0] : tensor<4x8xf32>) writes([d0] add : tensor<8xf32>)
// CHECK:         math.exp
// CHECK-NOT:     loop.generic
// CHECK:         func.return

// -----

// A position is that of the reader, through its map.
func.func @index_is_moved() -> tensor<4xi64> {
  %s = loop.generic (i, j) in [4, 8] writes([i, j] store : tensor<4x8xi64>) {
    %a = loop.index 1 : index
    %v = arith.index_cast %a : index to i64
    loop.yield %v : i64
  }
  %t = loop.generic (k) in [4] reads(%s[1, 2 * k + 1] : tensor<4x8xi64>) writes([k] store : tensor<4xi64>) {
  ^bb0(%p: i64):
    loop.yield %p : i64
  }
  func.return %t : tensor<4xi64>
}
// CHECK-LABEL: @index_is_moved
// CHECK-NEXT:    [[T:%\S+]] = loop.generic (d0) in [4] writes
// CHECK-NEXT:    [[I:%\S+]] = loop.index 0 : index
// CHECK-NEXT:    [[C:%\S+]] = arith.constant 2 : index
// CHECK-NEXT:    [[J:%\S+]] = arith.muli [[I]], [[C]]
// CHECK-NEXT:    [[O:%\S+]] = arith.constant 1 : index
// CHECK-NEXT:    [[K:%\S+]] = arith.addi [[J]], [[O]]
// CHECK-NEXT:    arith.index_cast [[K]]
// CHECK-NOT:     loop.generic
// CHECK:         func.return [[T]]

// -----

// What costs less than storing it is computed in each reader.
func.func @cheap_twice(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %s = loop.generic (i) in [8] reads(%x[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i) in [8] reads(%s[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %u = loop.generic (i) in [8] reads(%s[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = math.sqrt %p : f32
    loop.yield %v : f32
  }
  func.return %t, %u : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: @cheap_twice
// CHECK-NEXT:    loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>)
// CHECK:         arith.negf
// CHECK-NEXT:    math.exp
// CHECK:         loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>)
// CHECK:         arith.negf
// CHECK-NEXT:    math.sqrt
// CHECK-NOT:     loop.generic
// CHECK:         func.return

// -----

// What costs more is stored once.
func.func @costly_twice(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %s = loop.generic (i) in [8] reads(%x[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i) in [8] reads(%s[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  %u = loop.generic (i) in [8] reads(%s[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = math.sqrt %p : f32
    loop.yield %v : f32
  }
  func.return %t, %u : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: @costly_twice
// CHECK-NEXT:    [[S:%\S+]] = loop.generic
// CHECK:         math.exp
// CHECK:         loop.generic (d0) in [8] reads([[S]][d0]
// CHECK:         loop.generic (d0) in [8] reads([[S]][d0]

// -----

func.func @evaluated_more_often(%x: tensor<8xf32>) -> tensor<3x8xf32> {
  %s = loop.generic (i) in [8] reads(%x[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i, j) in [3, 8] reads(%s[j] : tensor<8xf32>) writes([i, j] store : tensor<3x8xf32>) {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  func.return %t : tensor<3x8xf32>
}
// CHECK-LABEL: @evaluated_more_often
// CHECK-NEXT:    [[S:%\S+]] = loop.generic (d0) in [8]
// CHECK:         loop.generic (d0, d1) in [3, 8] reads([[S]][d1]

// -----

// Where the read is outside, the pad counts and not the body.
func.func @padded(%x: tensor<8x100xf32>) -> tensor<10x100xf32> {
  %s = loop.generic (i, j) in [8, 100] reads(%x[i, j] : tensor<8x100xf32>) writes([i, j] store : tensor<8x100xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i, j) in [10, 100] reads(%s[i - 1, j] pad 7.0 : f32 : tensor<8x100xf32>) writes([i, j] store : tensor<10x100xf32>) {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  func.return %t : tensor<10x100xf32>
}
// CHECK-LABEL: @padded
// CHECK-NEXT:    loop.generic (d0, d1) in [10, 100] reads(%x[d0 + -1, d1] pad 0.{{0+}}e+00 : f32 : tensor<8x100xf32>)
// CHECK-NEXT:    ^bb0([[P:%\S+]]: f32):
// CHECK-DAG:     [[E:%\S+]] = math.exp [[P]]
// CHECK-DAG:     [[PAD:%\S+]] = arith.constant 7.{{0+}}e+00
// CHECK-DAG:     [[I:%\S+]] = loop.index 0
// CHECK:         [[BEFORE:%\S+]] = arith.cmpi slt, [[I]], {{%\S+}} : index
// CHECK-NEXT:    [[V:%\S+]] = arith.select [[BEFORE]], [[PAD]], [[E]]
// CHECK:         [[INSIDE:%\S+]] = arith.cmpi slt, [[I]], {{%\S+}} : index
// CHECK-NEXT:    [[W:%\S+]] = arith.select [[INSIDE]], [[V]], [[PAD]]
// CHECK-NEXT:    arith.negf [[W]]
// CHECK-NOT:     loop.generic
// CHECK:         func.return

// -----

// An integer division must not see numbers that are made up.
func.func @padded_division(%x: tensor<8x100xi32>, %y: tensor<8x100xi32>) -> tensor<10x100xi32> {
  %s = loop.generic (i, j) in [8, 100] reads(%x[i, j] : tensor<8x100xi32>, %y[i, j] : tensor<8x100xi32>) writes([i, j] store : tensor<8x100xi32>) {
  ^bb0(%p: i32, %q: i32):
    %v = arith.divsi %p, %q : i32
    loop.yield %v : i32
  }
  %t = loop.generic (i, j) in [10, 100] reads(%s[i - 1, j] pad 7 : i32 : tensor<8x100xi32>) writes([i, j] store : tensor<10x100xi32>) {
  ^bb0(%p: i32):
    loop.yield %p : i32
  }
  func.return %t : tensor<10x100xi32>
}
// CHECK-LABEL: @padded_division
// CHECK-NEXT:    [[S:%\S+]] = loop.generic (d0, d1) in [8, 100]
// CHECK:         loop.generic (d0, d1) in [10, 100] reads([[S]][d0 + -1, d1] pad 7

// -----

// Not inlined: a product reads each element many times, and must stay a product.
func.func @contraction(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %s = loop.generic (i, j) in [4, 8] reads(%x[i, j] : tensor<4x8xf32>) writes([i, j] store : tensor<4x8xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %t = loop.generic (m, n, k) in [4, 16, 8] reads(%s[m, k] : tensor<4x8xf32>, %y[k, n] : tensor<8x16xf32>) writes([m, n] add : tensor<4x16xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %t : tensor<4x16xf32>
}
// CHECK-LABEL: @contraction
// CHECK-NEXT:    [[S:%\S+]] = loop.generic (d0, d1) in [4, 8]
// CHECK:         loop.generic (d0, d1, d2) in [4, 16, 8] reads([[S]][d0, d2]

// -----

func.func @reduction_is_not_inlined(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %s = loop.generic (i, j) in [4, 8] reads(%x[i, j] : tensor<4x8xf32>) writes([i] add : tensor<4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i) in [4] reads(%s[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  func.return %t : tensor<4xf32>
}
// CHECK-LABEL: @reduction_is_not_inlined
// CHECK-NEXT:    [[S:%\S+]] = loop.generic (d0, d1) in [4, 8]
// CHECK:         loop.generic (d0) in [4] reads([[S]][d0]

// -----

// A product that is not packed reads half floats itself; one that is packed reads streams of f32.
func.func @widened(%w: tensor<4x32x16xbf16>, %v: tensor<64x32xbf16>, %x: tensor<32xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %c = loop.generic (i, j) in [64, 32] reads(%v[i, j] : tensor<64x32xbf16>) writes([i, j] store : tensor<64x32xf32>) {
  ^bb0(%p: bf16):
    %q = arith.extf %p : bf16 to f32
    loop.yield %q : f32
  }
  %y = loop.generic (i, j) in [64, 32] reads(%c[i, j] : tensor<64x32xf32>, %x[j] : tensor<32xf32>) writes([i] add : tensor<64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    loop.yield %r : f32
  }
  %d = loop.generic (i, j, k) in [4, 32, 16] reads(%w[i, j, k] : tensor<4x32x16xbf16>) writes([i, j, k] store : tensor<4x32x16xf32>) {
  ^bb0(%p: bf16):
    %q = arith.extf %p : bf16 to f32
    loop.yield %q : f32
  }
  %z = loop.generic (i, j) in [64, 32] reads(%d[i floordiv 16, j, i mod 16] : tensor<4x32x16xf32>, %x[j] : tensor<32xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.packing = #loop.packing<panel = 16>} {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    loop.yield %r : f32
  }
  func.return %y, %z : tensor<64xf32>, tensor<64xf32>
}
// CHECK-LABEL: @widened
// CHECK:         loop.generic (d0, d1) in [64, 32] reads({{.*}}%v[d0, d1] : tensor<64x32xbf16>
// CHECK:         [[D:%\S+]] = loop.generic (d0, d1, d2) in [4, 32, 16] reads(%w[d0, d1, d2] : tensor<4x32x16xbf16>)
// CHECK:         loop.generic (d0, d1) in [64, 32] reads([[D]][d0 floordiv 16, d1, d0 mod 16] : tensor<4x32x16xf32>

// -----

// A producer that reads one value twice: the reader reads it once.
func.func @squared(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %s = loop.generic (d0, d1) in [4, 8] reads(%x[d0, d1] : tensor<4x8xf32>, %x[d0, d1] : tensor<4x8xf32>) writes([d0, d1] store : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  %r = loop.generic (d0, d1) in [4, 8] reads(%s[d0, d1] : tensor<4x8xf32>) writes([d0] add : tensor<4xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK-LABEL: @squared
// CHECK-NEXT:    loop.generic (d0, d1) in [4, 8] reads(%x[d0, d1] : tensor<4x8xf32>) writes([d0] add : tensor<4xf32>){{.*}}
// CHECK-NEXT:    ^bb0([[A:%\S+]]: f32):
// CHECK-NEXT:      [[P:%\S+]] = arith.mulf [[A]], [[A]] : f32
// CHECK-NEXT:      loop.yield [[P]] : f32

// -----

// The statistics of a row are few bytes: reading `x` again is no more than reading the result, and
// its store is spared.
func.func @normalized_twice(%x: tensor<64x128xf32>, %m: tensor<64xf32>) -> (tensor<64xf32>, tensor<64x128xf32>) {
  %n = loop.generic (i, j) in [64, 128] reads(%x[i, j] : tensor<64x128xf32>, %m[i] : tensor<64xf32>) writes([i, j] store : tensor<64x128xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.subf %p, %q : f32
    loop.yield %v : f32
  }
  %s = loop.generic (i, j) in [64, 128] reads(%n[i, j] : tensor<64x128xf32>) writes([i] max : tensor<64xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [64, 128] reads(%n[i, j] : tensor<64x128xf32>) writes([i, j] store : tensor<64x128xf32>) {
  ^bb0(%p: f32):
    %v = math.sqrt %p : f32
    loop.yield %v : f32
  }
  func.return %s, %r : tensor<64xf32>, tensor<64x128xf32>
}
// CHECK-LABEL: @normalized_twice
// CHECK-NEXT:    loop.generic (d0, d1) in [64, 128] reads(%x[d0, d1] : tensor<64x128xf32>, %m[d0] : tensor<64xf32>) writes([d0] max
// CHECK:         loop.generic (d0, d1) in [64, 128] reads(%x[d0, d1] : tensor<64x128xf32>, %m[d0] : tensor<64xf32>) writes([d0, d1] store
// CHECK-NOT:     loop.generic
// CHECK:         func.return

// -----

// Columns cannot take rows as they are made: the result would go through memory, which costs more
// than the exponential.
func.func @exponential_by_columns(%x: tensor<4096x2048xf32>) -> (tensor<4096xf32>, tensor<2048xf32>) {
  %e = loop.generic (i, j) in [4096, 2048] reads(%x[i, j] : tensor<4096x2048xf32>) writes([i, j] store : tensor<4096x2048xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i, j) in [4096, 2048] reads(%e[i, j] : tensor<4096x2048xf32>) writes([i] add : tensor<4096xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %c = loop.generic (i, j) in [4096, 2048] reads(%e[i, j] : tensor<4096x2048xf32>) writes([j] add : tensor<2048xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r, %c : tensor<4096xf32>, tensor<2048xf32>
}
// CHECK-LABEL: @exponential_by_columns
// CHECK:         [[E:%\S+]] = loop.generic
// CHECK:         loop.generic (d0, d1) in [4096, 2048] reads([[E]][d0, d1] : tensor<4096x2048xf32>) writes([d0] add
// CHECK:         loop.generic (d0, d1) in [4096, 2048] reads(%x[d0, d1] : tensor<4096x2048xf32>) writes([d1] add

// -----

// A reader at a known place takes the piece that lies there: the choice is settled, the other piece
// is not read.
func.func @piece_at_a_place(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<4xf32> {
  %c = loop.generic (i, j) in [16, 4] reads(%x[i, j] pad 0.0 : f32 : tensor<8x4xf32>, %y[i - 8, j] pad 0.0 : f32 : tensor<8x4xf32>) writes([i, j] store : tensor<16x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %i = loop.index 0 : index
    %n = arith.constant 8 : index
    %b = arith.cmpi slt, %i, %n : index
    %v = arith.select %b, %p, %q : f32
    loop.yield %v : f32
  }
  %t = loop.generic (j) in [4] reads(%c[9, j] : tensor<16x4xf32>) writes([j] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %u = loop.generic (j) in [4] reads(%t[j] : tensor<4xf32>, %c[2, j] : tensor<16x4xf32>) writes([j] store : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %u : tensor<4xf32>
}
// CHECK-LABEL: @piece_at_a_place
// CHECK-NEXT:    loop.generic (d0) in [4] reads({{.*}}) writes
// CHECK-NOT:     arith.select
// CHECK-NOT:     arith.cmpi
// CHECK:         func.return

// -----

// A choice that varies over the domain stays.
func.func @piece_by_place(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<12xf32> {
  %c = loop.generic (i) in [16] reads(%x[i] pad 0.0 : f32 : tensor<8xf32>, %y[i - 8] pad 0.0 : f32 : tensor<8xf32>) writes([i] store : tensor<16xf32>) {
  ^bb0(%p: f32, %q: f32):
    %i = loop.index 0 : index
    %n = arith.constant 8 : index
    %b = arith.cmpi slt, %i, %n : index
    %v = arith.select %b, %p, %q : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i) in [12] reads(%c[i] : tensor<16xf32>, %c[i + 4] : tensor<16xf32>) writes([i] store : tensor<12xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %t : tensor<12xf32>
}
// CHECK-LABEL: @piece_by_place
// CHECK-NEXT:    loop.generic (d0) in [12]
// CHECK-DAG:     [[I:%\S+]] = loop.index 0
// CHECK-DAG:     [[FOUR:%\S+]] = arith.constant 4 : index
// CHECK-DAG:     [[EIGHT:%\S+]] = arith.constant 8 : index
// CHECK-DAG:     arith.cmpi slt, [[I]], [[EIGHT]]
// CHECK-DAG:     arith.cmpi slt, [[I]], [[FOUR]]
// CHECK:         func.return

// -----

// Both operands of a product without panels are read as halves, the first as well as the second.
func.func @halves(%x: tensor<512x40xf16>, %y: tensor<512x40xf16>) -> tensor<512x512xf32> {
  %a = loop.generic (i, j) in [512, 40] reads(%x[i, j] : tensor<512x40xf16>) writes([i, j] store : tensor<512x40xf32>) {
  ^bb0(%h: f16):
    %w = arith.extf %h : f16 to f32
    loop.yield %w : f32
  }
  %b = loop.generic (i, j) in [512, 40] reads(%y[i, j] : tensor<512x40xf16>) writes([i, j] store : tensor<512x40xf32>) {
  ^bb0(%h: f16):
    %w = arith.extf %h : f16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (m, n, k) in [512, 512, 40] reads(%a[m, k] : tensor<512x40xf32>, %b[n, k] : tensor<512x40xf32>) writes([m, n] add : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<512x512xf32>
}
// CHECK-LABEL: @halves
// CHECK-NEXT:    loop.generic (d0, d1, d2) in [512, 512, 40]
// CHECK-SAME:    %{{[xy]}}[{{.*}}] : tensor<512x40xf16>, %{{[xy]}}[{{.*}}] : tensor<512x40xf16>

// -----

// What is small and read again and again is widened once, into the nearest cache.
func.func @widened_once(%x: tensor<4x512xf16>, %y: tensor<512x512xf16>) -> tensor<4x512xf32> {
  %a = loop.generic (i, j) in [4, 512] reads(%x[i, j] : tensor<4x512xf16>) writes([i, j] store : tensor<4x512xf32>) {
  ^bb0(%h: f16):
    %w = arith.extf %h : f16 to f32
    loop.yield %w : f32
  }
  %b = loop.generic (i, j) in [512, 512] reads(%y[i, j] : tensor<512x512xf16>) writes([i, j] store : tensor<512x512xf32>) {
  ^bb0(%h: f16):
    %w = arith.extf %h : f16 to f32
    loop.yield %w : f32
  }
  %r = loop.generic (m, n, k) in [4, 512, 512] reads(%a[m, k] : tensor<4x512xf32>, %b[n, k] : tensor<512x512xf32>) writes([m, n] add : tensor<4x512xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x512xf32>
}
// CHECK-LABEL: @widened_once
// CHECK:         [[A:%\S+]] = loop.generic (d0, d1) in [4, 512] reads(%x
// CHECK-NOT:     loop.generic (d0, d1)
// CHECK:         loop.generic (d0, d1, d2) in [4, 512, 512] reads({{.*}}tensor<512x512xf16>

// -----

// Padding a half float and widening it is as good as the other way round: there is nothing to choose.
func.func @widened_padding(%x: tensor<8x100xf16>) -> tensor<10x100xf32> {
  %s = loop.generic (i, j) in [8, 100] reads(%x[i, j] : tensor<8x100xf16>) writes([i, j] store : tensor<8x100xf32>) {
  ^bb0(%p: f16):
    %w = arith.extf %p {lamina.implicit} : f16 to f32
    loop.yield %w : f32
  }
  %t = loop.generic (i, j) in [10, 100] reads(%s[i - 1, j] pad 0xFF800000 : f32 : tensor<8x100xf32>) writes([i, j] store : tensor<10x100xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %t : tensor<10x100xf32>
}
// CHECK-LABEL: @widened_padding
// CHECK:         loop.generic (d0, d1) in [10, 100] reads(%x[d0 + -1, d1] pad {{0xfc00|-inf|0xFC00}} : f16 : tensor<8x100xf16>)
// CHECK-NEXT:    ^bb0([[P:%\S+]]: f16):
// CHECK-NEXT:      [[W:%\S+]] = arith.extf [[P]]
// CHECK-NEXT:      loop.yield [[W]] : f32

// -----

// A pad that no half float is stays a choice.
func.func @wide_padding(%x: tensor<8x100xf16>) -> tensor<10x100xf32> {
  %s = loop.generic (i, j) in [8, 100] reads(%x[i, j] : tensor<8x100xf16>) writes([i, j] store : tensor<8x100xf32>) {
  ^bb0(%p: f16):
    %w = arith.extf %p {lamina.implicit} : f16 to f32
    loop.yield %w : f32
  }
  %t = loop.generic (i, j) in [10, 100] reads(%s[i - 1, j] pad 0.1 : f32 : tensor<8x100xf32>) writes([i, j] store : tensor<10x100xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %t : tensor<10x100xf32>
}
// CHECK-LABEL: @wide_padding
// CHECK:         arith.select

// -----

// What a mask leaves beyond the edge is the pad already, along either axis: nothing is to choose.
func.func @masked_padding(%x: tensor<8x100xf32>, %m: tensor<100xi1>) -> tensor<10x102xf32> {
  %s = loop.generic (i, j) in [8, 100] reads(%m[j] : tensor<100xi1>, %x[i, j] : tensor<8x100xf32>) writes([i, j] store : tensor<8x100xf32>) {
  ^bb0(%b: i1, %p: f32):
    %z = arith.constant 0xFF800000 : f32
    %v = arith.select %b, %p, %z : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i, j) in [10, 102] reads(%s[i - 1, j - 1] pad 0xFF800000 : f32 : tensor<8x100xf32>) writes([i, j] store : tensor<10x102xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %t : tensor<10x102xf32>
}
// CHECK-LABEL: @masked_padding
// CHECK:         reads(%m[d1 + -1] pad false : tensor<100xi1>, %x[d0 + -1, d1 + -1] pad 0xff800000 : f32 : tensor<8x100xf32>)
// CHECK:         arith.select
// CHECK-NOT:     arith.select
// CHECK:         loop.yield

// -----

// What is added to it is not, along the axis that the mask does not know of.
func.func @moved_padding(%x: tensor<8x100xf32>) -> tensor<10x100xf32> {
  %s = loop.generic (i, j) in [8, 100] reads(%x[i, j] : tensor<8x100xf32>) writes([i, j] store : tensor<8x100xf32>) {
  ^bb0(%p: f32):
    %o = arith.constant 1.0 : f32
    %v = arith.addf %p, %o : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i, j) in [10, 100] reads(%s[i - 1, j] pad 0.0 : f32 : tensor<8x100xf32>) writes([i, j] store : tensor<10x100xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %t : tensor<10x100xf32>
}
// CHECK-LABEL: @moved_padding
// CHECK-COUNT-2: arith.select

// -----

// A product reads its rows as they stand: what it keeps is read by others, too, where computing it again would read more. Two
// readers that are none compute it each.
func.func @kept_by_a_product(%x: tensor<128x256xf32>, %y: tensor<128x256xf32>, %w: tensor<8x256x32xf32>) -> (tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>) {
  %s = loop.generic (i, j) in [128, 256] reads(%x[i, j] : tensor<128x256xf32>, %y[i, j] : tensor<128x256xf32>) writes([i, j] store : tensor<128x256xf32>) attributes {lamina.op = "add"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %m = loop.generic (i, c, j, k) in [128, 8, 32, 256] reads(%s[i, k] : tensor<128x256xf32>, %w[c, k, j] : tensor<8x256x32xf32>) writes([i, 32 * c + j] add : tensor<128x256xf32>) attributes {lamina.op = "contract"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (i, j) in [128, 256] reads(%m[i, j] : tensor<128x256xf32>, %s[i, j] : tensor<128x256xf32>) writes([i, j] store : tensor<128x256xf32>) attributes {lamina.op = "residual"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  %t = loop.generic (i, j) in [128, 256] reads(%x[i, j] : tensor<128x256xf32>, %y[i, j] : tensor<128x256xf32>) writes([i, j] store : tensor<128x256xf32>) attributes {lamina.op = "sub"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.subf %p, %q : f32
    loop.yield %v : f32
  }
  %a = loop.generic (i, j) in [128, 256] reads(%t[i, j] : tensor<128x256xf32>) writes([i, j] store : tensor<128x256xf32>) attributes {lamina.op = "double"} {
  ^bb0(%p: f32):
    %v = arith.addf %p, %p : f32
    loop.yield %v : f32
  }
  %b = loop.generic (i, j) in [128, 256] reads(%t[i, j] : tensor<128x256xf32>) writes([i, j] store : tensor<128x256xf32>) attributes {lamina.op = "square"} {
  ^bb0(%p: f32):
    %v = arith.mulf %p, %p : f32
    loop.yield %v : f32
  }
  func.return %m, %r, %a, %b : tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>
}
// CHECK-LABEL: @kept_by_a_product
// CHECK:         lamina.op = "add"
// CHECK:         lamina.op = "contract"
// CHECK:         lamina.op = "residual"
// CHECK:         lamina.op = ["sub", "double"]
// CHECK:         lamina.op = ["sub", "square"]

// -----

// Places that masks choose are chosen again by each that looks up there: what makes the integers is asked for no more
// than where the masks are true. A sum of places is not.
func.func @masked_places(%i: tensor<64xi32>, %m: tensor<64xi1>, %w: tensor<8x16xf32>) -> (tensor<64x16xf32>, tensor<64x16xf32>, tensor<64xi64>) {
  %s = loop.generic (i) in [64] reads(%i[i] : tensor<64xi32>, %m[i] : tensor<64xi1>) writes([i] store : tensor<64xi64>) attributes {lamina.op = "choose"} {
  ^bb0(%p: i32, %c: i1):
    %z = arith.constant 0 : i64
    %l = arith.extsi %p : i32 to i64
    %v = arith.select %c, %l, %z : i64
    loop.yield %v : i64
  }
  %t = loop.generic (i, j) in [64, 16] reads(%s[i] : tensor<64xi64>) sources(%w : tensor<8x16xf32>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.op = "take"} {
  ^bb0(%p: i64, %x: tensor<8x16xf32>):
    %r = arith.index_cast %p : i64 to index
    %j = loop.index 1 : index
    %v = loop.read %x[%r, %j] : tensor<8x16xf32>
    loop.yield %v : f32
  }
  %u = loop.generic (i, j) in [64, 16] reads(%s[i] : tensor<64xi64>) sources(%w : tensor<8x16xf32>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.op = "again"} {
  ^bb0(%p: i64, %x: tensor<8x16xf32>):
    %r = arith.index_cast %p : i64 to index
    %j = loop.index 1 : index
    %q = loop.read %x[%r, %j] : tensor<8x16xf32>
    %v = arith.addf %q, %q : f32
    loop.yield %v : f32
  }
  %n = loop.generic (i, j) in [64, 64] reads(%s[j] : tensor<64xi64>) writes([i] add : tensor<64xi64>) attributes {lamina.op = "sum"} {
  ^bb0(%p: i64):
    loop.yield %p : i64
  }
  func.return %t, %u, %n : tensor<64x16xf32>, tensor<64x16xf32>, tensor<64xi64>
}
// CHECK-LABEL: @masked_places
// CHECK:         lamina.op = "choose"
// CHECK:         lamina.op = ["choose", "take"]
// CHECK:         arith.select
// CHECK:         lamina.op = ["choose", "again"]
// CHECK:         arith.select
// CHECK:         lamina.op = "sum"

// -----

// So are those of which negative ones count from the end.
func.func @masked_wrapped_places(%i: tensor<64xi64>, %m: tensor<64xi1>, %w: tensor<8x16xf32>) -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %s = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>, %m[i] : tensor<64xi1>) writes([i] store : tensor<64xi64>) attributes {lamina.op = "choose"} {
  ^bb0(%p: i64, %c: i1):
    %z = arith.constant 0 : i64
    %n = arith.constant 8 : i64
    %v = arith.select %c, %p, %z : i64
    %b = arith.cmpi slt, %v, %z : i64
    %e = arith.addi %v, %n : i64
    %r = arith.select %b, %e, %v : i64
    loop.yield %r : i64
  }
  %t = loop.generic (i, j) in [64, 16] reads(%s[i] : tensor<64xi64>) sources(%w : tensor<8x16xf32>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.op = "take"} {
  ^bb0(%p: i64, %x: tensor<8x16xf32>):
    %r = arith.index_cast %p : i64 to index
    %j = loop.index 1 : index
    %v = loop.read %x[%r, %j] : tensor<8x16xf32>
    loop.yield %v : f32
  }
  %u = loop.generic (i, j) in [64, 16] reads(%s[i] : tensor<64xi64>) sources(%w : tensor<8x16xf32>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.op = "again"} {
  ^bb0(%p: i64, %x: tensor<8x16xf32>):
    %r = arith.index_cast %p : i64 to index
    %j = loop.index 1 : index
    %q = loop.read %x[%r, %j] : tensor<8x16xf32>
    %v = arith.addf %q, %q : f32
    loop.yield %v : f32
  }
  func.return %t, %u : tensor<64x16xf32>, tensor<64x16xf32>
}
// CHECK-LABEL: @masked_wrapped_places
// CHECK-NOT:     lamina.op = "choose"
// CHECK:         lamina.op = ["choose", "take"]
// CHECK:         lamina.op = ["choose", "again"]

// -----

// Sums of two places are not: each of them would be made again.
func.func @summed_places(%i: tensor<64xi64>, %k: tensor<64xi64>, %m: tensor<64xi1>, %w: tensor<8x16xf32>) -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %s = loop.generic (i) in [64] reads(%i[i] : tensor<64xi64>, %k[i] : tensor<64xi64>, %m[i] : tensor<64xi1>) writes([i] store : tensor<64xi64>) attributes {lamina.op = "choose"} {
  ^bb0(%p: i64, %q: i64, %c: i1):
    %z = arith.constant 0 : i64
    %e = arith.addi %p, %q : i64
    %v = arith.select %c, %e, %z : i64
    loop.yield %v : i64
  }
  %t = loop.generic (i, j) in [64, 16] reads(%s[i] : tensor<64xi64>) sources(%w : tensor<8x16xf32>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.op = "take"} {
  ^bb0(%p: i64, %x: tensor<8x16xf32>):
    %r = arith.index_cast %p : i64 to index
    %j = loop.index 1 : index
    %v = loop.read %x[%r, %j] : tensor<8x16xf32>
    loop.yield %v : f32
  }
  %u = loop.generic (i, j) in [64, 16] reads(%s[i] : tensor<64xi64>) sources(%w : tensor<8x16xf32>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.op = "again"} {
  ^bb0(%p: i64, %x: tensor<8x16xf32>):
    %r = arith.index_cast %p : i64 to index
    %j = loop.index 1 : index
    %q = loop.read %x[%r, %j] : tensor<8x16xf32>
    %v = arith.addf %q, %q : f32
    loop.yield %v : f32
  }
  func.return %t, %u : tensor<64x16xf32>, tensor<64x16xf32>
}
// CHECK-LABEL: @summed_places
// CHECK:         lamina.op = "choose"
// CHECK:         lamina.op = "take"
// CHECK:         lamina.op = "again"

// -----

// Rows of samples that lie behind one another, read in panels beyond the last of a sample: the rows become an axis, at
// whose end the read ends, too, as those behind them are of the next sample.
// CHECK-LABEL: @samples
// CHECK:         [[APART:%\S+]] = loop.reshape %x : tensor<30x8xf32> -> tensor<3x10x8xf32>
// CHECK:         loop.generic (d0, d1, d2, d3) in [3, 3, 8, 4]
// CHECK-SAME:    [[APART]][d0, (d1 * 4) + d3, d2] pad 0.{{0+}}e+00 : f32 : tensor<3x10x8xf32>
// CHECK:         loop.yield
func.func @samples(%x: tensor<30x8xf32>, %b: tensor<8xf32>) -> tensor<3x3x8x4xf32> {
  %s = loop.generic (n, i, j) in [3, 10, 8] reads(%x[n * 10 + i, j] : tensor<30x8xf32>, %b[j] : tensor<8xf32>) writes([n, i, j] store : tensor<3x10x8xf32>) {
  ^bb0(%v: f32, %w: f32):
    %e = arith.addf %v, %w : f32
    loop.yield %e : f32
  }
  %t = loop.generic (n, p, j, l) in [3, 3, 8, 4] reads(%s[n, p * 4 + l, j] pad 0.0 : f32 : tensor<3x10x8xf32>) writes([n, p, j, l] store : tensor<3x3x8x4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %t : tensor<3x3x8x4xf32>
}

// -----

// One sample is rows as they are.
// CHECK-LABEL: @one_sample
// CHECK-NOT:     loop.reshape
// CHECK:         %x[(d0 * 4) + d2, d1] pad 0.{{0+}}e+00 : f32 : tensor<10x8xf32>
func.func @one_sample(%x: tensor<10x8xf32>) -> tensor<3x8x4xf32> {
  %s = loop.generic (i, j) in [10, 8] reads(%x[i, j] : tensor<10x8xf32>) writes([i, j] store : tensor<10x8xf32>) {
  ^bb0(%v: f32):
    %e = arith.negf %v : f32
    loop.yield %e : f32
  }
  %t = loop.generic (p, j, l) in [3, 8, 4] reads(%s[p * 4 + l, j] pad 0.0 : f32 : tensor<10x8xf32>) writes([p, j, l] store : tensor<3x8x4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %t : tensor<3x8x4xf32>
}

// -----

// So it is with lines and columns of images in rows of one product, for windows that begin in front of them.
// CHECK-LABEL: @images
// CHECK:         [[COLUMNS:%\S+]] = loop.reshape %x : tensor<192x4xf32> -> tensor<24x8x4xf32>
// CHECK:         [[LINES:%\S+]] = loop.reshape [[COLUMNS]] : tensor<24x8x4xf32> -> tensor<3x8x8x4xf32>
// CHECK:         loop.generic (d0, d1, d2, d3) in [3, 10, 10, 4]
// CHECK-SAME:    [[LINES]][d0, d1 + -1, d2 + -1, d3] pad 0.{{0+}}e+00 : f32 : tensor<3x8x8x4xf32>
func.func @images(%x: tensor<192x4xf32>) -> tensor<3x10x10x4xf32> {
  %s = loop.generic (n, y, x, c) in [3, 8, 8, 4] reads(%x[n * 64 + y * 8 + x, c] : tensor<192x4xf32>) writes([n, y, x, c] store : tensor<3x8x8x4xf32>) {
  ^bb0(%v: f32):
    %e = arith.negf %v : f32
    loop.yield %e : f32
  }
  %t = loop.generic (n, y, x, c) in [3, 10, 10, 4] reads(%s[n, y - 1, x - 1, c] pad 0.0 : f32 : tensor<3x8x8x4xf32>) writes([n, y, x, c] store : tensor<3x10x10x4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %t : tensor<3x10x10x4xf32>
}
