// RUN: lamina-opt %s -t llvmir | filecheck %s

// Integer division in its four roundings; what would trap the CPU (a zero divisor, MIN / -1) does not.

// CHECK-LABEL: define internal void @divide
// CHECK: select i1 {{.*}}, i32 1, i32
// CHECK-NEXT: sdiv i32
func.func private @divide(%x: memref<16xi32> {llvm.noalias}, %y: memref<16xi32> {llvm.noalias}, %o: memref<6x16xi32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %n = arith.constant 16 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<16xi32>
    %b = memref.load %y[%i] : memref<16xi32>
    %q = arith.divsi %a, %b : i32
    %r = arith.remsi %a, %b : i32
    %f = arith.floordivsi %a, %b : i32
    %c = arith.ceildivsi %a, %b : i32
    %u = arith.divui %a, %b : i32
    %w = arith.ceildivui %a, %b : i32
    memref.store %q, %o[%c0, %i] : memref<6x16xi32>
    memref.store %r, %o[%c1, %i] : memref<6x16xi32>
    memref.store %f, %o[%c2, %i] : memref<6x16xi32>
    memref.store %c, %o[%c3, %i] : memref<6x16xi32>
    memref.store %u, %o[%c4, %i] : memref<6x16xi32>
    memref.store %w, %o[%c5, %i] : memref<6x16xi32>
  }
  func.return
}

func.func @main(%x: memref<16xi32>, %y: memref<16xi32>, %o: memref<6x16xi32>) attributes {lamina.entry} {
  func.call @divide(%x, %y, %o) : (memref<16xi32>, memref<16xi32>, memref<6x16xi32>) -> ()
  func.return
}
