// RUN: lamina-opt %s -p limit-panels --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-panels,limit-panels --split-input-file | filecheck %s

// Attention ends at the number of keys that count, in whole panels: so do the panels. Values are 0 behind.
// CHECK-LABEL: func.func @main(
// CHECK:         @keys(%{{[0-9]+}}, %k, %n, %{{[0-9]+}})
// CHECK:         @values(%{{[0-9]+}}, %v, %n, %{{[0-9]+}})
// CHECK-LABEL: func.func private @keys(
// CHECK-SAME:    %count: memref<i64>, %out: memref<4x16x32xf32>
// CHECK-SAME:    lamina.live = #loop.live<[arg2 ceildiv 32 of 4, 16, 32]>
// CHECK:         rows = [d0, d1, d2], live = [arg2 ceildiv 32 of 4, 16, 32], visited = [d0]>
// CHECK-LABEL: func.func private @values(
// CHECK:         rows = [d0, d1, d2], live = [arg2 ceildiv 32 * 32 of 128, 16], visited = [d1]>
func.func @main(%q: memref<128x16xf32>, %k: memref<128x16xf32>, %v: memref<128x16xf32>, %n: memref<i64> {lamina.kind = "input"}, %out: memref<128x16xf32> {lamina.kind = "output"}, %arena: memref<16896xi8>) attributes {lamina.entry} {
  %0 = arith.constant 16384 : index
  %1 = memref.view %arena[%0][] : memref<16896xi8> to memref<128xi1>
  func.call @mask(%n, %1) : (memref<i64>, memref<128xi1>) -> ()
  %2 = arith.constant 0 : index
  %3 = memref.view %arena[%2][] : memref<16896xi8> to memref<4x16x32xf32>
  func.call @keys(%1, %k, %3) : (memref<128xi1>, memref<128x16xf32>, memref<4x16x32xf32>) -> ()
  %4 = arith.constant 8192 : index
  %5 = memref.view %arena[%4][] : memref<16896xi8> to memref<1x128x16xf32>
  func.call @values(%1, %v, %5) : (memref<128xi1>, memref<128x16xf32>, memref<1x128x16xf32>) -> ()
  func.call @attention(%q, %3, %1, %5, %n, %out) : (memref<128x16xf32>, memref<4x16x32xf32>, memref<128xi1>, memref<1x128x16xf32>, memref<i64>, memref<128x16xf32>) -> ()
  func.return
}
func.func private @mask(%n: memref<i64>, %out: memref<128xi1>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [128] reads(%n[] : memref<i64>) writes([d0] store into %out : memref<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%0: i64):
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.cmpi slt, %2, %0 : i64
    loop.yield %3 : i1
  }
  func.return
}
func.func private @keys(%m: memref<128xi1>, %k: memref<128x16xf32>, %out: memref<4x16x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (d0, d1, d2) in [4, 16, 32] reads(%m[(d0 * 32) + d2] : memref<128xi1>, %k[(d0 * 32) + d2, d1] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<4x16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @values(%m: memref<128xi1>, %v: memref<128x16xf32>, %out: memref<1x128x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [2]>]} {
  loop.generic (d0, d1, d2) in [1, 128, 16] reads(%m[d1] : memref<128xi1>, %v[d1, (d0 * 16) + d2] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<1x128x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @attention(%q: memref<128x16xf32>, %k: memref<4x16x32xf32>, %m: memref<128xi1>, %v: memref<1x128x16xf32>, %n: memref<i64>, %out: memref<128x16xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 2, 4>, lamina.zeros = array<i64: 3, 1, 4>, lamina.schedule = [#loop.products<parallel, compute_at = block, block = 32>]} {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1, d2) in [128, 128, 16] reads(%q[d0, d2] : memref<128x16xf32>, %k[d1 floordiv 32, d2, d1 mod 32] : memref<4x16x32xf32>) writes([d0, d1] add into %0 : memref<128x128xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  %1 = memref.alloc() {alignment = 64 : i64} : memref<128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%m[d1] : memref<128xi1>, %0[d0, d1] : memref<128x128xf32>) writes([d0] max into %1 : memref<128xf32>) attributes {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%c: i1, %a: f32):
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    loop.yield %p : f32
  }
  %2 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%1[d0] : memref<128xf32>, %m[d1] : memref<128xi1>, %0[d0, d1] : memref<128x128xf32>) writes([d0, d1] store into %2 : memref<128x128xf32>) attributes {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%t: f32, %c: i1, %a: f32):
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    %s = arith.subf %p, %t : f32
    %e = math.exp %s : f32
    loop.yield %e : f32
  }
  loop.generic (d0, d1, d2) in [128, 16, 128] reads(%2[d0, d2] : memref<128x128xf32>, %v[d1 floordiv 16, d2, d1 mod 16] : memref<1x128x16xf32>) writes([d0, d1] add into %out : memref<128x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16, pack_at = call>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 1, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return
}

// -----

// Queries end at the number, and no key behind a query counts.
// CHECK-LABEL: func.func @main(
// CHECK:         @keys(%{{[0-9]+}}, %k, %n, %{{[0-9]+}})
// CHECK:         @values(%{{[0-9]+}}, %v, %n, %{{[0-9]+}})
// CHECK-LABEL: func.func private @keys(
// CHECK-SAME:    %count: memref<i64>, %out: memref<4x16x32xf32>
// CHECK-SAME:    lamina.live = #loop.live<[arg2 ceildiv 32 of 4, 16, 32]>
// CHECK:         rows = [d0, d1, d2], live = [arg2 ceildiv 32 of 4, 16, 32], visited = [d0]>
// CHECK-LABEL: func.func private @values(
// CHECK:         rows = [d0, d1, d2], live = [arg2 ceildiv 32 * 32 of 128, 16], visited = [d1]>
func.func @main(%q: memref<128x16xf32>, %k: memref<128x16xf32>, %v: memref<128x16xf32>, %n: memref<i64> {lamina.kind = "input"}, %out: memref<128x16xf32> {lamina.kind = "output"}, %arena: memref<16896xi8>) attributes {lamina.entry} {
  %0 = arith.constant 16384 : index
  %1 = memref.view %arena[%0][] : memref<16896xi8> to memref<128xi1>
  func.call @mask(%n, %1) : (memref<i64>, memref<128xi1>) -> ()
  %2 = arith.constant 0 : index
  %3 = memref.view %arena[%2][] : memref<16896xi8> to memref<4x16x32xf32>
  func.call @keys(%1, %k, %3) : (memref<128xi1>, memref<128x16xf32>, memref<4x16x32xf32>) -> ()
  %4 = arith.constant 8192 : index
  %5 = memref.view %arena[%4][] : memref<16896xi8> to memref<1x128x16xf32>
  func.call @values(%1, %v, %5) : (memref<128xi1>, memref<128x16xf32>, memref<1x128x16xf32>) -> ()
  func.call @attention(%q, %3, %1, %5, %n, %out) : (memref<128x16xf32>, memref<4x16x32xf32>, memref<128xi1>, memref<1x128x16xf32>, memref<i64>, memref<128x16xf32>) -> ()
  func.return
}
func.func private @mask(%n: memref<i64>, %out: memref<128xi1>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [128] reads(%n[] : memref<i64>) writes([d0] store into %out : memref<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%0: i64):
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.cmpi slt, %2, %0 : i64
    loop.yield %3 : i1
  }
  func.return
}
func.func private @keys(%m: memref<128xi1>, %k: memref<128x16xf32>, %out: memref<4x16x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (d0, d1, d2) in [4, 16, 32] reads(%m[(d0 * 32) + d2] : memref<128xi1>, %k[(d0 * 32) + d2, d1] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<4x16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @values(%m: memref<128xi1>, %v: memref<128x16xf32>, %out: memref<1x128x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [2]>]} {
  loop.generic (d0, d1, d2) in [1, 128, 16] reads(%m[d1] : memref<128xi1>, %v[d1, (d0 * 16) + d2] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<1x128x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @attention(%q: memref<128x16xf32>, %k: memref<4x16x32xf32>, %m: memref<128xi1>, %v: memref<1x128x16xf32>, %n: memref<i64>, %out: memref<128x16xf32>) attributes {lamina.kernel, lamina.zeros = array<i64: 3, 1, 4>, lamina.schedule = [#loop.products<parallel, compute_at = block, block = 32>]} {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1, d2) in [128, 128, 16] reads(%q[d0, d2] : memref<128x16xf32>, %k[d1 floordiv 32, d2, d1 mod 32] : memref<4x16x32xf32>) writes([d0, d1] add into %0 : memref<128x128xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1, d2) -> ()>, upper affine_map<(d0, d1, d2) -> (d0 + 1)>>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  %1 = memref.alloc() {alignment = 64 : i64} : memref<128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%0[d0, d1] : memref<128x128xf32>) writes([d0] max into %1 : memref<128xf32>) attributes {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1) -> ()>, upper affine_map<(d0, d1) -> (d0 + 1)>>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%a: f32):
    %i = loop.index 1 : index
    %j = loop.index 0 : index
    %c = arith.cmpi sge, %j, %i : index
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    loop.yield %p : f32
  }
  %2 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%1[d0] : memref<128xf32>, %0[d0, d1] : memref<128x128xf32>) writes([d0, d1] store into %2 : memref<128x128xf32>) attributes {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1) -> ()>, upper affine_map<(d0, d1) -> (d0 + 1)>>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%t: f32, %a: f32):
    %i = loop.index 1 : index
    %j = loop.index 0 : index
    %c = arith.cmpi sge, %j, %i : index
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    %s = arith.subf %p, %t : f32
    %e = math.exp %s : f32
    loop.yield %e : f32
  }
  loop.generic (d0, d1, d2) in [128, 16, 128] reads(%2[d0, d2] : memref<128x128xf32>, %v[d1 floordiv 16, d2, d1 mod 16] : memref<1x128x16xf32>) writes([d0, d1] add into %out : memref<128x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16, pack_at = call>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2) -> ()>, upper affine_map<(d0, d1, d2) -> (d0 + 1)>>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 1, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return
}

// -----

// What stands behind the values that count is not known: all are read, lest an infinity is among them.
// CHECK-LABEL: func.func private @keys(
// CHECK-SAME:    %count: memref<i64>, %out: memref<4x16x32xf32>
// CHECK-SAME:    lamina.live = #loop.live<[arg2 ceildiv 32 of 4, 16, 32]>
// CHECK:         rows = [d0, d1, d2], live = [arg2 ceildiv 32 of 4, 16, 32], visited = [d0]>
// CHECK-LABEL: func.func private @values(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @attention(
func.func @main(%q: memref<128x16xf32>, %k: memref<128x16xf32>, %v: memref<128x16xf32>, %n: memref<i64> {lamina.kind = "input"}, %out: memref<128x16xf32> {lamina.kind = "output"}, %arena: memref<16896xi8>) attributes {lamina.entry} {
  %0 = arith.constant 16384 : index
  %1 = memref.view %arena[%0][] : memref<16896xi8> to memref<128xi1>
  func.call @mask(%n, %1) : (memref<i64>, memref<128xi1>) -> ()
  %2 = arith.constant 0 : index
  %3 = memref.view %arena[%2][] : memref<16896xi8> to memref<4x16x32xf32>
  func.call @keys(%1, %k, %3) : (memref<128xi1>, memref<128x16xf32>, memref<4x16x32xf32>) -> ()
  %4 = arith.constant 8192 : index
  %5 = memref.view %arena[%4][] : memref<16896xi8> to memref<1x128x16xf32>
  func.call @values(%1, %v, %5) : (memref<128xi1>, memref<128x16xf32>, memref<1x128x16xf32>) -> ()
  func.call @attention(%q, %3, %1, %5, %n, %out) : (memref<128x16xf32>, memref<4x16x32xf32>, memref<128xi1>, memref<1x128x16xf32>, memref<i64>, memref<128x16xf32>) -> ()
  func.return
}
func.func private @mask(%n: memref<i64>, %out: memref<128xi1>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [128] reads(%n[] : memref<i64>) writes([d0] store into %out : memref<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%0: i64):
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.cmpi slt, %2, %0 : i64
    loop.yield %3 : i1
  }
  func.return
}
func.func private @keys(%m: memref<128xi1>, %k: memref<128x16xf32>, %out: memref<4x16x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (d0, d1, d2) in [4, 16, 32] reads(%m[(d0 * 32) + d2] : memref<128xi1>, %k[(d0 * 32) + d2, d1] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<4x16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @values(%m: memref<128xi1>, %v: memref<128x16xf32>, %out: memref<1x128x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [2]>]} {
  loop.generic (d0, d1, d2) in [1, 128, 16] reads(%m[d1] : memref<128xi1>, %v[d1, (d0 * 16) + d2] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<1x128x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @attention(%q: memref<128x16xf32>, %k: memref<4x16x32xf32>, %m: memref<128xi1>, %v: memref<1x128x16xf32>, %n: memref<i64>, %out: memref<128x16xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 2, 4>, lamina.schedule = [#loop.products<parallel, compute_at = block, block = 32>]} {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1, d2) in [128, 128, 16] reads(%q[d0, d2] : memref<128x16xf32>, %k[d1 floordiv 32, d2, d1 mod 32] : memref<4x16x32xf32>) writes([d0, d1] add into %0 : memref<128x128xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  %1 = memref.alloc() {alignment = 64 : i64} : memref<128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%m[d1] : memref<128xi1>, %0[d0, d1] : memref<128x128xf32>) writes([d0] max into %1 : memref<128xf32>) attributes {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%c: i1, %a: f32):
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    loop.yield %p : f32
  }
  %2 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%1[d0] : memref<128xf32>, %m[d1] : memref<128xi1>, %0[d0, d1] : memref<128x128xf32>) writes([d0, d1] store into %2 : memref<128x128xf32>) attributes {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%t: f32, %c: i1, %a: f32):
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    %s = arith.subf %p, %t : f32
    %e = math.exp %s : f32
    loop.yield %e : f32
  }
  loop.generic (d0, d1, d2) in [128, 16, 128] reads(%2[d0, d2] : memref<128x128xf32>, %v[d1 floordiv 16, d2, d1 mod 16] : memref<1x128x16xf32>) writes([d0, d1] add into %out : memref<128x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16, pack_at = call>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 1, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return
}

// -----

// All keys are read where a mask says nothing.
// CHECK-LABEL: func.func private @keys(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @values(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @attention(
func.func @main(%q: memref<128x16xf32>, %k: memref<128x16xf32>, %v: memref<128x16xf32>, %n: memref<i64> {lamina.kind = "input"}, %out: memref<128x16xf32> {lamina.kind = "output"}, %arena: memref<16896xi8>) attributes {lamina.entry} {
  %0 = arith.constant 16384 : index
  %1 = memref.view %arena[%0][] : memref<16896xi8> to memref<128xi1>
  func.call @mask(%n, %1) : (memref<i64>, memref<128xi1>) -> ()
  %2 = arith.constant 0 : index
  %3 = memref.view %arena[%2][] : memref<16896xi8> to memref<4x16x32xf32>
  func.call @keys(%1, %k, %3) : (memref<128xi1>, memref<128x16xf32>, memref<4x16x32xf32>) -> ()
  %4 = arith.constant 8192 : index
  %5 = memref.view %arena[%4][] : memref<16896xi8> to memref<1x128x16xf32>
  func.call @values(%1, %v, %5) : (memref<128xi1>, memref<128x16xf32>, memref<1x128x16xf32>) -> ()
  func.call @attention(%q, %3, %1, %5, %n, %out) : (memref<128x16xf32>, memref<4x16x32xf32>, memref<128xi1>, memref<1x128x16xf32>, memref<i64>, memref<128x16xf32>) -> ()
  func.return
}
func.func private @mask(%n: memref<i64>, %out: memref<128xi1>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [128] reads(%n[] : memref<i64>) writes([d0] store into %out : memref<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%0: i64):
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.cmpi slt, %2, %0 : i64
    loop.yield %3 : i1
  }
  func.return
}
func.func private @keys(%m: memref<128xi1>, %k: memref<128x16xf32>, %out: memref<4x16x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (d0, d1, d2) in [4, 16, 32] reads(%m[(d0 * 32) + d2] : memref<128xi1>, %k[(d0 * 32) + d2, d1] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<4x16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @values(%m: memref<128xi1>, %v: memref<128x16xf32>, %out: memref<1x128x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [2]>]} {
  loop.generic (d0, d1, d2) in [1, 128, 16] reads(%m[d1] : memref<128xi1>, %v[d1, (d0 * 16) + d2] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<1x128x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @attention(%q: memref<128x16xf32>, %k: memref<4x16x32xf32>, %m: memref<128xi1>, %v: memref<1x128x16xf32>, %n: memref<i64>, %out: memref<128x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, compute_at = block, block = 32>]} {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1, d2) in [128, 128, 16] reads(%q[d0, d2] : memref<128x16xf32>, %k[d1 floordiv 32, d2, d1 mod 32] : memref<4x16x32xf32>) writes([d0, d1] add into %0 : memref<128x128xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  %1 = memref.alloc() {alignment = 64 : i64} : memref<128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%m[d1] : memref<128xi1>, %0[d0, d1] : memref<128x128xf32>) writes([d0] max into %1 : memref<128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%c: i1, %a: f32):
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    loop.yield %p : f32
  }
  %2 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%1[d0] : memref<128xf32>, %m[d1] : memref<128xi1>, %0[d0, d1] : memref<128x128xf32>) writes([d0, d1] store into %2 : memref<128x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%t: f32, %c: i1, %a: f32):
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    %s = arith.subf %p, %t : f32
    %e = math.exp %s : f32
    loop.yield %e : f32
  }
  loop.generic (d0, d1, d2) in [128, 16, 128] reads(%2[d0, d2] : memref<128x128xf32>, %v[d1 floordiv 16, d2, d1 mod 16] : memref<1x128x16xf32>) writes([d0, d1] add into %out : memref<128x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16, pack_at = call>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 1, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return
}

// -----

// Something else reads the keys.
// CHECK-LABEL: func.func private @keys(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @values(
// CHECK:         rows = [d0, d1, d2], live = [arg2 ceildiv 32 * 32 of 128, 16], visited = [d1]>
func.func @main(%q: memref<128x16xf32>, %k: memref<128x16xf32>, %v: memref<128x16xf32>, %n: memref<i64> {lamina.kind = "input"}, %out: memref<128x16xf32> {lamina.kind = "output"}, %arena: memref<16896xi8>) attributes {lamina.entry} {
  %0 = arith.constant 16384 : index
  %1 = memref.view %arena[%0][] : memref<16896xi8> to memref<128xi1>
  func.call @mask(%n, %1) : (memref<i64>, memref<128xi1>) -> ()
  %2 = arith.constant 0 : index
  %3 = memref.view %arena[%2][] : memref<16896xi8> to memref<4x16x32xf32>
  func.call @keys(%1, %k, %3) : (memref<128xi1>, memref<128x16xf32>, memref<4x16x32xf32>) -> ()
  %4 = arith.constant 8192 : index
  %5 = memref.view %arena[%4][] : memref<16896xi8> to memref<1x128x16xf32>
  func.call @values(%1, %v, %5) : (memref<128xi1>, memref<128x16xf32>, memref<1x128x16xf32>) -> ()
  %8 = arith.constant 16640 : index
  %9 = memref.view %arena[%8][] : memref<16896xi8> to memref<i64>
  func.call @other(%3, %9) : (memref<4x16x32xf32>, memref<i64>) -> ()
  func.call @attention(%q, %3, %1, %5, %n, %out) : (memref<128x16xf32>, memref<4x16x32xf32>, memref<128xi1>, memref<1x128x16xf32>, memref<i64>, memref<128x16xf32>) -> ()
  func.return
}
func.func private @mask(%n: memref<i64>, %out: memref<128xi1>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [128] reads(%n[] : memref<i64>) writes([d0] store into %out : memref<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%0: i64):
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.cmpi slt, %2, %0 : i64
    loop.yield %3 : i1
  }
  func.return
}
func.func private @keys(%m: memref<128xi1>, %k: memref<128x16xf32>, %out: memref<4x16x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (d0, d1, d2) in [4, 16, 32] reads(%m[(d0 * 32) + d2] : memref<128xi1>, %k[(d0 * 32) + d2, d1] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<4x16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @values(%m: memref<128xi1>, %v: memref<128x16xf32>, %out: memref<1x128x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [2]>]} {
  loop.generic (d0, d1, d2) in [1, 128, 16] reads(%m[d1] : memref<128xi1>, %v[d1, (d0 * 16) + d2] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<1x128x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @attention(%q: memref<128x16xf32>, %k: memref<4x16x32xf32>, %m: memref<128xi1>, %v: memref<1x128x16xf32>, %n: memref<i64>, %out: memref<128x16xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 2, 4>, lamina.zeros = array<i64: 3, 1, 4>, lamina.schedule = [#loop.products<parallel, compute_at = block, block = 32>]} {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1, d2) in [128, 128, 16] reads(%q[d0, d2] : memref<128x16xf32>, %k[d1 floordiv 32, d2, d1 mod 32] : memref<4x16x32xf32>) writes([d0, d1] add into %0 : memref<128x128xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  %1 = memref.alloc() {alignment = 64 : i64} : memref<128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%m[d1] : memref<128xi1>, %0[d0, d1] : memref<128x128xf32>) writes([d0] max into %1 : memref<128xf32>) attributes {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%c: i1, %a: f32):
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    loop.yield %p : f32
  }
  %2 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%1[d0] : memref<128xf32>, %m[d1] : memref<128xi1>, %0[d0, d1] : memref<128x128xf32>) writes([d0, d1] store into %2 : memref<128x128xf32>) attributes {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%t: f32, %c: i1, %a: f32):
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    %s = arith.subf %p, %t : f32
    %e = math.exp %s : f32
    loop.yield %e : f32
  }
  loop.generic (d0, d1, d2) in [128, 16, 128] reads(%2[d0, d2] : memref<128x128xf32>, %v[d1 floordiv 16, d2, d1 mod 16] : memref<1x128x16xf32>) writes([d0, d1] add into %out : memref<128x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16, pack_at = call>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 1, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return
}
func.func private @other(%k: memref<4x16x32xf32>, %out: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  loop.generic (d0, d1, d2) in [4, 16, 32] reads(%k[d0, d1, d2] : memref<4x16x32xf32>) writes([] add into %out : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%0: f32):
    %1 = arith.fptosi %0 : f32 to i64
    loop.yield %1 : i64
  }
  func.return
}

// -----

// The number is made behind what packs.
// CHECK-LABEL: func.func private @keys(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @values(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @attention(
func.func @main(%q: memref<128x16xf32>, %k: memref<128x16xf32>, %v: memref<128x16xf32>, %n: memref<i64> {lamina.kind = "input"}, %out: memref<128x16xf32> {lamina.kind = "output"}, %arena: memref<16896xi8>) attributes {lamina.entry} {
  %0 = arith.constant 16384 : index
  %1 = memref.view %arena[%0][] : memref<16896xi8> to memref<128xi1>
  func.call @mask(%n, %1) : (memref<i64>, memref<128xi1>) -> ()
  %2 = arith.constant 0 : index
  %3 = memref.view %arena[%2][] : memref<16896xi8> to memref<4x16x32xf32>
  func.call @keys(%1, %k, %3) : (memref<128xi1>, memref<128x16xf32>, memref<4x16x32xf32>) -> ()
  %4 = arith.constant 8192 : index
  %5 = memref.view %arena[%4][] : memref<16896xi8> to memref<1x128x16xf32>
  func.call @values(%1, %v, %5) : (memref<128xi1>, memref<128x16xf32>, memref<1x128x16xf32>) -> ()
  %6 = arith.constant 16640 : index
  %7 = memref.view %arena[%6][] : memref<16896xi8> to memref<i64>
  func.call @number(%n, %7) : (memref<i64>, memref<i64>) -> ()
  func.call @attention(%q, %3, %1, %5, %7, %out) : (memref<128x16xf32>, memref<4x16x32xf32>, memref<128xi1>, memref<1x128x16xf32>, memref<i64>, memref<128x16xf32>) -> ()
  func.return
}
func.func private @mask(%n: memref<i64>, %out: memref<128xi1>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [128] reads(%n[] : memref<i64>) writes([d0] store into %out : memref<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%0: i64):
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.cmpi slt, %2, %0 : i64
    loop.yield %3 : i1
  }
  func.return
}
func.func private @keys(%m: memref<128xi1>, %k: memref<128x16xf32>, %out: memref<4x16x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (d0, d1, d2) in [4, 16, 32] reads(%m[(d0 * 32) + d2] : memref<128xi1>, %k[(d0 * 32) + d2, d1] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<4x16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @values(%m: memref<128xi1>, %v: memref<128x16xf32>, %out: memref<1x128x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [2]>]} {
  loop.generic (d0, d1, d2) in [1, 128, 16] reads(%m[d1] : memref<128xi1>, %v[d1, (d0 * 16) + d2] : memref<128x16xf32>) writes([d0, d1, d2] store into %out : memref<1x128x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @attention(%q: memref<128x16xf32>, %k: memref<4x16x32xf32>, %m: memref<128xi1>, %v: memref<1x128x16xf32>, %n: memref<i64>, %out: memref<128x16xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 2, 4>, lamina.zeros = array<i64: 3, 1, 4>, lamina.schedule = [#loop.products<parallel, compute_at = block, block = 32>]} {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1, d2) in [128, 128, 16] reads(%q[d0, d2] : memref<128x16xf32>, %k[d1 floordiv 32, d2, d1 mod 32] : memref<4x16x32xf32>) writes([d0, d1] add into %0 : memref<128x128xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  %1 = memref.alloc() {alignment = 64 : i64} : memref<128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%m[d1] : memref<128xi1>, %0[d0, d1] : memref<128x128xf32>) writes([d0] max into %1 : memref<128xf32>) attributes {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%c: i1, %a: f32):
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    loop.yield %p : f32
  }
  %2 = memref.alloc() {alignment = 64 : i64} : memref<128x128xf32>
  loop.generic (d0, d1) in [128, 128] reads(%1[d0] : memref<128xf32>, %m[d1] : memref<128xi1>, %0[d0, d1] : memref<128x128xf32>) writes([d0, d1] store into %2 : memref<128x128xf32>) attributes {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>} {
  ^bb0(%t: f32, %c: i1, %a: f32):
    %b = arith.constant 0xff800000 : f32
    %p = arith.select %c, %a, %b : f32
    %s = arith.subf %p, %t : f32
    %e = math.exp %s : f32
    loop.yield %e : f32
  }
  loop.generic (d0, d1, d2) in [128, 16, 128] reads(%2[d0, d2] : memref<128x128xf32>, %v[d1 floordiv 16, d2, d1 mod 16] : memref<1x128x16xf32>) writes([d0, d1] add into %out : memref<128x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16, pack_at = call>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>, lamina.nest = #loop.nest<rows = [d0], live = [arg4 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 1, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return
}
func.func private @number(%n: memref<i64>, %out: memref<i64>) attributes {lamina.kernel} {
  loop.generic () in [] reads(%n[] : memref<i64>) writes([] store into %out : memref<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%0: i64):
    loop.yield %0 : i64
  }
  func.return
}

// -----

// Columns end at the panel of a number, terms of both operands at another, in front of a reshape, too.
// CHECK-LABEL: func.func private @rows(
// CHECK:         rows = [d0, d1, d2], live = [2, 32, arg2 of 128], visited = [d2]>
// CHECK-LABEL: func.func private @columns(
// CHECK:         rows = [d0, d1, d2], live = [arg2 ceildiv 32 of 4, arg3 of 128, 32], visited = [d0, d1]>
// CHECK-LABEL: func.func private @product(
func.func @main(%x: memref<64x128xf32>, %w: memref<128x128xf32>, %k: memref<i64> {lamina.kind = "input"}, %n: memref<i64> {lamina.kind = "input"}, %out: memref<64x128xf32> {lamina.kind = "output"}, %arena: memref<98432xi8>) attributes {lamina.entry} {
  %0 = arith.constant 98304 : index
  %1 = memref.view %arena[%0][] : memref<98432xi8> to memref<128xi1>
  func.call @mask(%k, %1) : (memref<i64>, memref<128xi1>) -> ()
  %2 = arith.constant 0 : index
  %3 = memref.view %arena[%2][] : memref<98432xi8> to memref<2x32x128xf32>
  func.call @rows(%1, %x, %3) : (memref<128xi1>, memref<64x128xf32>, memref<2x32x128xf32>) -> ()
  %4 = loop.reshape %3 : memref<2x32x128xf32> -> memref<64x128xf32>
  %5 = arith.constant 32768 : index
  %6 = memref.view %arena[%5][] : memref<98432xi8> to memref<4x128x32xf32>
  func.call @columns(%1, %w, %6) : (memref<128xi1>, memref<128x128xf32>, memref<4x128x32xf32>) -> ()
  func.call @product(%4, %6, %n, %k, %out) : (memref<64x128xf32>, memref<4x128x32xf32>, memref<i64>, memref<i64>, memref<64x128xf32>) -> ()
  func.return
}
func.func private @mask(%n: memref<i64>, %out: memref<128xi1>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [128] reads(%n[] : memref<i64>) writes([d0] store into %out : memref<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%0: i64):
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.cmpi slt, %2, %0 : i64
    loop.yield %3 : i1
  }
  func.return
}
func.func private @rows(%m: memref<128xi1>, %x: memref<64x128xf32>, %out: memref<2x32x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1]>]} {
  loop.generic (d0, d1, d2) in [2, 32, 128] reads(%m[d2] : memref<128xi1>, %x[(d0 * 32) + d1, d2] : memref<64x128xf32>) writes([d0, d1, d2] store into %out : memref<2x32x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @columns(%m: memref<128xi1>, %w: memref<128x128xf32>, %out: memref<4x128x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (d0, d1, d2) in [4, 128, 32] reads(%m[d1] : memref<128xi1>, %w[(d0 * 32) + d2, d1] : memref<128x128xf32>) writes([d0, d1, d2] store into %out : memref<4x128x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @product(%x: memref<64x128xf32>, %w: memref<4x128x32xf32>, %n: memref<i64>, %k: memref<i64>, %out: memref<64x128xf32>) attributes {lamina.kernel, lamina.zeros = array<i64: 0, 1, 3, 1, 1, 3>, lamina.schedule = [#loop.products<parallel, block = 32>]} {
  loop.generic (d0, d1, d2) in [64, 128, 128] reads(%x[d0, d2] : memref<64x128xf32>, %w[d1 floordiv 32, d2, d1 mod 32] : memref<4x128x32xf32>) writes([d0, d1] add into %out : memref<64x128xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0, d1], live = [64, arg2 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return
}

// -----

// A sum that is taken in blocks ends there as well. So does the mask that both operands read.
// CHECK-LABEL: func.func private @mask(
// CHECK:         rows = [d0], live = [arg0 of 128], visited = [d0]>
// CHECK-LABEL: func.func private @rows(
// CHECK:         rows = [d0, d1, d2], live = [2, 32, arg2 of 128], visited = [d2]>
// CHECK-LABEL: func.func private @columns(
// CHECK:         rows = [d0, d1, d2], live = [arg2 ceildiv 32 of 4, arg3 of 128, 32], visited = [d0, d1]>
// CHECK-LABEL: func.func private @product(
func.func @main(%x: memref<64x128xf32>, %w: memref<128x128xf32>, %k: memref<i64> {lamina.kind = "input"}, %n: memref<i64> {lamina.kind = "input"}, %out: memref<64x128xf32> {lamina.kind = "output"}, %arena: memref<98432xi8>) attributes {lamina.entry} {
  %0 = arith.constant 98304 : index
  %1 = memref.view %arena[%0][] : memref<98432xi8> to memref<128xi1>
  func.call @mask(%k, %1) : (memref<i64>, memref<128xi1>) -> ()
  %2 = arith.constant 0 : index
  %3 = memref.view %arena[%2][] : memref<98432xi8> to memref<2x32x128xf32>
  func.call @rows(%1, %x, %3) : (memref<128xi1>, memref<64x128xf32>, memref<2x32x128xf32>) -> ()
  %4 = loop.reshape %3 : memref<2x32x128xf32> -> memref<64x128xf32>
  %5 = arith.constant 32768 : index
  %6 = memref.view %arena[%5][] : memref<98432xi8> to memref<4x128x32xf32>
  func.call @columns(%1, %w, %6) : (memref<128xi1>, memref<128x128xf32>, memref<4x128x32xf32>) -> ()
  func.call @product(%4, %6, %n, %k, %out) : (memref<64x128xf32>, memref<4x128x32xf32>, memref<i64>, memref<i64>, memref<64x128xf32>) -> ()
  func.return
}
func.func private @mask(%n: memref<i64>, %out: memref<128xi1>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [128] reads(%n[] : memref<i64>) writes([d0] store into %out : memref<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%0: i64):
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.cmpi slt, %2, %0 : i64
    loop.yield %3 : i1
  }
  func.return
}
func.func private @rows(%m: memref<128xi1>, %x: memref<64x128xf32>, %out: memref<2x32x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1]>]} {
  loop.generic (d0, d1, d2) in [2, 32, 128] reads(%m[d2] : memref<128xi1>, %x[(d0 * 32) + d1, d2] : memref<64x128xf32>) writes([d0, d1, d2] store into %out : memref<2x32x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @columns(%m: memref<128xi1>, %w: memref<128x128xf32>, %out: memref<4x128x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (d0, d1, d2) in [4, 128, 32] reads(%m[d1] : memref<128xi1>, %w[(d0 * 32) + d2, d1] : memref<128x128xf32>) writes([d0, d1, d2] store into %out : memref<4x128x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @product(%x: memref<64x128xf32>, %w: memref<4x128x32xf32>, %n: memref<i64>, %k: memref<i64>, %out: memref<64x128xf32>) attributes {lamina.kernel, lamina.zeros = array<i64: 0, 1, 3, 1, 1, 3>, lamina.schedule = [#loop.products<parallel, block = 32>]} {
  loop.generic (d0, d1, d2) in [64, 128, 128] reads(%x[d0, d2] : memref<64x128xf32>, %w[d1 floordiv 32, d2, d1 mod 32] : memref<4x128x32xf32>) writes([d0, d1] add into %out : memref<64x128xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0, d1], live = [64, arg2 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 4, tail = [3, 2, 1], terms = 64>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return
}

// -----

// Where one operand is not known to be 0, all terms are taken.
// CHECK-LABEL: func.func private @rows(
// CHECK-NOT:     live
// CHECK-LABEL: func.func private @columns(
// CHECK:         rows = [d0, d1, d2], live = [arg2 ceildiv 32 of 4, 128, 32], visited = [d0]>
// CHECK-LABEL: func.func private @product(
func.func @main(%x: memref<64x128xf32>, %w: memref<128x128xf32>, %k: memref<i64> {lamina.kind = "input"}, %n: memref<i64> {lamina.kind = "input"}, %out: memref<64x128xf32> {lamina.kind = "output"}, %arena: memref<98432xi8>) attributes {lamina.entry} {
  %0 = arith.constant 98304 : index
  %1 = memref.view %arena[%0][] : memref<98432xi8> to memref<128xi1>
  func.call @mask(%k, %1) : (memref<i64>, memref<128xi1>) -> ()
  %2 = arith.constant 0 : index
  %3 = memref.view %arena[%2][] : memref<98432xi8> to memref<2x32x128xf32>
  func.call @rows(%1, %x, %3) : (memref<128xi1>, memref<64x128xf32>, memref<2x32x128xf32>) -> ()
  %4 = loop.reshape %3 : memref<2x32x128xf32> -> memref<64x128xf32>
  %5 = arith.constant 32768 : index
  %6 = memref.view %arena[%5][] : memref<98432xi8> to memref<4x128x32xf32>
  func.call @columns(%1, %w, %6) : (memref<128xi1>, memref<128x128xf32>, memref<4x128x32xf32>) -> ()
  func.call @product(%4, %6, %n, %k, %out) : (memref<64x128xf32>, memref<4x128x32xf32>, memref<i64>, memref<i64>, memref<64x128xf32>) -> ()
  func.return
}
func.func private @mask(%n: memref<i64>, %out: memref<128xi1>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0]>]} {
  loop.generic (d0) in [128] reads(%n[] : memref<i64>) writes([d0] store into %out : memref<128xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%0: i64):
    %1 = loop.index 0 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.cmpi slt, %2, %0 : i64
    loop.yield %3 : i1
  }
  func.return
}
func.func private @rows(%m: memref<128xi1>, %x: memref<64x128xf32>, %out: memref<2x32x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1]>]} {
  loop.generic (d0, d1, d2) in [2, 32, 128] reads(%m[d2] : memref<128xi1>, %x[(d0 * 32) + d1, d2] : memref<64x128xf32>) writes([d0, d1, d2] store into %out : memref<2x32x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @columns(%m: memref<128xi1>, %w: memref<128x128xf32>, %out: memref<4x128x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]} {
  loop.generic (d0, d1, d2) in [4, 128, 32] reads(%m[d1] : memref<128xi1>, %w[(d0 * 32) + d2, d1] : memref<128x128xf32>) writes([d0, d1, d2] store into %out : memref<4x128x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, transpose = d1>} {
  ^bb0(%0: i1, %1: f32):
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.select %0, %1, %2 : f32
    loop.yield %3 : f32
  }
  func.return
}
func.func private @product(%x: memref<64x128xf32>, %w: memref<4x128x32xf32>, %n: memref<i64>, %k: memref<i64>, %out: memref<64x128xf32>) attributes {lamina.kernel, lamina.zeros = array<i64: 0, 1, 3>, lamina.schedule = [#loop.products<parallel, block = 32>]} {
  loop.generic (d0, d1, d2) in [64, 128, 128] reads(%x[d0, d2] : memref<64x128xf32>, %w[d1 floordiv 32, d2, d1 mod 32] : memref<4x128x32xf32>) writes([d0, d1] add into %out : memref<64x128xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0, d1], live = [64, arg2 of 128]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 4, tail = [3, 2, 1]>} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return
}
