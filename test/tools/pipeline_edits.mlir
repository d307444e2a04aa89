// The compiler's own passes with changes, as `lamina.Pipeline` makes them.
// RUN: lamina-opt %s --to prims | filecheck %s --check-prefix=AS-IT-IS
// RUN: lamina-opt %s --to prims --before verify-prims 'canonicalize,cse' | filecheck %s
// RUN: lamina-opt %s --to prims --after convert-core-aten-to-prims canonicalize --replace canonicalize cse | filecheck %s
// RUN: lamina-opt %s --to fused --until verify-prims | lamina-opt --to fused --since verify-prims > %t.resumed
// RUN: lamina-opt %s --to fused > %t.whole
// RUN: cmp %t.resumed %t.whole
// RUN: lamina-run %s --drop merge-siblings --before fuse-elementwise cse --check | filecheck %s --check-prefix=RAN
// RUN: not lamina-opt %s --to loop --drop loop-csee 2>&1 | filecheck %s --check-prefix=NO-SUCH
// RUN: not lamina-opt %s --to loop --before verify-loop verify-lop 2>&1 | filecheck %s --check-prefix=NO-PASS
// RUN: not lamina-opt %s --to loop --until fuse-kernels 2>&1 | filecheck %s --check-prefix=NOT-THERE
// RUN: not lamina-opt %s -p cse --drop loop-cse 2>&1 | filecheck %s --check-prefix=NO-LAYER
// RUN: not lamina-run %s --drop loop-csee 2>&1 | filecheck %s --check-prefix=NO-SUCH

// AS-IT-IS-COUNT-2: prims.tanh
// CHECK:            prims.tanh
// CHECK-NEXT:       prims.mul
// RAN: check: equal to the aten interpreter
// NO-SUCH: --drop loop-csee: no pass of the pipeline is called 'loop-csee'; nearest: loop-cse
// NO-PASS: --before verify-loop: no pass is called 'verify-lop'; nearest: verify-loop
// NOT-THERE: no pass among these is called 'fuse-kernels'; nearest:
// NO-LAYER: --until and --since are about the passes of --to LAYER
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = aten.tanh.default(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = aten.tanh.default(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = aten.mul.Tensor(%0, %1) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  func.return %2 : tensor<8x16xf32>
}
