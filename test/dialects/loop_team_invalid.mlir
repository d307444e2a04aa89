// RUN: %invalid

func.func @main() attributes {lamina.entry} {
  loop.team {
    loop.team {
      loop.barrier
    }
  }
  func.return
}
// CHECK: loop.team: inside of another team

// -----

func.func @main(%c: i1) attributes {lamina.entry} {
  loop.team {
    "scf.if"(%c) ({
      loop.barrier
      scf.yield
    }, {}) : (i1) -> ()
  }
  func.return
}
// CHECK: loop.barrier: stands in scf.if, not in a team or a kernel

// -----

func.func private @k(%x: memref<4xf32>, %v: f32) attributes {lamina.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    loop.single {
      memref.store %v, %x[%i] : memref<4xf32>
    }
  }
  func.return
}
// CHECK: loop.single: stands in scf.for, not in a team or a kernel

// -----

func.func @main(%x: memref<4xf32>, %n: memref<i64>) attributes {lamina.entry} {
  loop.team if(%n : memref<i64>) attributes {least_rows = 2 : i64} {
    func.call @a(%x) : (memref<4xf32>) -> ()
  }
  func.return
}
func.func private @a(memref<4xf32>)
// CHECK: loop.team: live and least_rows are said together, or neither

// -----

func.func @main(%x: memref<4xf32>, %n: memref<i64>) attributes {lamina.entry} {
  loop.team if(%n : memref<i64>) attributes {live = #loop.live<[arg1 of 4]>, least_rows = 2 : i64} {
    func.call @a(%x) : (memref<4xf32>) -> ()
  }
  func.return
}
func.func private @a(memref<4xf32>)
// CHECK: loop.team: digits of live end at all of its counts, arg0 on: it has 1

// -----

func.func @main(%x: memref<4xf32>, %n: memref<i32>) attributes {lamina.entry} {
  loop.team if(%n : memref<i32>) attributes {live = #loop.live<[arg0 of 4]>, least_rows = 2 : i64} {
    func.call @a(%x) : (memref<4xf32>) -> ()
  }
  func.return
}
func.func private @a(memref<4xf32>)
// CHECK: loop.team: a count is a memref<i64>, not memref<i32>
