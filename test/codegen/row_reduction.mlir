// RUN: lamina-opt %s -t llvmir{cpu=x86-64-v4} | filecheck %s
// RUN: lamina-opt %s -t llvmir{cpu=aarch64} | filecheck %s --check-prefix=ARM

// Row sums and row maxima of 6x64, two accumulators each; then every row divided by its sum through
// a buffer on the stack.

// CHECK-LABEL: define internal void @rows
// CHECK: alloca [64 x float], align 64
// CHECK: phi <16 x float>
// CHECK: call reassoc float @llvm.vector.reduce.fadd.v16f32
// NaN is looked for in all lanes at once, where an instruction of x86 forgets it.
// CHECK: [[M:%\S+]] = call nnan nsz float @llvm.vector.reduce.fmax.v16f32(<16 x float> [[V:%\S+]])
// CHECK-NEXT: [[L:%\S+]] = fcmp uno <16 x float> [[V]], [[V]]
// CHECK-NEXT: [[N:%\S+]] = call i1 @llvm.vector.reduce.or.v16i1(<16 x i1> [[L]])
// CHECK-NEXT: select i1 [[N]], float 0x7FF8000000000000, float [[M]]
// ARM: call nsz float @llvm.vector.reduce.fmaximum.v16f32
func.func private @rows(%x: memref<6x64xf32> {llvm.noalias}, %sum: memref<6xf32> {llvm.noalias},
    %max: memref<6xf32> {llvm.noalias}, %y: memref<6x64xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 6 : index
  %cols = arith.constant 64 : index
  %half = arith.constant 16 : index
  %step = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %infinity = arith.constant 0xFF800000 : f32
  %least = vector.broadcast %infinity : f32 to vector<16xf32>
  %buffer = memref.alloca() : memref<64xf32>
  scf.for %i = %c0 to %rows step %c1 {
    %r:4 = scf.for %j = %c0 to %cols step %step
        iter_args(%s0 = %zero, %s1 = %zero, %m0 = %least, %m1 = %least)
        -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
      %k = arith.addi %j, %half : index
      %a = vector.load %x[%i, %j] : memref<6x64xf32>, vector<16xf32>
      %b = vector.load %x[%i, %k] : memref<6x64xf32>, vector<16xf32>
      vector.store %a, %buffer[%j] : memref<64xf32>, vector<16xf32>
      vector.store %b, %buffer[%k] : memref<64xf32>, vector<16xf32>
      %t0 = arith.addf %s0, %a : vector<16xf32>
      %t1 = arith.addf %s1, %b : vector<16xf32>
      %n0 = arith.maximumf %m0, %a : vector<16xf32>
      %n1 = arith.maximumf %m1, %b : vector<16xf32>
      scf.yield %t0, %t1, %n0, %n1 : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
    }
    %s = arith.addf %r#0, %r#1 : vector<16xf32>
    %m = arith.maximumf %r#2, %r#3 : vector<16xf32>
    %total = vector.reduction <add>, %s : vector<16xf32> into f32
    %top = vector.reduction <maximumf>, %m : vector<16xf32> into f32
    memref.store %total, %sum[%i] : memref<6xf32>
    memref.store %top, %max[%i] : memref<6xf32>
    %totals = vector.broadcast %total : f32 to vector<16xf32>
    scf.for %j = %c0 to %cols step %half {
      %v = vector.load %buffer[%j] : memref<64xf32>, vector<16xf32>
      %q = arith.divf %v, %totals : vector<16xf32>
      vector.store %q, %y[%i, %j] : memref<6x64xf32>, vector<16xf32>
    }
  }
  func.return
}

func.func @main(%x: memref<6x64xf32>, %sum: memref<6xf32>, %max: memref<6xf32>, %y: memref<6x64xf32>) attributes {lamina.entry} {
  func.call @rows(%x, %sum, %max, %y) : (memref<6x64xf32>, memref<6xf32>, memref<6xf32>, memref<6x64xf32>) -> ()
  func.return
}
