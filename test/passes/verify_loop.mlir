// RUN: lamina-opt %s -p verify-loop --split-input-file --verify-diagnostics | filecheck %s

// What the layer allows passes and comes out unchanged.
func.func @allowed(%x: tensor<4x6xf32>) -> tensor<24xf32> {
  %a = loop.generic (d0, d1) in [4, 6] reads(%x[d0, d1] : tensor<4x6xf32>)
      writes([d0, d1] store : tensor<4x6xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  %r = loop.reshape %a : tensor<4x6xf32> -> tensor<24xf32>
  func.return %r : tensor<24xf32>
}
// CHECK-LABEL: func.func @allowed
// CHECK: loop.generic
// CHECK: loop.reshape

// -----

// An op of a higher layer is named.
func.func @higher_layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = prims.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
// CHECK: prims.exp: is not an op of the loop layer

// -----

// A nest computes what has a size of its own.
func.func @sizes(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = loop.generic (d0)[s0 = %n] in [s0] reads(%x[-d0 + s0 - 1] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.generic (d0)[s0 = %n] in [s0] reads(%x[((d0 * -1) + s0) + -1] : tensor<?xf32>) writes([d0] store : tensor<?xf32>)

// -----

// It may not leave a tensor, whatever its sizes are.
func.func @beyond(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = loop.generic (d0)[s0 = %n] in [s0] reads(%x[d0 + 1] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.generic: index 0 of read 0 runs over [1, n] but the extent there is n; pad the read or shrink the domain

// -----

// Nor where its domain has numbers only.
func.func @beyond_known(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [3, ?]>]}) -> tensor<4xf32> {
  %r = loop.generic (d0) in [4] reads(%x[d0] : tensor<?xf32>) writes([d0] store : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK: loop.generic: whether its accesses stay inside is open: whether n <= 3 is not known

// -----

// Two sizes are different ones, unless they have one name.
func.func @unequal(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<m>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = loop.generic (d0)[s0 = %n] in [s0] reads(%x[d0] : tensor<?xf32>, %y[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
  ^bb0(%v: f32, %w: f32):
    %s = arith.addf %v, %w : f32
    loop.yield %s : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.generic: whether its accesses stay inside is open: whether n - 1 < m is not known; sizes are equal where lamina.dims of arguments gives them one name

// -----

// A result is written whole, and where its type says what it has, to the end.
func.func @declared(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = loop.generic (d0)[s0 = %n] in [s0] reads(%x[d0] : tensor<?xf32>) writes([d0] store : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK: loop.generic: its result has shape [n], not that of tensor<4xf32>

// -----

// Sizes are those of arguments.
func.func @free(%k: tensor<4xf32>, %x: tensor<?xf32>, %i: index) -> tensor<?xf32> {
  %r = loop.generic (d0)[s0 = %i] in [s0] reads(%x[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.generic: a size of it does not follow from those of the function's arguments

// -----

// Nor may a scan.
func.func @scan_beyond(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = loop.scan (d0)[s0 = %n] in [s0] along 0 reads(%x[d0 + 1] : tensor<?xf32>) carries(0.0 : f32) gives(tensor<?xf32>) {
  ^bb0(%v: f32, %c: f32):
    loop.yield %v, %v : f32, f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.scan: index 0 of read 0 runs over [1, n] but the extent there is n; pad the read or shrink the domain

// -----

// Its results have the shape of its domain.
func.func @scan_declared(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = loop.scan (d0)[s0 = %n] in [s0] along 0 reads(%x[d0] : tensor<?xf32>) carries(0.0 : f32) gives(tensor<4xf32>) {
  ^bb0(%v: f32, %c: f32):
    loop.yield %v, %v : f32, f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK: loop.scan: its result has shape [n], not that of tensor<4xf32>

// -----

// Rows are sorted however many, and however long, they are.
func.func @sort(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n>, #lamina.size<m>]}) -> tensor<?x?xf32> {
  %r, %i, %v, %j = loop.sort %x : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi64>, tensor<?x?xf32>, tensor<?x?xi64>
  func.return %r : tensor<?x?xf32>
}
// CHECK: loop.sort %x : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi64>, tensor<?x?xf32>, tensor<?x?xi64>

// -----

// No more is taken of them than there is, whatever the sizes are.
func.func @taken(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<k in [1, 8]>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %k = tensor.dim %y, %c0 : tensor<?xf32>
  %r, %i, %v, %j = loop.sort %x[%k] {taken = array<i64: 0, -1>} : tensor<?xf32> -> tensor<?xf32>, tensor<?xi64>, tensor<?xf32>, tensor<?xi64>
  func.return %r : tensor<?xf32>
}
// CHECK: loop.sort: whether its accesses stay inside is open: whether k <= n is not known

// -----

// The middle one of an odd or even number is one of them.
func.func @middle(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, ?]>]}) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %l = arith.subi %n, %c1 : index
  %k = arith.floordivsi %l, %c2 : index
  %r, %i, %v, %j = loop.sort %x[%k] {taken = array<i64: -1, 1>} : tensor<?xf32> -> tensor<1xf32>, tensor<1xi64>, tensor<?xf32>, tensor<?xi64>
  func.return %r : tensor<1xf32>
}
// CHECK: loop.sort %x[%k] {taken = array<i64: -1, 1>} : tensor<?xf32> -> tensor<1xf32>, tensor<1xi64>, tensor<?xf32>, tensor<?xi64>

// -----

// Not so of none.
func.func @middle_of_none(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %l = arith.subi %n, %c1 : index
  %k = arith.floordivsi %l, %c2 : index
  %r, %i, %v, %j = loop.sort %x[%k] {taken = array<i64: -1, 1>} : tensor<?xf32> -> tensor<1xf32>, tensor<1xi64>, tensor<?xf32>, tensor<?xi64>
  func.return %r : tensor<1xf32>
}
// CHECK: loop.sort: whether its accesses stay inside is open: whether ((n - 1) floordiv 2) < 0 is not known

// -----

// What a scatter reads lies inside; where it writes is checked when it does.
func.func @scatter(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}, %t: tensor<?xf32> {lamina.dims = [#lamina.size<m>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = loop.scatter (d0)[s0 = %n] in [s0] reads(%x[d0] : tensor<?xf32>) into(%t : tensor<?xf32>) {
  ^bb0(%v: f32, %old: f32):
    %i = loop.index 0 : index
    loop.yield %i, %v : index, f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.scatter (d0)[s0 = %n] in [s0] reads(%x[d0] : tensor<?xf32>) into(%t : tensor<?xf32>)

// -----

func.func @scatter_beyond(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}, %t: tensor<?xf32> {lamina.dims = [#lamina.size<m>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %t, %c0 : tensor<?xf32>
  %r = loop.scatter (d0)[s0 = %m] in [s0] reads(%x[d0] : tensor<?xf32>) into(%t : tensor<?xf32>) {
  ^bb0(%v: f32, %old: f32):
    %i = loop.index 0 : index
    loop.yield %i, %v : index, f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.scatter: whether its accesses stay inside is open: whether m - 1 < n is not known; sizes are equal where lamina.dims of arguments gives them one name

// -----

// Segments have one offset more than there are.
func.func @segments(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}, %o: tensor<?xi64> {lamina.dims = [#lamina.size<s + 1>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = tensor.dim %o, %c0 : tensor<?xi64>
  %s = arith.subi %m, %c1 : index
  %r = loop.segment_reduce (d0, d1)[s0 = %s, s1 = %n] in [s0, s1] offsets(%o : tensor<?xi64>)
      reads(%x[d1] : tensor<?xf32>) carries(0.0 : f32) gives(tensor<?xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = arith.addf %sum, %v : f32
    loop.yield %next : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.segment_reduce (d0, d1)[s0 = %s, s1 = %n] in [s0, s1]

// -----

func.func @offsets(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}, %o: tensor<?xi64> {lamina.dims = [#lamina.size<s>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %s = tensor.dim %o, %c0 : tensor<?xi64>
  %r = loop.segment_reduce (d0, d1)[s0 = %s, s1 = %n] in [s0, s1] offsets(%o : tensor<?xi64>)
      reads(%x[d1] : tensor<?xf32>) carries(0.0 : f32) gives(tensor<?xf32>) {
  ^bb0(%v: f32, %sum: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.segment_reduce: s segments have s + 1 offsets, not s

// -----

// A transform has as many rows as its operand.
func.func @transform(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n>]}, %t: tensor<8x2xf32>) -> tensor<4x5x2xf32> {
  %y = loop.fourier %x by %t {kind = "r2c", scale = 1.0 : f64} : tensor<?x8xf32>, tensor<8x2xf32> -> tensor<?x5x2xf32>
  %r = loop.reshape %y : tensor<?x5x2xf32> -> tensor<4x5x2xf32>
  func.return %r : tensor<4x5x2xf32>
}
// CHECK: loop.reshape: may not change the element count: tensor<nx5x2xf32> to tensor<4x5x2xf32>

// -----

// A call says itself what it makes, of sizes that follow from arguments'.
func.func @call(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}, %i: index) -> tensor<?xf32> {
  %r = loop.extern "mine.f" {} (%x : tensor<?xf32>) sizes [%i] : tensor<?xf32>
  func.return %r : tensor<?xf32>
}
// CHECK: loop.extern: a size of it does not follow from those of the function's arguments

// -----

// Complex numbers go in and out of calls, not of nests.
func.func @complex_nest(%x: tensor<?xcomplex<f32>> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xcomplex<f32>> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xcomplex<f32>>
  %y = loop.extern "mine.f" {} (%x : tensor<?xcomplex<f32>>) sizes [%n] : tensor<?xcomplex<f32>>
  %r = loop.generic (d0)[s0 = %n] in [s0] reads(%y[d0] : tensor<?xcomplex<f32>>) writes([d0] store : tensor<?xcomplex<f32>>) {
  ^bb0(%v: complex<f32>):
    loop.yield %v : complex<f32>
  }
  func.return %r : tensor<?xcomplex<f32>>
}
// CHECK: tensor<?xcomplex<f32>> has elements that no code is made for

// -----

// Sizes go into branches and loops as operands.
func.func @branches(%p: tensor<i1>, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = control.cond if(%p) with(%x, %n) : (tensor<i1>, tensor<?xf32>, index) -> tensor<?xf32> then {
  ^bb0(%a: tensor<?xf32>, %m: index):
    %s = loop.generic (d0)[s0 = %m] in [s0] reads(%a[d0] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    control.yield %s : tensor<?xf32>
  } else {
  ^bb0(%b: tensor<?xf32>, %m: index):
    control.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
// CHECK: control.cond if(%p) with(%x, %n)

// -----

// Nests in them stay inside of tensors, too.
func.func @beyond_in_branch(%p: tensor<i1>, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = control.cond if(%p) with(%x, %n) : (tensor<i1>, tensor<?xf32>, index) -> tensor<?xf32> then {
  ^bb0(%a: tensor<?xf32>, %m: index):
    %s = loop.generic (d0)[s0 = %m] in [s0] reads(%a[d0 + 1] : tensor<?xf32>) writes([d0] store : tensor<?xf32>) {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    control.yield %s : tensor<?xf32>
  } else {
  ^bb0(%b: tensor<?xf32>, %m: index):
    control.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
// CHECK: loop.generic: index 0 of read 0 runs over [1, n] but the extent there is n; pad the read or shrink the domain

// -----

// What branches give has one size.
func.func @other_sizes(%p: tensor<i1>, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<m>]}) -> tensor<?xf32> {
  %r = control.cond if(%p) with(%x, %y) : (tensor<i1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> then {
  ^bb0(%a: tensor<?xf32>, %b: tensor<?xf32>):
    control.yield %a : tensor<?xf32>
  } else {
  ^bb0(%a: tensor<?xf32>, %b: tensor<?xf32>):
    control.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
// CHECK: control.cond: sizes of what it gives do not follow from those of arguments

// -----

// Numbers of rounds are tensors.
func.func @number(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : i64
  %r, %i = control.while from(%x, %c0) : (tensor<?xf32>, i64) -> (tensor<?xf32>, i64) test {
  ^bb0(%a: tensor<?xf32>, %k: i64):
    %q = loop.generic () in [] writes([] store : tensor<i1>) {
      %f = arith.constant false
      loop.yield %f : i1
    }
    control.yield %q : tensor<i1>
  } do {
  ^bb0(%a: tensor<?xf32>, %k: i64):
    control.yield %a, %k : tensor<?xf32>, i64
  }
  func.return %r : tensor<?xf32>
}
// CHECK: control.while: carries a number

// -----

// As many values as there are dimensions that are open.
func.func @reshape(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = loop.reshape %x : tensor<?xf32> -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
// CHECK: loop.reshape has 0 sizes for the 1 dimensions that tensor<?xf32> leaves open

// -----

// A value stands below its definition.
func.func @dominance(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = loop.reshape %a : tensor<2x2xf32> -> tensor<4xf32>
  %a = loop.reshape %x : tensor<4xf32> -> tensor<2x2xf32>
  func.return %b : tensor<4xf32>
}
// CHECK: loop.reshape: operand 0 %a is used before loop.reshape defines it

// -----

// Combiners compare signed numbers.
func.func @unsigned(%x: tensor<4xui8>) -> tensor<ui8> {
  %a = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xui8>) writes([] max : tensor<ui8>) {
  ^bb0(%p: ui8):
    loop.yield %p : ui8
  }
  func.return %a : tensor<ui8>
}
// CHECK: loop.generic: combiner 'max' compares signed numbers, not ui8

// -----

// Nests compute with real numbers.
func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %y = loop.generic (i) in [4] reads(%x[i] : tensor<4xcomplex<f32>>) writes([i] store : tensor<4xcomplex<f32>>) {
  ^bb0(%p: complex<f32>):
    loop.yield %p : complex<f32>
  }
  func.return %y : tensor<4xcomplex<f32>>
}
// CHECK: tensor<4xcomplex<f32>> has complex elements, which loop nests do not compute

// -----

// Their parts are a free view.
func.func @parts(%x: tensor<4xcomplex<f32>>) -> tensor<4x2xf32> {
  %a = loop.reshape %x : tensor<4xcomplex<f32>> -> tensor<4x2xf32>
  func.return %a : tensor<4x2xf32>
}
// CHECK: func.func @parts

// -----

// Memory comes with bufferize.
func.func @memory(%x: memref<4xf32>) {
  func.return
}
// CHECK: func.func: memref<4xf32> is not a tensor of static shape

// -----

// Elements that no code is made for are refused here, whatever the bodies do with them.
func.func @odd_integers(%x: tensor<4xi128>) -> tensor<4xi128> {
  func.return %x : tensor<4xi128>
}
// CHECK: func.func: tensor<4xi128> has elements that no code is made for, only: f32, f64, f16

// -----

func.func @wide_numbers(%x: tensor<4xi64>) -> tensor<4xi64> {
  %a = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xi64>) writes([d0] store : tensor<4xi64>) {
  ^bb0(%p: i64):
    %q = arith.extsi %p : i64 to i128
    loop.yield %p : i64
  }
  func.return %a : tensor<4xi64>
}
// CHECK: arith.extsi: no code is made for numbers of i128

// -----

// Nor is a domain walked that takes days, or memory asked for that nobody has.
func.func @endless(%x: tensor<1xf32>) -> tensor<1xf32> {
  %a = loop.generic (d0, d1) in [1, 4000000000000000] reads(%x[d0] : tensor<1xf32>) writes([d0] add : tensor<1xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %a : tensor<1xf32>
}
// CHECK: loop.generic: a domain of 4000000000000000 points takes days to walk, the most are 2^50

// -----

func.func @too_large(%x: tensor<3000000000x3000000000xf32>) -> tensor<4xf32> {
  %a = loop.extern "mine.f" {} (%x : tensor<3000000000x3000000000xf32>) : tensor<4xf32>
  func.return %a : tensor<4xf32>
}
// CHECK: has more elements than memory can hold, 2^59

// -----

func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
// CHECK: func.func: @declared is declared without a body

// -----

func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
^bb1(%y: tensor<4xf32>):
  func.return %y : tensor<4xf32>
}
// CHECK: func.func: @blocks has 2 blocks; a program branches by ops with regions
