// RUN: lamina-run %s --check | filecheck %s
// The signature says what an extern kernel is, whatever else is said of its argument.

// CHECK: check: equal to the scheduled interpreter
func.func @main(%x: memref<3x3xf64>, %out: memref<3x3xf64> {lamina.kind = "output"}, %extern: memref<1xi8> {lamina.kind = "extern", lamina.target = "x", lamina.signature = "{\22inputs\22: [[\22f64\22, [3, 3]]], \22kernel\22: \22linalg.inv_ex\22, \22options\22: {\22check_errors\22: false}, \22results\22: [[\22f64\22, [3, 3]], [\22i32\22, []]]}"}, %arena: memref<64xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  %0 = arith.constant 0 : index
  %1 = memref.view %arena[%0][] : memref<64xi8> to memref<i32>
  loop.extern "linalg.inv_ex" {check_errors = false}(%x : memref<3x3xf64>) outs(%out, %1 : memref<3x3xf64>, memref<i32>) through %extern : memref<1xi8>
  func.return
}
