// RUN: not lamina-run %s --check 2>&1 | filecheck %s
// A loop counts from memory which nothing has written: with some numbers it would hardly end.

// CHECK: check failed: result 0 depends on memory that nothing has written: [] is 5 where bytes of new memory are 0, and 6 where they are 255
func.func @main(%out: memref<i64> {lamina.kind = "output"}, %poll: memref<1xi8> {lamina.kind = "poll"}, %arena: memref<128xi8> {lamina.kind = "arena"}) attributes {lamina.entry} {
  %0 = arith.constant 0 : index
  %64 = arith.constant 64 : index
  %k = memref.view %arena[%0][] : memref<128xi8> to memref<i64>
  %q = memref.view %arena[%64][] : memref<128xi8> to memref<i1>
  func.call @zero(%out) : (memref<i64>) -> ()
  scf.while () : () -> () {
    func.call @below(%k, %q) : (memref<i64>, memref<i1>) -> ()
    %go = memref.load %q[] : memref<i1>
    scf.condition(%go)
  } do {
    func.call @next(%k, %out, %k, %out) : (memref<i64>, memref<i64>, memref<i64>, memref<i64>) -> ()
    loop.poll through %poll : memref<1xi8>
    scf.yield
  }
  func.return
}
func.func private @zero(%out: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false>]} {
  %zero = arith.constant 0 : i64
  memref.store %zero, %out[] : memref<i64>
  func.return
}
func.func private @below(%k: memref<i64>, %q: memref<i1>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false>]} {
  %five = arith.constant 5 : i64
  %i = memref.load %k[] : memref<i64>
  %p = arith.cmpi slt, %i, %five : i64
  memref.store %p, %q[] : memref<i1>
  func.return
}
func.func private @next(%k: memref<i64>, %n: memref<i64>, %k2: memref<i64>, %n2: memref<i64>) attributes {lamina.kernel, lamina.schedule = [#loop.unstructured<parallel = false>]} {
  %one = arith.constant 1 : i64
  %i = memref.load %k[] : memref<i64>
  %a = arith.addi %i, %one : i64
  memref.store %a, %k2[] : memref<i64>
  %j = memref.load %n[] : memref<i64>
  %b = arith.addi %j, %one : i64
  memref.store %b, %n2[] : memref<i64>
  func.return
}
