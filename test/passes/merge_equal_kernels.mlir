// RUN: lamina-opt %s -p merge-equal-kernels | filecheck %s

// Kernels that differ in their names alone become the first of them, wherever they are called.
func.func @main(%x: memref<8xf32> {lamina.kind = "input", lamina.name = "x"}, %y: memref<8xf32> {lamina.kind = "output"}, %z: memref<8xf32> {lamina.kind = "output"}, %u: memref<8xf32> {lamina.kind = "output"}, %v: memref<8xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kernel_0(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @kernel_0_1(%x, %z) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @kernel_1(%x, %u) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @kernel_2(%x, %v) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    func.call @kernel_0(%x, %y)
// CHECK-NEXT:    func.call @kernel_0(%x, %z)
// CHECK-NEXT:    func.call @kernel_1(%x, %u)
// CHECK-NEXT:    func.call @kernel_2(%x, %v)

func.func private @kernel_0(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.ops = ["exp"]} {
  loop.generic (i) in [8] reads(%x[i] : memref<8xf32>) writes([i] store into %y : memref<8xf32>) {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    loop.yield %e : f32
  }
  func.return
}
func.func private @kernel_0_1(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.ops = ["exp"]} {
  loop.generic (i) in [8] reads(%x[i] : memref<8xf32>) writes([i] store into %y : memref<8xf32>) {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    loop.yield %e : f32
  }
  func.return
}
// CHECK:     @kernel_0(
// CHECK-NOT: @kernel_0_1

// One that reads elsewhere is another, and so is one with other attributes.
func.func private @kernel_1(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.ops = ["exp"]} {
  loop.generic (i) in [8] reads(%x[7 - i] : memref<8xf32>) writes([i] store into %y : memref<8xf32>) {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    loop.yield %e : f32
  }
  func.return
}
func.func private @kernel_2(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel, lamina.ops = ["other"]} {
  loop.generic (i) in [8] reads(%x[i] : memref<8xf32>) writes([i] store into %y : memref<8xf32>) {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    loop.yield %e : f32
  }
  func.return
}
// CHECK: @kernel_1(
// CHECK: @kernel_2(
