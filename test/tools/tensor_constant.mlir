// RUN: not lamina-run %s 2>&1 | filecheck %s
// A kernel holds numbers in registers: a tensor without elements is none either.

// CHECK: arith.constant: not a constant for a register
// CHECK: operand types: tensor<0xf32>
func.func @main(%out: memref<f32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kernel_0(%out) : (memref<f32>) -> ()
  func.return
}
func.func private @kernel_0(%out: memref<f32>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false>]} {
  %none = arith.constant dense<> : tensor<0xf32>
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %out[] : memref<f32>
  func.return
}
