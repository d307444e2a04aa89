// RUN: lamina-opt %s -t llvmir{cpu=znver4} | filecheck %s
// RUN: lamina-opt %s -t asm{cpu=znver4} | filecheck %s --check-prefix=ASM
// RUN: not lamina-opt %s -t llvmir{cpu=x86-64-v4} 2>&1 | filecheck %s --check-prefix=WITHOUT

// What is broadcast from memory is the operand that the instruction can read there.

// CHECK-LABEL: define internal void @dots
// CHECK: call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> {{.*}}, <32 x bfloat> {{.*}}, <32 x bfloat>

// ASM: vdpbf16ps {{.*}}{1to16}, %zmm

// WITHOUT: the target x86-64-v4 has no dot products of bf16 in 16 lanes
func.func private @dots(%a: memref<64xbf16> {llvm.noalias}, %b: memref<1024xbf16> {llvm.noalias}, %out: memref<16xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %sums = scf.for %k = %c0 to %c64 step %c2 iter_args(%sum = %zero) -> (vector<16xf32>) {
    %pair = vector.load %a[%k] : memref<64xbf16>, vector<2xbf16>
    %left = vector.shuffle %pair, %pair [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1] : vector<2xbf16>, vector<2xbf16>
    %at = arith.muli %k, %c16 : index
    %right = vector.load %b[%at] : memref<1024xbf16>, vector<32xbf16>
    %next = loop.dot_pairs %left, %right, %sum : vector<32xbf16>, vector<32xbf16>, vector<16xf32> -> vector<16xf32>
    scf.yield %next : vector<16xf32>
  }
  vector.store %sums, %out[%c0] : memref<16xf32>, vector<16xf32>
  func.return
}

func.func @main(%a: memref<64xbf16>, %b: memref<1024xbf16>, %out: memref<16xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @dots(%a, %b, %out) : (memref<64xbf16>, memref<1024xbf16>, memref<16xf32>) -> ()
  func.return
}
