// A pass is refused on a program in a state that it is not for, by a message.
// RUN: lamina-opt %s --from loop --to fused -o %t.fused.mlir
// RUN: lamina-opt %t.fused.mlir --from fused --to scheduled -o %t.scheduled.mlir
// RUN: not lamina-opt %s -p choose-schedule 2>&1 | filecheck %s --check-prefix TENSORS
// RUN: not lamina-opt %t.fused.mlir -p choose-schedule 2>&1 | filecheck %s --check-prefix KERNELS
// RUN: not lamina-opt %t.fused.mlir -p 'cse,fuse-kernels' 2>&1 | filecheck %s --check-prefix FUSE
// RUN: not lamina-opt %s -p 'fuse-kernels,outline-kernels,plan-memory' 2>&1 | filecheck %s --check-prefix SECOND
// RUN: not lamina-opt %t.scheduled.mlir -p bufferize 2>&1 | filecheck %s --check-prefix LOOPS
// RUN: not lamina-opt %t.fused.mlir -p bufferize,plan-memory,choose-schedule,parallelize,split-domains 2>&1 | filecheck %s --check-prefix TASKS
// RUN: lamina-opt %t.scheduled.mlir -p cse | filecheck %s --check-prefix FOREIGN

// TENSORS: choose-schedule: the program is ops on tensors by now; the pass takes kernels on buffers or kernels whose nests stand in loops or explicit loops
// TENSORS-NOT: internal error
// KERNELS: choose-schedule: the program is kernels that are functions on tensors by now; the pass takes kernels on buffers or kernels whose nests stand in loops or explicit loops
// KERNELS-NOT: internal error
// FUSE: fuse-kernels: the program is kernels that are functions on tensors by now; the pass takes ops on tensors
// SECOND: plan-memory: the program is kernels that are functions on tensors by now; the pass takes kernels on buffers or explicit loops
// LOOPS: bufferize: the program is explicit loops by now; the pass takes ops on tensors or kernels that are functions on tensors
// TASKS: split-domains: the program is kernels whose nests stand in loops by now; the pass takes kernels on buffers or explicit loops
// FOREIGN: lamina.entry
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    %w = arith.mulf %p, %p : f32
    loop.yield %w : f32
  }
  func.return %r : tensor<4xf32>
}
