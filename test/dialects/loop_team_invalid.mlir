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
