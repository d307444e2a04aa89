// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v4"},choose-schedule{target="x86-64-v4"},apply-schedule' --split-input-file | filecheck %s

// The second sweep over a row finds it in the cache, and fetches what lies two rows (16 KiB) ahead.
func.func private @norm(%x: memref<8192x2048xf32>, %y: memref<8192x2048xf32>) attributes {lamina.kernel} {
  %m = memref.alloc() : memref<8192xf32>
  loop.generic (i, j) in [8192, 2048] reads(%x[i, j] : memref<8192x2048xf32>) writes([i] max into %m : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  %s = memref.alloc() : memref<8192xf32>
  loop.generic (i, j) in [8192, 2048] reads(%x[i, j] : memref<8192x2048xf32>, %m[i] : memref<8192xf32>) writes([i] add into %s : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %top: f32):
    %d = arith.subf %v, %top : f32
    loop.yield %d : f32
  }
  loop.generic (i, j) in [8192, 2048] reads(%x[i, j] : memref<8192x2048xf32>, %s[i] : memref<8192xf32>) writes([i, j] store into %y : memref<8192x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %t: f32):
    %d = arith.mulf %v, %t : f32
    loop.yield %d : f32
  }
  func.return
}
// CHECK-LABEL: @norm
// CHECK-DAG:     [[ROW:%\S+]] = arith.constant 2048 : index
// CHECK-DAG:     [[TWO:%\S+]] = arith.constant 2 : index
// CHECK-DAG:     [[LAST:%\S+]] = arith.constant 8191 : index
// CHECK:         scf.parallel
// CHECK-NEXT:    ^{{.*}}([[R:%\S+]]: index):
// CHECK-NEXT:    [[N:%\S+]] = arith.addi [[R]], [[TWO]]
// CHECK-NEXT:    [[A:%\S+]] = arith.minsi [[N]], [[LAST]]
// CHECK-NEXT:    scf.for
// CHECK-NOT:     prefetch
// CHECK:         vector.reduction <maximumf>
// CHECK-NEXT:    [[S:%\S+]] = arith.muli [[A]], [[ROW]]
// CHECK-NEXT:    scf.for %[[J:\S+]] =
// CHECK-NEXT:    [[P:%\S+]] = arith.addi [[S]], %[[J]]
// CHECK-NEXT:    loop.prefetch {{.*}}[[[P]]] {locality = 2 : i64}
// CHECK-COUNT-3: loop.prefetch
// CHECK:         vector.reduction <add>
// CHECK-NOT:     prefetch
// CHECK:         func.return

// -----

// Rows of a table, found through an index that is clamped: nobody has checked it yet.
func.func private @table(%ids: memref<8192xi64>, %table: memref<65536x1024xf32>, %y: memref<8192xf32>) attributes {lamina.kernel} {
  %m = memref.alloc() : memref<8192xf32>
  %e = memref.alloc() : memref<8192x1024xf32>
  loop.generic (i, j) in [8192, 1024] reads(%ids[i] : memref<8192xi64>) sources(%table : memref<65536x1024xf32>) writes([i, j] store into %e : memref<8192x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%id: i64, %t: memref<65536x1024xf32>):
    %n = arith.index_cast %id : i64 to index
    %j = loop.index 1 : index
    %v = loop.read %t[%n, %j] : memref<65536x1024xf32>
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8192, 1024] reads(%e[i, j] : memref<8192x1024xf32>) writes([i] max into %m : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8192, 1024] reads(%e[i, j] : memref<8192x1024xf32>, %m[i] : memref<8192xf32>) writes([i] add into %y : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %top: f32):
    %d = arith.subf %v, %top : f32
    loop.yield %d : f32
  }
  func.return
}
// CHECK-LABEL: @table
// CHECK:         cf.assert
// CHECK-NEXT:    scf.for
// CHECK-NOT:     cf.assert
// CHECK:         vector.reduction <maximumf>
// CHECK-NEXT:    [[ID:%\S+]] = memref.load
// CHECK-NEXT:    [[AT:%\S+]] = arith.index_cast [[ID]]
// CHECK-NEXT:    [[FITS:%\S+]] = arith.cmpi ult, [[AT]]
// CHECK-NEXT:    [[SAFE:%\S+]] = arith.select [[FITS]], [[AT]]
// CHECK-NEXT:    [[ROW:%\S+]] = arith.muli [[SAFE]]
// CHECK:         [[P:%\S+]] = arith.addi [[ROW]]
// CHECK-NEXT:    loop.prefetch {{.*}}[[[P]]] {locality = 2 : i64} : memref<67108864xf32>

// -----

// What fits the last-level cache is left to the hardware; so is a kernel whose only later sweep
// stores its results, since stores keep the memory system busy.
func.func private @small(%x: memref<64x2048xf32>, %y: memref<64xf32>) attributes {lamina.kernel} {
  %m = memref.alloc() : memref<64xf32>
  loop.generic (i, j) in [64, 2048] reads(%x[i, j] : memref<64x2048xf32>) writes([i] max into %m : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [64, 2048] reads(%x[i, j] : memref<64x2048xf32>, %m[i] : memref<64xf32>) writes([i] add into %y : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %top: f32):
    %d = arith.subf %v, %top : f32
    loop.yield %d : f32
  }
  func.return
}
func.func private @stores(%x: memref<8192x2048xf32>, %y: memref<8192x2048xf32>) attributes {lamina.kernel} {
  %m = memref.alloc() : memref<8192xf32>
  loop.generic (i, j) in [8192, 2048] reads(%x[i, j] : memref<8192x2048xf32>) writes([i] max into %m : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8192, 2048] reads(%x[i, j] : memref<8192x2048xf32>, %m[i] : memref<8192xf32>) writes([i, j] store into %y : memref<8192x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %top: f32):
    %d = arith.subf %v, %top : f32
    loop.yield %d : f32
  }
  func.return
}
// CHECK-LABEL: @small
// CHECK-NOT:     prefetch
// CHECK-LABEL: @stores
// CHECK-NOT:     prefetch

// -----

// A transposed read: the next tile of each row is fetched while one is turned, and two tiles ahead of
// the read that is not turned. What fits the second-level cache is not fetched.
func.func private @transpose(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<1024x1024xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [1024, 1024] reads(%x[i, j] : memref<1024x1024xf32>, %y[j, i] : memref<1024x1024xf32>) writes([i, j] store into %z : memref<1024x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    loop.yield %c : f32
  }
  func.return
}
func.func private @small_transpose(%y: memref<128x128xf32>, %z: memref<128x128xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [128, 128] reads(%y[j, i] : memref<128x128xf32>) writes([i, j] store into %z : memref<128x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%b: f32):
    loop.yield %b : f32
  }
  func.return
}
// CHECK-LABEL: @transpose
// CHECK-DAG:     [[NEXT:%\S+]] = arith.constant 16384 : index
// CHECK-DAG:     [[TWO:%\S+]] = arith.constant 32 : index
// CHECK-COUNT-16: vector.load
// CHECK:         [[A:%\S+]] = arith.addi {{.*}}, [[NEXT]]
// CHECK-NEXT:    loop.prefetch {{.*}}[[[A]]] {locality = 2 : i64}
// CHECK-COUNT-15: loop.prefetch
// CHECK-COUNT-64: vector.shuffle
// CHECK:         arith.addi {{.*}}, [[TWO]]
// CHECK:         loop.prefetch
// CHECK:         vector.store
// CHECK-LABEL: @small_transpose
// CHECK-NOT:     prefetch

// -----

// A pointwise kernel asks for lines 2 KiB ahead of each tensor that it walks, but not for the bias
// that stays in the cache.
func.func private @pointwise(%x: memref<8192x2048xf32>, %b: memref<2048xf32>, %z: memref<8192x2048xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8192, 2048] reads(%x[i, j] : memref<8192x2048xf32>, %b[j] : memref<2048xf32>) writes([i, j] store into %z : memref<8192x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32, %w: f32):
    %c = arith.addf %v, %w : f32
    loop.yield %c : f32
  }
  func.return
}
func.func private @in_cache(%x: memref<512x2048xf32>, %z: memref<512x2048xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [512, 2048] reads(%x[i, j] : memref<512x2048xf32>) writes([i, j] store into %z : memref<512x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32):
    %c = arith.addf %v, %v : f32
    loop.yield %c : f32
  }
  func.return
}
// CHECK-LABEL: @pointwise
// CHECK-DAG:     [[D:%\S+]] = arith.constant 512 : index
// CHECK:         [[S:%\S+]] = arith.addi {{.*}}, [[D]]
// CHECK:         scf.for
// CHECK:         loop.prefetch {{.*}} {locality = 2 : i64} : memref<16777216xf32>
// CHECK-NOT:     loop.prefetch {{.*}} memref<2048xf32>
// CHECK:         vector.store
// CHECK-LABEL: @in_cache
// CHECK-NOT:     prefetch

// -----

// Rows of a table at places that another nest masks: that of a row to come is computed ahead. It is
// the last row that counts at most: the argument may end there.
func.func private @masked(%ids: memref<8192xi64>, %n: memref<i64>, %table: memref<65536x1024xf32>, %y: memref<8192xf32>) attributes {lamina.kernel, lamina.live = #loop.live<[arg1 of 8192]>} {
  %p = memref.alloc() : memref<8192xi64>
  loop.generic (i) in [8192] reads(%ids[i] : memref<8192xi64>, %n[] : memref<i64>) writes([i] store into %p : memref<8192xi64>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8192]>} {
  ^bb0(%id: i64, %c: i64):
    %i = loop.index 0 : index
    %at = arith.index_cast %i : index to i64
    %in = arith.cmpi slt, %at, %c : i64
    %zero = arith.constant 0 : i64
    %safe = arith.select %in, %id, %zero : i64
    loop.yield %safe : i64
  }
  %m = memref.alloc() : memref<8192xf32>
  %e = memref.alloc() : memref<8192x1024xf32>
  loop.generic (i, j) in [8192, 1024] reads(%p[i] : memref<8192xi64>) sources(%table : memref<65536x1024xf32>) writes([i, j] store into %e : memref<8192x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8192]>} {
  ^bb0(%id: i64, %t: memref<65536x1024xf32>):
    %n0 = arith.index_cast %id : i64 to index
    %j = loop.index 1 : index
    %v = loop.read %t[%n0, %j] : memref<65536x1024xf32>
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8192, 1024] reads(%e[i, j] : memref<8192x1024xf32>) writes([i] max into %m : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8192]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8192, 1024] reads(%e[i, j] : memref<8192x1024xf32>, %m[i] : memref<8192xf32>) writes([i] add into %y : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8192]>} {
  ^bb0(%v: f32, %top: f32):
    %d = arith.subf %v, %top : f32
    loop.yield %d : f32
  }
  func.return
}
// CHECK-LABEL: @masked
// CHECK:         scf.parallel
// CHECK-SAME:    ([[ZERO:%\S+]], [[END:%\S+]], [[ONE:%\S+]])
// CHECK-NEXT:    ^{{.*}}([[R:%\S+]]: index):
// CHECK:         [[N:%\S+]] = arith.addi [[R]], {{.*}}
// CHECK-NEXT:    [[LAST:%\S+]] = arith.subi [[END]], {{.*}}
// CHECK-NEXT:    [[A:%\S+]] = arith.minsi [[N]], [[LAST]]
// CHECK:         vector.reduction <maximumf>
// CHECK-NEXT:    [[ID:%\S+]] = memref.load %{{.*}}[[[A]]] : memref<8192xi64>
// CHECK-NEXT:    [[COUNT:%\S+]] = memref.load
// CHECK-NEXT:    [[AT:%\S+]] = arith.index_cast [[A]]
// CHECK-NEXT:    [[IN:%\S+]] = arith.cmpi slt, [[AT]], [[COUNT]]
// CHECK-NEXT:    [[P:%\S+]] = arith.select [[IN]], [[ID]]
// CHECK-NEXT:    [[PLACE:%\S+]] = arith.index_cast [[P]]
// CHECK-NEXT:    [[FITS:%\S+]] = arith.cmpi ult, [[PLACE]]
// CHECK-NEXT:    [[SAFE:%\S+]] = arith.select [[FITS]], [[PLACE]]
// CHECK-NEXT:    arith.muli [[SAFE]]
// CHECK:         loop.prefetch

// -----

// Where rows that count lie behind others, nothing is asked of one that does not: the row at hand
// stands for it.
func.func private @gaps(%ids: memref<8192xi64>, %n: memref<i64>, %table: memref<65536x1024xf32>, %y: memref<8192xf32>) attributes {lamina.kernel, lamina.live = #loop.live<[64, arg1 of 128]>} {
  %p = memref.alloc() : memref<8192xi64>
  loop.generic (i) in [8192] reads(%ids[i] : memref<8192xi64>, %n[] : memref<i64>) writes([i] store into %p : memref<8192xi64>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [64, arg1 of 128]>} {
  ^bb0(%id: i64, %c: i64):
    %i = loop.index 0 : index
    %at = arith.index_cast %i : index to i64
    %in = arith.cmpi slt, %at, %c : i64
    %zero = arith.constant 0 : i64
    %safe = arith.select %in, %id, %zero : i64
    loop.yield %safe : i64
  }
  %m = memref.alloc() : memref<8192xf32>
  %e = memref.alloc() : memref<8192x1024xf32>
  loop.generic (i, j) in [8192, 1024] reads(%p[i] : memref<8192xi64>) sources(%table : memref<65536x1024xf32>) writes([i, j] store into %e : memref<8192x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [64, arg1 of 128]>} {
  ^bb0(%id: i64, %t: memref<65536x1024xf32>):
    %n0 = arith.index_cast %id : i64 to index
    %j = loop.index 1 : index
    %v = loop.read %t[%n0, %j] : memref<65536x1024xf32>
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8192, 1024] reads(%e[i, j] : memref<8192x1024xf32>) writes([i] max into %m : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [64, arg1 of 128]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8192, 1024] reads(%e[i, j] : memref<8192x1024xf32>, %m[i] : memref<8192xf32>) writes([i] add into %y : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [64, arg1 of 128]>} {
  ^bb0(%v: f32, %top: f32):
    %d = arith.subf %v, %top : f32
    loop.yield %d : f32
  }
  func.return
}
// CHECK-LABEL: @gaps
// CHECK:         scf.parallel
// CHECK:         [[R:%\S+]] = arith.minsi {{.*}}
// CHECK-NEXT:    memref.alloca
// CHECK-NEXT:    [[N:%\S+]] = arith.addi [[R]]
// CHECK-NEXT:    [[A:%\S+]] = arith.minsi [[N]]
// CHECK-NEXT:    [[DIGIT:%\S+]] = arith.remui [[A]]
// CHECK:         [[COUNTS:%\S+]] = arith.cmpi ult, [[DIGIT]]
// CHECK-NEXT:    [[AHEAD:%\S+]] = arith.select [[COUNTS]], [[A]], [[R]]
// CHECK:         vector.reduction <maximumf>
// CHECK-NEXT:    memref.load %{{.*}}[[[AHEAD]]] : memref<8192xi64>
// CHECK:         loop.prefetch

// -----

// Places that are looked up themselves are not followed.
func.func private @looked_up(%ids: memref<8192xi64>, %n: memref<i64>, %table: memref<65536x1024xf32>, %y: memref<8192xf32>) attributes {lamina.kernel, lamina.live = #loop.live<[arg1 of 8192]>} {
  %p = memref.alloc() : memref<8192xi64>
  loop.generic (i) in [8192] sources(%ids : memref<8192xi64>) writes([i] store into %p : memref<8192xi64>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8192]>} {
  ^bb0(%t: memref<8192xi64>):
    %i = loop.index 0 : index
    %back = arith.constant 8191 : index
    %from = arith.subi %back, %i : index
    %safe = loop.read %t[%from] : memref<8192xi64>
    loop.yield %safe : i64
  }
  %m = memref.alloc() : memref<8192xf32>
  %e = memref.alloc() : memref<8192x1024xf32>
  loop.generic (i, j) in [8192, 1024] reads(%p[i] : memref<8192xi64>) sources(%table : memref<65536x1024xf32>) writes([i, j] store into %e : memref<8192x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8192]>} {
  ^bb0(%id: i64, %t: memref<65536x1024xf32>):
    %n0 = arith.index_cast %id : i64 to index
    %j = loop.index 1 : index
    %v = loop.read %t[%n0, %j] : memref<65536x1024xf32>
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8192, 1024] reads(%e[i, j] : memref<8192x1024xf32>) writes([i] max into %m : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8192]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8192, 1024] reads(%e[i, j] : memref<8192x1024xf32>, %m[i] : memref<8192xf32>) writes([i] add into %y : memref<8192xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 8192]>} {
  ^bb0(%v: f32, %top: f32):
    %d = arith.subf %v, %top : f32
    loop.yield %d : f32
  }
  func.return
}
// CHECK-LABEL: @looked_up
// CHECK-NOT:     prefetch
// CHECK:         func.return
