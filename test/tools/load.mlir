// RUN: lamina-opt --load %S/extension_cubes.py --to prims --since functionalize %s | filecheck %s
// RUN: lamina-opt --load %S/extension_cubes.py --to loop %s | filecheck %s --check-prefix LOOP
// RUN: lamina-opt --load %S/extension_cubes.py -p count-cubes %s 2>&1 | filecheck %s --check-prefix COUNT
// RUN: lamina-run --load %S/extension_cubes.py %s --check | filecheck %s --check-prefix SAME
// RUN: lamina-ops --load %S/extension_cubes.py --check %s | filecheck %s --check-prefix OPS
// RUN: lamina-ops --load %S/extension_cubes.py --layer cubes | filecheck %s --check-prefix NAMES
// RUN: lamina-opt --load %S/extension_cubes.py --list-ops cubes | filecheck %s --check-prefix NAMES
// RUN: lamina-opt --load %S/extension_cubes.py --list-passes | filecheck %s --check-prefix PASSES
// RUN: not lamina-opt %s 2>&1 | filecheck %s --check-prefix WITHOUT

// An op of an extension stands beside those of each layer until it goes down.
// CHECK-LABEL: func.func @main
// CHECK:       prims.neg
// CHECK:       cubes.cube.default
// LOOP:        loop.generic
// LOOP:        loop.generic
// COUNT:       1 cubes
// SAME:        check: equal to the aten interpreter
// OPS:         nothing stops this program
// NAMES:       cubes.cube.default
// PASSES:      count-cubes: extension 'cubes' ({{.*}}extension_cubes.py:{{[0-9]+}})
// WITHOUT:     load.mlir:{{[0-9]+}}:8: error: Operation cubes.cube.default is not registered
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.neg.default(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = cubes.cube.default(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
