// RUN: lamina-opt %s -t llvmir{cpu=sapphirerapids} | filecheck %s
// RUN: lamina-opt %s -t asm{cpu=sapphirerapids} | filecheck %s --check-prefix=ASM
// RUN: not lamina-opt %s -t llvmir{cpu=x86-64-v4} 2>&1 | filecheck %s --check-prefix=WITHOUT

// Tiles are values of LLVM's, also around a loop; strides are in bytes.

// CHECK-LABEL: define internal void @tiles
// CHECK: call x86_amx @llvm.x86.tilezero.internal(i16 7, i16 64)
// CHECK: phi x86_amx
// CHECK: call x86_amx @llvm.x86.tileloadd64.internal(i16 7, i16 64, ptr {{.*}}, i64 200)
// CHECK: call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr {{.*}}, i64 64)
// CHECK: call x86_amx @llvm.x86.tdpbf16ps.internal(i16 7, i16 64, i16 64, x86_amx
// CHECK: call void @llvm.x86.tilestored64.internal(i16 7, i16 64, ptr {{.*}}, i64 64, x86_amx

// ASM: ldtilecfg
// ASM: tdpbf16ps
// ASM: tilerelease

// WITHOUT: the target x86-64-v4 has no matrix tiles
func.func private @tiles(%a: memref<700xbf16> {llvm.noalias}, %b: memref<1024xbf16> {llvm.noalias}, %out: memref<112xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %zero = loop.tile_zero : vector<7x16xf32>
  %sums = scf.for %k = %c0 to %c64 step %c32 iter_args(%sum = %zero) -> (vector<7x16xf32>) {
    %left = loop.tile_load %a[%k], %c100 : memref<700xbf16>, vector<7x32xbf16>
    %at = arith.muli %k, %c16 : index
    %right = loop.tile_load %b[%at], %c32 : memref<1024xbf16>, vector<16x32xbf16>
    %next = loop.tile_dot %left, %right, %sum : vector<7x32xbf16>, vector<16x32xbf16>, vector<7x16xf32> -> vector<7x16xf32>
    scf.yield %next : vector<7x16xf32>
  }
  loop.tile_store %sums, %out[%c0], %c16 : vector<7x16xf32>, memref<112xf32>
  func.return
}

func.func @main(%a: memref<700xbf16>, %b: memref<1024xbf16>, %out: memref<112xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @tiles(%a, %b, %out) : (memref<700xbf16>, memref<1024xbf16>, memref<112xf32>) -> ()
  func.return
}
