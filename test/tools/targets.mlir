// The same scheduled program as LLVM IR, assembly of two CPUs, and an object file.
// RUN: lamina-opt %s -t llvmir | filecheck %s --check-prefix LLVM
// RUN: lamina-opt %s -t 'asm{cpu=x86-64-v3}' | filecheck %s --check-prefix AVX2
// RUN: lamina-opt %s -t 'asm{cpu=aarch64}' | filecheck %s --check-prefix NEON
// RUN: lamina-opt %s -t object -o %t.o && %python -c "assert open(r'%t.o', 'rb').read(4) == b'\x7fELF'"

// LLVM: define {{.*}}@lamina_main
// AVX2: vaddps {{.*}}%ymm
// AVX2: lamina_main:
// NEON: fadd v{{[0-9]+}}.4s
// NEON: lamina_main:
func.func @main(%x: memref<64xf32>, %out: memref<64xf32>, %arena: memref<64xi8>) attributes {lamina.entry} {
  func.call @kernel_0(%x, %out) : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}

func.func private @kernel_0(%x: memref<64xf32>, %out: memref<64xf32>) attributes {lamina.kernel} {
  %zero = arith.constant 0 : index
  %step = arith.constant 8 : index
  %end = arith.constant 64 : index
  scf.for %i = %zero to %end step %step {
    %v = vector.load %x[%i] : memref<64xf32>, vector<8xf32>
    %w = arith.addf %v, %v : vector<8xf32>
    vector.store %w, %out[%i] : memref<64xf32>, vector<8xf32>
    scf.yield
  }
  func.return
}
