// RUN: lamina-opt %s -p canonicalize-loop --split-input-file | filecheck %s

// A constant nest moves into the body that reads it, and a square is a product.
func.func @square(%x: tensor<8xf32>) -> tensor<8xf32> {
  %two = loop.generic (d0) in [8] writes([d0] store : tensor<8xf32>) {
    %c = arith.constant 2.0 : f32
    loop.yield %c : f32
  }
  %y = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>, %two[d0] : tensor<8xf32>)
      writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32, %e: f32):
    %v = math.powf %p, %e : f32
    loop.yield %v : f32
  }
  func.return %y : tensor<8xf32>
}
// CHECK-LABEL: func.func @square
// CHECK-NEXT: %y = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes
// CHECK-NEXT: ^bb0(%p: f32):
// CHECK-NEXT: %[[V:.*]] = arith.mulf %p, %p : f32
// CHECK-NEXT: loop.yield %[[V]] : f32

// -----

// Any other exponent stays a power: no product of it is exact.
func.func @power(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = loop.generic (d0) in [8] writes([d0] store : tensor<8xf32>) {
    %c = arith.constant 2.5 : f32
    loop.yield %c : f32
  }
  %y = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>, %e[d0] : tensor<8xf32>)
      writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = math.powf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %y : tensor<8xf32>
}
// CHECK-LABEL: func.func @power
// CHECK: math.powf

// -----

// A padded read of a constant keeps its edges: the constant is not folded.
func.func @padded() -> tensor<10xf32> {
  %one = loop.generic (d0) in [8] writes([d0] store : tensor<8xf32>) {
    %c = arith.constant 1.0 : f32
    loop.yield %c : f32
  }
  %y = loop.generic (d0) in [10] reads(%one[d0 - 1] pad 0.0 : f32 : tensor<8xf32>)
      writes([d0] store : tensor<10xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %y : tensor<10xf32>
}
// CHECK-LABEL: func.func @padded
// CHECK: loop.generic (d0) in [8]
// CHECK: loop.generic (d0) in [10] reads(%{{.*}}[d0 + -1] pad 0.000000e+00

// -----

// What nobody reads goes, with what only it reads; an identity reshape goes too.
func.func @dead(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %b = loop.reshape %a : tensor<8xf32> -> tensor<2x4xf32>
  %c = loop.reshape %x : tensor<8xf32> -> tensor<8xf32>
  func.return %c : tensor<8xf32>
}
// CHECK-LABEL: func.func @dead
// CHECK-NEXT: func.return %x : tensor<8xf32>

// -----

// Identities that hold bit for bit go, at any depth of the body; so do reads that are left unused.
func.func @identities(%x: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %y = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>, %z[d0] : tensor<8xf32>)
      writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32, %q: f32):
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %minus = arith.constant -0.0 : f32
    %no = arith.constant false
    %a = arith.mulf %one, %p : f32
    %b = arith.subf %a, %zero : f32
    %c = arith.addf %b, %minus : f32
    %d = arith.divf %c, %one : f32
    %e = arith.select %no, %q, %d : f32
    %f = math.exp %e : f32
    loop.yield %f : f32
  }
  func.return %y : tensor<8xf32>
}
// CHECK-LABEL: func.func @identities
// CHECK-NEXT: %y = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes
// CHECK-NEXT: ^bb0(%p: f32):
// CHECK-NEXT: %[[F:.*]] = math.exp %p : f32
// CHECK-NEXT: loop.yield %[[F]] : f32

// -----

// -0.0 + 0.0 is 0.0, and x - x is NaN for infinities: these stay.
func.func @not_identities(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %zero = arith.constant 0.0 : f32
    %a = arith.addf %p, %zero : f32
    %b = arith.subf %a, %a : f32
    %c = arith.mulf %b, %zero : f32
    loop.yield %c : f32
  }
  func.return %y : tensor<8xf32>
}
// CHECK-LABEL: func.func @not_identities
// CHECK: arith.addf
// CHECK: arith.subf
// CHECK: arith.mulf

// -----

// Constants are folded, equal ops merged; a division by a power of two is an exact product, by
// another number it is not.
func.func @fold(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y, %z = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>)
      writes([d0] store : tensor<8xf32>, [d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %two = arith.constant 2 : i64
    %four = arith.muli %two, %two : i64
    %f = arith.sitofp %four : i64 to f32
    %a = arith.divf %p, %f : f32
    %b = arith.divf %p, %f : f32
    %three = arith.constant 3.0 : f32
    %c = arith.divf %p, %three : f32
    %d = arith.addf %a, %b : f32
    loop.yield %d, %c : f32, f32
  }
  func.return %y, %z : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @fold
// CHECK-NEXT: loop.generic
// CHECK-NEXT: ^bb0(%p: f32):
// CHECK-NEXT: %[[Q:.*]] = arith.constant 2.500000e-01 : f32
// CHECK-NEXT: %[[A:.*]] = arith.mulf %p, %[[Q]] : f32
// CHECK-NEXT: %[[T:.*]] = arith.constant 3.000000e+00 : f32
// CHECK-NEXT: %[[C:.*]] = arith.divf %p, %[[T]] : f32
// CHECK-NEXT: %[[D:.*]] = arith.addf %[[A]], %[[A]] : f32
// CHECK-NEXT: loop.yield %[[D]], %[[C]] : f32, f32

// -----

// A value narrowed after it was widened is itself; narrowing first loses bits.
func.func @casts(%x: tensor<8xf16>, %z: tensor<8xf32>) -> (tensor<8xf16>, tensor<8xf32>) {
  %y, %w = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf16>, %z[d0] : tensor<8xf32>)
      writes([d0] store : tensor<8xf16>, [d0] store : tensor<8xf32>) {
  ^bb0(%p: f16, %q: f32):
    %a = arith.extf %p : f16 to f32
    %b = arith.truncf %a : f32 to f16
    %c = arith.truncf %q : f32 to f16
    %d = arith.extf %c : f16 to f32
    loop.yield %b, %d : f16, f32
  }
  func.return %y, %w : tensor<8xf16>, tensor<8xf32>
}
// CHECK-LABEL: func.func @casts
// CHECK: ^bb0(%p: f16, %q: f32):
// CHECK-NEXT: %[[C:.*]] = arith.truncf %q : f32 to f16
// CHECK-NEXT: %[[D:.*]] = arith.extf %[[C]] : f16 to f32
// CHECK-NEXT: loop.yield %p, %[[D]] : f16, f32

// -----

// A copy that changes nothing goes, unless it gives a returned value its own place.
func.func @copies(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %b = loop.generic (d0) in [8] reads(%a[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %c = loop.generic (d0) in [8] reads(%x[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %b, %c : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @copies
// CHECK-NEXT: %b = loop.generic (d0) in [8] reads(%x[d0]
// CHECK: %c = loop.generic (d0) in [8] reads(%x[d0]
// CHECK: func.return %b, %c

// -----

// A store that nobody reads goes, with what was computed for it alone.
func.func @unread_store(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %a, %b = loop.generic (i) in [8] reads(%x[i] : tensor<8xf32>, %y[i] : tensor<8xf32>) writes([i] store : tensor<8xf32>, [i] store : tensor<8xf32>) {
  ^bb0(%p: f32, %q: f32):
    %e = math.exp %p : f32
    %s = math.sqrt %q : f32
    loop.yield %e, %s : f32, f32
  }
  func.return %b : tensor<8xf32>
}
// CHECK-LABEL: @unread_store
// CHECK-NEXT:    [[B:%\S+]] = loop.generic (d0) in [8] reads(%y[d0] : tensor<8xf32>) writes([d0] store : tensor<8xf32>) {
// CHECK-NEXT:    ^bb0([[Q:%\S+]]: f32):
// CHECK-NEXT:    [[S:%\S+]] = math.sqrt [[Q]]
// CHECK-NEXT:    loop.yield [[S]] : f32
// CHECK:         func.return [[B]]

// -----

// There are no constants of unsigned types: what would be one stays a conversion.
func.func @unsigned() -> tensor<8xui8> {
  %a = loop.generic (i) in [8] writes([i] store : tensor<8xui8>) {
    %t = arith.constant true
    %w = arith.extui %t : i1 to ui8
    loop.yield %w : ui8
  }
  func.return %a : tensor<8xui8>
}
// CHECK-LABEL: @unsigned
// CHECK:         arith.extui {{%\S+}} : i1 to ui8

// -----

// What is read of an empty tensor is its padding.
func.func @empty(%x: tensor<0x17xf32>, %y: tensor<2x19xf32>) -> tensor<2x19xf32> {
  %a = loop.generic (i, j) in [2, 19] reads(%x[i - 1, j - 1] pad 0.5 : f32 : tensor<0x17xf32>, %y[i, j] : tensor<2x19xf32>) writes([i, j] store : tensor<2x19xf32>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.mulf %p, %q : f32
    loop.yield %s : f32
  }
  func.return %a : tensor<2x19xf32>
}
// CHECK-LABEL: @empty
// CHECK-NEXT:    loop.generic (d0, d1) in [2, 19] reads(%y[d0, d1] : tensor<2x19xf32>) writes
// CHECK:         [[HALF:%\S+]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:    arith.mulf [[HALF]], {{%\S+}}

// -----

// What a kernel gives back is made in it: a copy of its argument stays.
// CHECK-LABEL: func.func @kernel_that_copies
// CHECK: loop.kernel
// CHECK: %[[copy:.*]] = loop.generic
// CHECK: loop.return %[[copy]]
func.func @kernel_that_copies(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loop.kernel(%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %1 = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    loop.return %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// -----

// In regions that are no functions as well, and where sizes are open.
// CHECK-LABEL: @open_regions
// CHECK:         control.cond
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      loop.generic
// CHECK-NEXT:      ^bb0
// CHECK-NEXT:        arith.constant 4.000000e+00 : f32
// CHECK-NEXT:        arith.mulf
func.func @open_regions(%p: tensor<i1>, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = control.cond if(%p) with(%x, %n) : (tensor<i1>, tensor<?xf32>, index) -> tensor<?xf32> then {
  ^bb0(%a: tensor<?xf32>, %m: index):
    %s = loop.generic (d0)[s0 = %m] in [s0] reads(%a[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
    ^bb0(%v: f32):
      %0 = arith.constant 2.0 : f32
      %1 = arith.addf %0, %0 : f32
      %2 = arith.mulf %v, %1 : f32
      loop.yield %2 : f32
    }
    %t = loop.generic (d0)[s0 = %m] in [s0] reads(%a[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
    ^bb0(%v: f32):
      %0 = arith.constant 2.0 : f32
      %1 = arith.addf %0, %0 : f32
      %2 = arith.mulf %v, %1 : f32
      loop.yield %2 : f32
    }
    %u = loop.generic (d0)[s0 = %m] in [s0] reads(%s[d0] : tensor<?xf32>, %t[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
    ^bb0(%v: f32, %w: f32):
      %2 = arith.mulf %v, %w : f32
      loop.yield %2 : f32
    }
    control.yield %u : tensor<?xf32>
  } else {
  ^bb0(%b: tensor<?xf32>, %m: index):
    control.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
