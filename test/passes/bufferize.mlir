// RUN: lamina-opt %s -p bufferize --split-input-file | filecheck %s

// Results become trailing arguments; what goes from kernel to kernel is allocated by the entry, what
// stays inside a kernel by the kernel.
func.func @main(%x: tensor<16x40xf32> {lamina.kind = "input", lamina.name = "x"}) -> (tensor<16xf32> {lamina.name = "y"}) {
  %a = func.call @kernel_0(%x) : (tensor<16x40xf32>) -> tensor<16x40xf32>
  %b = func.call @kernel_1(%a) : (tensor<16x40xf32>) -> tensor<16xf32>
  func.return %b : tensor<16xf32>
}
func.func private @kernel_0(%p: tensor<16x40xf32>) -> tensor<16x40xf32> attributes {lamina.kernel} {
  %e = loop.generic (i, j) in [16, 40] reads(%p[i, j] : tensor<16x40xf32>) writes([i, j] store : tensor<16x40xf32>) attributes {lamina.op = "exp"} {
  ^bb0(%v: f32):
    %u = math.exp %v : f32
    loop.yield %u : f32
  }
  func.return %e : tensor<16x40xf32>
}
func.func private @kernel_1(%p: tensor<16x40xf32>) -> tensor<16xf32> attributes {lamina.kernel} {
  %m = loop.generic (i, j) in [16, 40] reads(%p[i, j] : tensor<16x40xf32>) writes([i, j] store : tensor<16x40xf32>) {
  ^bb0(%v: f32):
    %u = arith.mulf %v, %v : f32
    loop.yield %u : f32
  }
  %s = loop.generic (i, j) in [16, 40] reads(%m[i, j] : tensor<16x40xf32>) writes([i] add : tensor<16xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %s : tensor<16xf32>
}
// CHECK:         func.func @main(%x: memref<16x40xf32> {lamina.kind = "input", lamina.name = "x"},
// CHECK-SAME:    [[OUT:%\S+]]: memref<16xf32> {lamina.name = "y", lamina.kind = "output"}) attributes {lamina.entry}
// CHECK-NEXT:    [[A:%\S+]] = memref.alloc() {alignment = 64 : i64} : memref<16x40xf32>
// CHECK-NEXT:    func.call @kernel_0(%x, [[A]]) : (memref<16x40xf32>, memref<16x40xf32>) -> ()
// CHECK-NEXT:    func.call @kernel_1([[A]], [[OUT]]) : (memref<16x40xf32>, memref<16xf32>) -> ()
// CHECK-NEXT:    func.return
// CHECK-NEXT:    }
// CHECK:         func.func private @kernel_0([[P:%\S+]]: memref<16x40xf32>, [[Q:%\S+]]: memref<16x40xf32>)
// CHECK-NEXT:    loop.generic (d0, d1) in [16, 40] reads([[P]][d0, d1] : memref<16x40xf32>)
// CHECK-SAME:    writes([d0, d1] store into [[Q]] : memref<16x40xf32>) attributes {lamina.op = "exp"}
// CHECK:         func.func private @kernel_1([[P]]: memref<16x40xf32>, [[O:%\S+]]: memref<16xf32>)
// CHECK-NEXT:    [[M:%\S+]] = memref.alloc() {alignment = 64 : i64} : memref<16x40xf32>
// CHECK-NEXT:    loop.generic {{.*}} writes([d0, d1] store into [[M]] : memref<16x40xf32>)
// CHECK:         loop.generic {{.*}} reads([[M]][d0, d1] : memref<16x40xf32>) writes([d0] add into [[O]] : memref<16xf32>)

// -----

// A kernel writes through the shape it knows into a result that is returned reshaped.
func.func @main(%x: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xf32> {lamina.kind = "mutation", lamina.target = "x"}) {
  %a, %m = func.call @kernel_0(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %r = loop.reshape %a : tensor<4xf32> -> tensor<2x2xf32>
  func.return %r, %m : tensor<2x2xf32>, tensor<4xf32>
}
func.func private @kernel_0(%p: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {lamina.kernel} {
  %a, %m = loop.generic (i) in [4] reads(%p[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>, [i] store : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v, %v : f32, f32
  }
  func.return %a, %m : tensor<4xf32>, tensor<4xf32>
}
// CHECK:         func.func @main(%x: memref<4xf32>, [[Y:%\S+]]: memref<2x2xf32> {lamina.kind = "output"},
// CHECK-SAME:    [[N:%\S+]]: memref<4xf32> {lamina.kind = "mutation", lamina.target = "x"})
// CHECK-NEXT:    [[V:%\S+]] = loop.reshape [[Y]] : memref<2x2xf32> -> memref<4xf32>
// CHECK-NEXT:    func.call @kernel_0(%x, [[V]], [[N]])
// CHECK-NEXT:    func.return

// -----

// Tensors that a body indexes itself become memrefs inside it as well.
func.func private @kernel_0(%x: tensor<8xf32>, %n: tensor<4xi64>) -> tensor<4xf32> attributes {lamina.kernel} {
  %r = loop.generic (i) in [4] reads(%n[i] : tensor<4xi64>) sources(%x : tensor<8xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%v: i64, %t: tensor<8xf32>):
    %i = arith.index_cast %v : i64 to index
    %u = loop.read %t[%i] : tensor<8xf32>
    loop.yield %u : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK:         loop.generic (d0) in [4] reads(%n[d0] : memref<4xi64>) sources(%x : memref<8xf32>)
// CHECK-NEXT:    ^bb0(%{{.*}}: i64, [[T:%\S+]]: memref<8xf32>):
// CHECK:         loop.read [[T]]{{.*}} : memref<8xf32>

// -----

// Extern kernels write into memory through an address that becomes an argument, one for equal calls.
func.func @main(%a: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  %b = loop.extern "inverse" {} (%a : tensor<3x3xf32>) : tensor<3x3xf32>
  %c = loop.extern "inverse" {} (%b : tensor<3x3xf32>) : tensor<3x3xf32>
  func.return %b, %c : tensor<3x3xf32>, tensor<3x3xf32>
}
// CHECK:       func.func @main(%a: memref<3x3xf32>, [[B:%\S+]]: memref<3x3xf32> {lamina.kind = "output"},
// CHECK-SAME:    [[C:%\S+]]: memref<3x3xf32> {lamina.kind = "output"}, %extern: memref<1xi8> {lamina.kind = "extern"
// CHECK-NEXT:    loop.extern "inverse" {}(%a : memref<3x3xf32>) outs([[B]] : memref<3x3xf32>) through %extern : memref<1xi8>
// CHECK-NEXT:    loop.extern "inverse" {}([[B]] : memref<3x3xf32>) outs([[C]] : memref<3x3xf32>) through %extern : memref<1xi8>

// -----

// Both branches write where the result is; the predicate is read in front of them.
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %s = func.call @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    %s = func.call @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %t = func.call @k(%s) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %t : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}
func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel} {
  %r = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK:         func.func @main(%p: memref<i1>, %x: memref<4xf32>, %out: memref<4xf32>
// CHECK-NEXT:    [[P:%\S+]] = memref.load %p[] : memref<i1>
// CHECK-NEXT:    scf.if [[P]] {
// CHECK-NEXT:      func.call @k(%x, %out) : (memref<4xf32>, memref<4xf32>) -> ()
// CHECK-NEXT:    } else {
// CHECK-NEXT:      [[S:%\S+]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT:      func.call @k(%x, [[S]]) : (memref<4xf32>, memref<4xf32>) -> ()
// CHECK-NEXT:      func.call @k([[S]], %out) : (memref<4xf32>, memref<4xf32>) -> ()
// CHECK-NEXT:    }

// -----

// A loop keeps what it carries at one place. The next value is made elsewhere, then copied.
func.func @main(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %w = control.while from(%x) : (tensor<4xf32>) -> tensor<4xf32> test {
  ^bb0(%a: tensor<4xf32>):
    %t = func.call @test(%a) : (tensor<4xf32>) -> tensor<i1>
    control.yield %t : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>):
    %s = func.call @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  }
  %r = loop.reshape %w : tensor<4xf32> -> tensor<2x2xf32>
  func.return %r : tensor<2x2xf32>
}
func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel} {
  %r = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
func.func private @test(%a: tensor<4xf32>) -> tensor<i1> attributes {lamina.kernel} {
  %r = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>) writes([] and : tensor<i1>) {
  ^bb0(%v: f32):
    %b = arith.cmpf ole, %v, %v : f32
    loop.yield %b : i1
  }
  func.return %r : tensor<i1>
}
// CHECK:         func.func @main(%x: memref<4xf32>, %out: memref<2x2xf32> {{.*}}, %poll: memref<1xi8> {lamina.kind = "poll"}
// CHECK-NEXT:    [[R:%\S+]] = loop.reshape %out : memref<2x2xf32> -> memref<4xf32>
// CHECK-NEXT:    "memref.copy"(%x, [[R]])
// CHECK-NEXT:    scf.while () : () -> () {
// CHECK-NEXT:      [[F:%\S+]] = memref.alloc() {alignment = 64 : i64} : memref<i1>
// CHECK-NEXT:      func.call @test([[R]], [[F]]) : (memref<4xf32>, memref<i1>) -> ()
// CHECK-NEXT:      [[V:%\S+]] = memref.load [[F]][] : memref<i1>
// CHECK-NEXT:      scf.condition([[V]])
// CHECK-NEXT:    } do {
// CHECK-NEXT:      [[N:%\S+]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT:      func.call @k([[R]], [[N]]) : (memref<4xf32>, memref<4xf32>) -> ()
// CHECK-NEXT:      "memref.copy"([[N]], [[R]])
// CHECK-NEXT:      loop.poll through %poll : memref<1xi8>
// CHECK-NEXT:      scf.yield

// -----

// A scan reads slices where they are, and writes slices of its results.
func.func @main(%h: tensor<4xf32>, %xs: tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) {
  %s:2 = control.scan from(%h) over(%xs) : (tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) do {
  ^bb0(%a: tensor<4xf32>, %x: tensor<4xf32>):
    %n = func.call @add(%a, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = func.call @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %n, %y : tensor<4xf32>, tensor<4xf32>
  }
  func.return %s#0, %s#1 : tensor<4xf32>, tensor<5x4xf32>
}
func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel} {
  %r = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
func.func private @add(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel} {
  %r = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>, %b[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%v: f32, %w: f32):
    %s = arith.addf %v, %w : f32
    loop.yield %s : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK:         func.func @main(%h: memref<4xf32>, %xs: memref<5x4xf32>, [[H:%\S+]]: memref<4xf32> {{.*}}, [[Y:%\S+]]: memref<5x4xf32>
// CHECK-NEXT:    "memref.copy"(%h, [[H]])
// CHECK:         scf.for [[I:%\S+]] =
// CHECK-NEXT:      [[N:%\S+]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT:      [[X:%\S+]] = loop.row %xs{{\[}}[[I]]{{\]}} : memref<5x4xf32> -> memref<4xf32>
// CHECK-NEXT:      [[R:%\S+]] = loop.row [[Y]]{{\[}}[[I]]{{\]}} : memref<5x4xf32> -> memref<4xf32>
// CHECK-NEXT:      func.call @add([[H]], [[X]], [[N]])
// CHECK-NEXT:      func.call @k([[H]], [[R]])
// CHECK-NEXT:      "memref.copy"([[N]], [[H]])

// -----

// What a body gives under another shape is made in that shape, in a buffer that is there by then.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = control.while from(%x) : (tensor<4xf32>) -> tensor<4xf32> test {
  ^bb0(%a: tensor<4xf32>):
    %t = func.call @test(%a) : (tensor<4xf32>) -> tensor<i1>
    control.yield %t : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>):
    %s = func.call @wide(%a) : (tensor<4xf32>) -> tensor<2x2xf32>
    %r = loop.reshape %s : tensor<2x2xf32> -> tensor<4xf32>
    control.yield %r : tensor<4xf32>
  }
  func.return %w : tensor<4xf32>
}
func.func private @test(%a: tensor<4xf32>) -> tensor<i1> attributes {lamina.kernel} {
  %r = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>) writes([] and : tensor<i1>) {
  ^bb0(%v: f32):
    %b = arith.cmpf ole, %v, %v : f32
    loop.yield %b : i1
  }
  func.return %r : tensor<i1>
}
func.func private @wide(%a: tensor<4xf32>) -> tensor<2x2xf32> attributes {lamina.kernel} {
  %r = loop.generic (i, j) in [2, 2] reads(%a[i * 2 + j] : tensor<4xf32>) writes([i, j] store : tensor<2x2xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<2x2xf32>
}
// CHECK:         } do {
// CHECK-NEXT:      [[N:%\S+]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT:      [[V:%\S+]] = loop.reshape [[N]] : memref<4xf32> -> memref<2x2xf32>
// CHECK-NEXT:      func.call @wide(%out, [[V]])
// CHECK-NEXT:      "memref.copy"([[N]], %out)
// CHECK-NEXT:      loop.poll
