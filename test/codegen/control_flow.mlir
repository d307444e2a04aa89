// RUN: lamina-opt %s -t llvmir | filecheck %s

// Indices are checked, clamped and looked up; negative ones count from the end. Rows of an i1 table
// are read as bytes.

// CHECK-LABEL: define internal void @lookup
// CHECK: br i1 {{.*}}, label %holds{{.*}}, label %failed{{.*}}, !prof !1
// CHECK: cmpxchg ptr %status, i32 0, i32 1 monotonic monotonic
func.func private @lookup(%index: memref<5xi32> {llvm.noalias}, %table: memref<4x3xf32> {llvm.noalias},
    %flags: memref<4xi1> {llvm.noalias}, %out: memref<5x3xf32> {llvm.noalias}, %on: memref<5xi1> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %c5 step %c1 {
    %raw = memref.load %index[%i] : memref<5xi32>
    %signed = arith.index_cast %raw : i32 to index
    %negative = arith.cmpi slt, %signed, %c0 : index
    %row = scf.if %negative -> (index) {
      %end = arith.addi %signed, %c4 : index
      scf.yield %end : index
    } else {
      scf.yield %signed : index
    }
    %fits = arith.cmpi ult, %row, %c4 : index
    cf.assert %fits, "index out of range"
    %safe = arith.select %fits, %row, %c0 : index
    scf.for %j = %c0 to %c3 step %c1 {
      %v = memref.load %table[%safe, %j] : memref<4x3xf32>
      memref.store %v, %out[%i, %j] : memref<5x3xf32>
    }
    %flag = memref.load %flags[%safe] : memref<4xi1>
    %f = arith.xori %flag, %negative : i1
    memref.store %f, %on[%i] : memref<5xi1>
    scf.if %flag {
      %big = arith.cmpi ult, %safe, %c3 : index
      cf.assert %big, "flagged row 3"
    }
  }
  func.return
}

func.func @main(%index: memref<5xi32>, %table: memref<4x3xf32>, %flags: memref<4xi1>, %out: memref<5x3xf32>, %on: memref<5xi1>) attributes {lamina.entry} {
  func.call @lookup(%index, %table, %flags, %out, %on) : (memref<5xi32>, memref<4x3xf32>, memref<4xi1>, memref<5x3xf32>, memref<5xi1>) -> ()
  func.return
}
