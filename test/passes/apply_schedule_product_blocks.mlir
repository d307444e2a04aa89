// RUN: lamina-opt %s --from loop --to bufferized --drop choose-schedule | lamina-opt -p 'choose-schedule{target="x86-64-v4"},apply-schedule' | filecheck %s

// 128 rows of a product whose results are reduced row by row: eight tasks of sixteen rows, not four of
// thirty-two.
func.func @main(%a: tensor<128x256xf32>, %b: tensor<1024x256xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<128xf32> {
  %p = loop.generic (m, n, k) in [128, 1024, 256] reads(%a[m, k] : tensor<128x256xf32>, %b[n, k] : tensor<1024x256xf32>) writes([m, n] add : tensor<128x1024xf32>) attributes {lamina.op = "product"} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %r = loop.generic (m, n) in [128, 1024] reads(%p[m, n] : tensor<128x1024xf32>) writes([m] max : tensor<128xf32>) attributes {lamina.op = "amax"} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<128xf32>
}
// CHECK:         func.func private @kernel_1
// CHECK-DAG:     [[TASKS:%\S+]] = arith.constant 8 : index
// CHECK-DAG:     [[ROWS:%\S+]] = arith.constant 16 : index
// CHECK:         "scf.parallel"({{%\S+}}, [[TASKS]], {{%\S+}})
// CHECK-NEXT:    ^bb0([[TASK:%\S+]]: index):
// CHECK:         arith.muli [[TASK]], [[ROWS]] : index
