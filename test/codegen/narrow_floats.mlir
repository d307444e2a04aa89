// RUN: lamina-opt %s -t llvmir{cpu=x86-64-v3} | filecheck %s

// bf16 and f16 to f32 and back; bf16 is rounded in integers whatever the CPU has.

// CHECK-LABEL: define internal void @convert
// CHECK: lshr <16 x i32>
// CHECK: fptrunc <16 x float> {{.*}} to <16 x half>
func.func private @convert(%x: memref<64xf32> {llvm.noalias}, %b: memref<64xbf16> {llvm.noalias},
    %h: memref<64xf16> {llvm.noalias}, %y: memref<2x64xf32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %s = arith.constant 16 : index
  scf.for %i = %c0 to %n step %s {
    %v = vector.load %x[%i] : memref<64xf32>, vector<16xf32>
    %p = arith.truncf %v : vector<16xf32> to vector<16xbf16>
    %q = arith.truncf %v : vector<16xf32> to vector<16xf16>
    vector.store %p, %b[%i] : memref<64xbf16>, vector<16xbf16>
    vector.store %q, %h[%i] : memref<64xf16>, vector<16xf16>
    %e = arith.extf %p : vector<16xbf16> to vector<16xf32>
    %f = arith.extf %q : vector<16xf16> to vector<16xf32>
    vector.store %e, %y[%c0, %i] : memref<2x64xf32>, vector<16xf32>
    vector.store %f, %y[%c1, %i] : memref<2x64xf32>, vector<16xf32>
  }
  func.return
}

func.func @main(%x: memref<64xf32>, %b: memref<64xbf16>, %h: memref<64xf16>, %y: memref<2x64xf32>) attributes {lamina.entry} {
  func.call @convert(%x, %b, %h, %y) : (memref<64xf32>, memref<64xbf16>, memref<64xf16>, memref<2x64xf32>) -> ()
  func.return
}

// What keeps the digits of bf16 is not rounded: signs, extremes, choices, constants of few digits.
// CHECK-LABEL: define internal void @kept
// CHECK-NOT:   fcmp uno
// CHECK-NOT:   add <16 x i32>
// CHECK:       [[H:%.*]] = lshr <16 x i32> {{.*}}
// CHECK-NEXT:  trunc <16 x i32> [[H]] to <16 x i16>
// CHECK-NEXT:  store <16 x i16>
// A constant of more digits may be the result.
// CHECK-LABEL: define internal void @rounded
// CHECK:       fcmp uno
func.func private @kept(%b: memref<16xbf16> {llvm.noalias}, %y: memref<16xbf16> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %half = arith.constant dense<0.5> : vector<16xf32>
  %v = vector.load %b[%c0] : memref<16xbf16>, vector<16xbf16>
  %e = arith.extf %v : vector<16xbf16> to vector<16xf32>
  %n = arith.negf %e : vector<16xf32>
  %a = math.absf %n : vector<16xf32>
  %s = arith.constant dense<true> : vector<16xi1>
  %t = loop.select %s, %a, %half : vector<16xi1>, vector<16xf32>, vector<16xf32> -> vector<16xf32>
  %p = arith.truncf %t : vector<16xf32> to vector<16xbf16>
  vector.store %p, %y[%c0] : memref<16xbf16>, vector<16xbf16>
  func.return
}

func.func private @rounded(%b: memref<16xbf16> {llvm.noalias}, %y: memref<16xbf16> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %tenth = arith.constant dense<0.1> : vector<16xf32>
  %v = vector.load %b[%c0] : memref<16xbf16>, vector<16xbf16>
  %e = arith.extf %v : vector<16xbf16> to vector<16xf32>
  %m = arith.maximumf %e, %tenth : vector<16xf32>
  %p = arith.truncf %m : vector<16xf32> to vector<16xbf16>
  vector.store %p, %y[%c0] : memref<16xbf16>, vector<16xbf16>
  func.return
}
