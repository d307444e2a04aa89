// RUN: lamina-opt %s -p 'bufferize,choose-schedule{target="x86-64-v4;cores=2;l2_bytes=2097152"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'bufferize,choose-schedule{target="x86-64-v4;cores=2;l2_bytes=1048576"}' --split-input-file | filecheck %s --check-prefix=SMALL

// Each block of whole rows reads all panels: two cores have one each, of up to 128 rows.
func.func private @rows(%a: tensor<197x768xf32>, %b: tensor<16x768x48xf32>) -> tensor<197x768xf32> attributes {lamina.kernel} {
  %p = loop.generic (m, n, k) in [197, 768, 768] reads(%a[m, k] : tensor<197x768xf32>, %b[n floordiv 48, k, n mod 48] : tensor<16x768x48xf32>) writes([m, n] add : tensor<197x768xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 48>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (m, n) in [197, 768] reads(%p[m, n] : tensor<197x768xf32>) writes([m] max : tensor<197xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %r = loop.generic (m, n) in [197, 768] reads(%p[m, n] : tensor<197x768xf32>, %q[m] : tensor<197xf32>) writes([m, n] store : tensor<197x768xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.subf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<197x768xf32>
}
// CHECK-LABEL: @rows
// CHECK-SAME:    block = 99>

// -----

// What is kept of a block has half of the second-level cache.
func.func private @wide(%a: tensor<128x768xf32>, %b: tensor<48x768x48xf32>) -> tensor<128x2304xf32> attributes {lamina.kernel} {
  %p = loop.generic (m, n, k) in [128, 2304, 768] reads(%a[m, k] : tensor<128x768xf32>, %b[n floordiv 48, k, n mod 48] : tensor<48x768x48xf32>) writes([m, n] add : tensor<128x2304xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 48>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (m, n) in [128, 2304] reads(%p[m, n] : tensor<128x2304xf32>) writes([m] max : tensor<128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %r = loop.generic (m, n) in [128, 2304] reads(%p[m, n] : tensor<128x2304xf32>, %q[m] : tensor<128xf32>) writes([m, n] store : tensor<128x2304xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.subf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<128x2304xf32>
}
// CHECK-LABEL: @wide
// CHECK-SAME:    block = 64>
// SMALL-LABEL: @wide
// SMALL-SAME:    block = 32>

// -----

// Sums of long rows are taken in blocks, and wait in scratch: a panel of 3,072 terms leaves no room for rows.
func.func private @long(%a: tensor<197x3072xf32>, %b: tensor<16x3072x48xf32>) -> tensor<197x768xf32> attributes {lamina.kernel} {
  %p = loop.generic (m, n, k) in [197, 768, 3072] reads(%a[m, k] : tensor<197x3072xf32>, %b[n floordiv 48, k, n mod 48] : tensor<16x3072x48xf32>) writes([m, n] add : tensor<197x768xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 48>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (m, n) in [197, 768] reads(%p[m, n] : tensor<197x768xf32>) writes([m] max : tensor<197xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %r = loop.generic (m, n) in [197, 768] reads(%p[m, n] : tensor<197x768xf32>, %q[m] : tensor<197xf32>) writes([m, n] store : tensor<197x768xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.subf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<197x768xf32>
}
// CHECK-LABEL: @long
// CHECK-SAME:    block = 99>
// CHECK:         terms = 164, cache_read = [0]

// -----

// Sums of so many columns find no room beside what is kept.
func.func private @long_and_wide(%a: tensor<128x4096xf32>, %b: tensor<64x4096x48xf32>) -> tensor<128x3072xf32> attributes {lamina.kernel} {
  %p = loop.generic (m, n, k) in [128, 3072, 4096] reads(%a[m, k] : tensor<128x4096xf32>, %b[n floordiv 48, k, n mod 48] : tensor<64x4096x48xf32>) writes([m, n] add : tensor<128x3072xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 48>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %q = loop.generic (m, n) in [128, 3072] reads(%p[m, n] : tensor<128x3072xf32>) writes([m] max : tensor<128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %r = loop.generic (m, n) in [128, 3072] reads(%p[m, n] : tensor<128x3072xf32>, %q[m] : tensor<128xf32>) writes([m, n] store : tensor<128x3072xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.subf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<128x3072xf32>
}
// CHECK-LABEL: @long_and_wide
// CHECK-SAME:    block = 32>
// CHECK-NOT:     terms =
