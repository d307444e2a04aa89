// RUN: not lamina-opt %s -p functionalize,bound-dynamic-shapes 2>&1 | filecheck %s

// CHECK: aten.nonzero.default: gives tensor<8x1xi64> where the program says none
// CHECK: at: {{.*}}:6:3
func.func @main(%x: tensor<8xi1>) -> none {
  %r = aten.nonzero.default(%x) : (tensor<8xi1>) -> none
  func.return %r : none
}
