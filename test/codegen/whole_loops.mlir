// RUN: lamina-opt %s -t 'llvmir{cpu=x86-64-v3}' | filecheck %s --check-prefixes CHECK,CYCLES
// RUN: lamina-opt %s -t 'llvmir{cpu=aarch64}' | filecheck %s --check-prefixes CHECK,ROUNDS

// A loop by a condition goes on while its test says so and no check has failed. It asks now and then
// whether to stop, by cycles where they can be read. Slices are addresses, copies are memcpy.

// CHECK: @lamina.polled = internal global i64 0
// CHECK-LABEL: define i32 @lamina_main(ptr
// CHECK: br label %test
// CHECK: call void @test(
// CHECK: [[V:%\S+]] = icmp ne i8
// CHECK-NEXT: [[S:%\S+]] = load i32, ptr %status
// CHECK-NEXT: [[G:%\S+]] = icmp eq i32 [[S]], 0
// CHECK-NEXT: [[B:%\S+]] = and i1 [[V]], [[G]]
// CHECK-NEXT: br i1 [[B]], label %body{{.*}}, label %done
// CHECK: call void @llvm.memcpy.p0.p0.i64(ptr %{{.*}}, ptr %{{.*}}, i64 16, i1 false)
// CHECK: [[L:%\S+]] = load i64, ptr @lamina.polled
// CYCLES: call i64 @llvm.readcyclecounter()
// CYCLES: icmp ugt i64 {{.*}}, 268435456
// ROUNDS: add i64 [[L]], 1
// ROUNDS: and i64 {{.*}}, 4095
// CHECK: call i32 %{{.*}}()
// CHECK: cmpxchg ptr %status
// CHECK: br label %test
// CHECK: getelementptr [4 x float], ptr %{{.*}}, i64 %i
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>, %xs: memref<5x4xf32>, %flag: memref<i1>, %poll: memref<1xi8>) attributes {lamina.entry} {
  scf.while () : () -> () {
    func.call @test(%x, %flag) : (memref<4xf32>, memref<i1>) -> ()
    %v = memref.load %flag[] : memref<i1>
    scf.condition(%v)
  } do {
    "memref.copy"(%y, %x) : (memref<4xf32>, memref<4xf32>) -> ()
    loop.poll through %poll : memref<1xi8>
    scf.yield
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %c5 step %c1 {
    %row = loop.row %xs[%i] : memref<5x4xf32> -> memref<4xf32>
    func.call @test(%row, %flag) : (memref<4xf32>, memref<i1>) -> ()
  }
  func.return
}
func.func private @test(%x: memref<4xf32>, %flag: memref<i1>) attributes {lamina.kernel} {
  func.return
}
