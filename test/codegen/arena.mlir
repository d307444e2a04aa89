// RUN: lamina-opt %s -t llvmir | filecheck %s

// Two kernels through an arena: views at byte offsets and a reshape that costs nothing.

// CHECK-LABEL: define i32 @lamina_main(ptr
// CHECK: getelementptr inbounds i8, ptr %{{.*}}, i64 64
// CHECK-NEXT: call void @double(ptr
func.func private @double(%x: memref<2x4xi32> {llvm.noalias}, %y: memref<2x4xi32> {llvm.noalias}) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %k = arith.constant dense<2> : vector<4xi32>
  scf.for %i = %c0 to %c2 step %c1 {
    %v = vector.load %x[%i, %c0] : memref<2x4xi32>, vector<4xi32>
    %d = arith.muli %v, %k : vector<4xi32>
    vector.store %d, %y[%i, %c0] : memref<2x4xi32>, vector<4xi32>
  }
  func.return
}

func.func @main(%x: memref<8xi32>, %y: memref<8xi32>, %arena: memref<128xi8>) attributes {lamina.entry} {
  %off = arith.constant 64 : index
  %x2 = loop.reshape %x : memref<8xi32> -> memref<2x4xi32>
  %y2 = loop.reshape %y : memref<8xi32> -> memref<2x4xi32>
  %t = memref.view %arena[%off][] : memref<128xi8> to memref<2x4xi32>
  func.call @double(%x2, %t) : (memref<2x4xi32>, memref<2x4xi32>) -> ()
  func.call @double(%t, %y2) : (memref<2x4xi32>, memref<2x4xi32>) -> ()
  func.return
}

func.func @setup(%x: memref<8xi32>, %y: memref<8xi32>) attributes {lamina.entry} {
  %x2 = loop.reshape %x : memref<8xi32> -> memref<2x4xi32>
  %y2 = loop.reshape %y : memref<8xi32> -> memref<2x4xi32>
  func.call @double(%x2, %y2) : (memref<2x4xi32>, memref<2x4xi32>) -> ()
  func.return
}
