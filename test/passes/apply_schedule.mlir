// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v3"},choose-schedule{target="x86-64-v3"},apply-schedule' --split-input-file | filecheck %s

// Two vectors a step, then single ones, then a masked rest that is not read past its end.
func.func private @pointwise(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @pointwise
// CHECK:         scf.for
// CHECK-COUNT-2: vector.load
// CHECK:         }
// CHECK-NEXT:    %{{.*}} = vector.load {{.*}} vector<8xf32>
// CHECK-NEXT:    arith.negf
// CHECK-NEXT:    vector.store
// CHECK-NEXT:    [[M:%\S+]] = vector.create_mask {{.*}} : vector<8xi1>
// CHECK-NEXT:    vector.maskedload {{.*}}, [[M]],
// CHECK-NEXT:    arith.negf
// CHECK-NEXT:    vector.maskedstore {{.*}}, [[M]],
// CHECK-NEXT:    func.return

// -----

// Sums of columns: lanes behind the last one are not stored, so what they add up is left as it is.
func.func private @columns(%x: memref<3x20xf32>, %y: memref<20xf32>) attributes {lamina.kernel} {
  loop.generic (k, j) in [3, 20] reads(%x[k, j] : memref<3x20xf32>) writes([j] add into %y : memref<20xf32>) attributes {lamina.schedule = #loop.schedule<vectorize = d1 x 8, unroll = 2>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @columns
// CHECK:         scf.for
// CHECK-COUNT-2: vector.load
// CHECK:         [[M:%\S+]] = vector.create_mask {{.*}} : vector<8xi1>
// CHECK-NEXT:    [[S:%\S+]] = scf.for
// CHECK:         [[V:%\S+]] = vector.maskedload {{.*}}, [[M]],
// CHECK-NEXT:    [[T:%\S+]] = arith.addf [[V]]
// CHECK-NEXT:    scf.yield [[T]]
// CHECK:         vector.maskedstore {{.*}}, [[M]], [[S]]

// -----

// Rows in parallel, four accumulators for each, joined as a tree.
func.func private @rows(%x: memref<4096x64xf32>, %y: memref<4096xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [4096, 64] reads(%x[i, j] : memref<4096x64xf32>) writes([i] max into %y : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @rows
// CHECK:         scf.parallel
// CHECK:         [[R:%\S+]], {{.*}} = scf.for
// CHECK-COUNT-4: vector.load
// CHECK:         scf.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    arith.maximumf
// CHECK-NEXT:    arith.maximumf
// CHECK-NEXT:    [[T:%\S+]] = arith.maximumf
// CHECK-NEXT:    [[S:%\S+]] = vector.reduction <maximumf>, [[T]]
// CHECK-NEXT:    memref.store [[S]]

// -----

// Many totals of one read: vectors still run along the row that is read, and gather nothing.
func.func private @totals(%x: memref<4096x64xf32>, %y: memref<4096xf32>, %z: memref<4096xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [4096, 64] reads(%x[i, j] : memref<4096x64xf32>) writes([i] max into %y : memref<4096xf32>, [i] add into %z : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v, %v : f32, f32
  }
  func.return
}
// CHECK-LABEL: @totals
// CHECK-NOT:     loop.gather
// CHECK:         vector.reduction <maximumf>
// CHECK:         vector.reduction <add>

// -----

// Long columns: four rows far apart are added up together, totals stay in scratch.
func.func private @streams(%x: memref<48x256xf32>, %y: memref<256xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [48, 256] reads(%x[i, j] : memref<48x256xf32>) writes([j] add into %y : memref<256xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @streams
// CHECK-DAG:     [[Q:%\S+]] = arith.constant 12 : index
// CHECK:         [[T:%\S+]] = memref.alloca() {{.*}} memref<256xf32>
// CHECK:         scf.for
// CHECK-NEXT:    vector.store {{.*}}, [[T]]
// CHECK:         scf.for %{{.*}} to [[Q]] step
// CHECK:         scf.for
// CHECK-COUNT-4: vector.load {{.*}} : memref<12288xf32>
// CHECK:         [[B:%\S+]] = vector.load [[T]]
// CHECK-NEXT:    [[S:%\S+]] = arith.addf {{.*}}, [[B]]
// CHECK-NEXT:    vector.store [[S]], [[T]]

// -----

// A large tensor that is only reduced: four rows a quarter of it apart, two vectors of each a step.
func.func private @far_rows(%x: memref<256x4096xf32>, %y: memref<256xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [256, 4096] reads(%x[i, j] : memref<256x4096xf32>) writes([i] add into %y : memref<256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @far_rows
// CHECK-DAG:     [[Q:%\S+]] = arith.constant 64 : index
// CHECK-DAG:     [[W:%\S+]] = arith.constant 16 : index
// CHECK:         "scf.parallel"({{.*}}, [[Q]], {{.*}})
// CHECK:         scf.for {{.*}} step [[W]]
// CHECK-COUNT-8: vector.load
// CHECK:         scf.yield
// CHECK-COUNT-4: memref.store

// -----

// The greatest of no numbers is minus infinity.
func.func private @empty(%x: memref<3x0xf32>, %y: memref<3xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [3, 0] reads(%x[i, j] : memref<3x0xf32>) writes([i] max into %y : memref<3xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @empty
// CHECK:         [[I:%\S+]] = arith.constant 0xff800000 : f32
// CHECK:         scf.for
// CHECK-NEXT:    memref.store [[I]]
// CHECK-NOT:     vector

// -----

// Lanes outside the tensor are masked off and give the pad; nothing out there is touched.
func.func private @padded(%x: memref<6xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [8] reads(%x[i - 1] pad 2.0 : f32 : memref<6xf32>) writes([i] store into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @padded
// CHECK:         [[P:%\S+]] = arith.constant dense<2.000000e+00> : vector<8xf32>
// CHECK:         [[M:%\S+]] = loop.cmpi %{{.*}}, %{{.*}} {predicate = 6 : i64}
// CHECK-NEXT:    [[V:%\S+]] = vector.maskedload {{.*}}, [[M]], [[P]]
// CHECK-NEXT:    vector.store [[V]]

// -----

// Every index is checked, and replaced by a safe one before the read.
func.func private @gather(%n: memref<8xi64>, %x: memref<10xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [8] reads(%n[i] : memref<8xi64>) sources(%x : memref<10xf32>) writes([i] store into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: i64, %t: memref<10xf32>):
    %i = arith.index_cast %v : i64 to index
    %u = loop.read %t[%i] : memref<10xf32>
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @gather
// CHECK:         [[M:%\S+]] = loop.cmpi [[I:%\S+]], %{{.*}} {predicate = 6 : i64}
// CHECK-NEXT:    [[S:%\S+]] = loop.select [[M]], [[I]],
// CHECK-NEXT:    [[A:%\S+]] = vector.reduction <and>, [[M]]
// CHECK-NEXT:    cf.assert [[A]], "index out of range: must be at least 0 and below 10"
// CHECK-NEXT:    loop.gather {{.*}}[[S]]

// -----

// No check where the range of the loops is proof enough, and no gather for neighbours.
func.func private @in_bounds(%x: memref<10xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [8] sources(%x : memref<10xf32>) writes([i] store into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%t: memref<10xf32>):
    %i = loop.index 0 : index
    %c = arith.constant 2 : index
    %j = arith.addi %i, %c : index
    %u = loop.read %t[%j] : memref<10xf32>
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @in_bounds
// CHECK-NOT:     cf.assert
// CHECK-NOT:     loop.gather
// CHECK:         vector.load
// CHECK-NEXT:    vector.store

// -----

// A row's sum stays in a register; what is read again keeps scratch for one row.
func.func private @chain(%x: memref<4x16xf32>, %y: memref<4x16xf32>) attributes {lamina.kernel} {
  %e = memref.alloc() {alignment = 64 : i64} : memref<4x16xf32>
  %s = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  loop.generic (i, j) in [4, 16] reads(%x[i, j] : memref<4x16xf32>) writes([i, j] store into %e : memref<4x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = math.exp %v : f32
    loop.yield %u : f32
  }
  loop.generic (i, j) in [4, 16] reads(%e[i, j] : memref<4x16xf32>) writes([i] add into %s : memref<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [4, 16] reads(%e[i, j] : memref<4x16xf32>, %s[i] : memref<4xf32>) writes([i, j] store into %y : memref<4x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %w: f32):
    %u = arith.divf %v, %w : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @chain
// CHECK:         scf.for
// CHECK-NEXT:    [[E:%\S+]] = memref.alloca() {alignment = 64 : i64} : memref<16xf32>
// CHECK-NOT:     memref.alloca
// CHECK:         math.exp
// CHECK-NEXT:    vector.store %{{.*}}, [[E]]
// CHECK-NEXT:    arith.addf
// CHECK:         [[S:%\S+]] = vector.reduction <add>
// CHECK-NOT:     memref.store
// CHECK:         vector.load [[E]]
// CHECK-NEXT:    vector.broadcast [[S]]
// CHECK-NEXT:    arith.divf

// -----

// A transposed operand is read in tiles; what sticks out of the last tile is masked, not gathered.
func.func private @turned(%x: memref<12x8xf32>, %y: memref<8x12xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 12] reads(%x[j, i] : memref<12x8xf32>) writes([i, j] store into %y : memref<8x12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @turned
// CHECK-NOT:     loop.gather
// CHECK:         vector.shuffle
// CHECK:         vector.store
// CHECK:         vector.create_mask
// CHECK:         vector.shuffle
// CHECK:         vector.maskedstore
// CHECK-NOT:     loop.gather

// -----

// A side of less than half a tile would leave most of each register empty: of neighbouring vectors,
// every third element is chosen.
func.func private @narrow(%x: memref<12x3xf32>, %y: memref<3x12xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [3, 12] reads(%x[j, i] : memref<12x3xf32>) writes([i, j] store into %y : memref<3x12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @narrow
// CHECK-NOT:     loop.gather
// CHECK:         [[A:%\S+]] = vector.load
// CHECK-NEXT:    arith.addi
// CHECK-NEXT:    [[B:%\S+]] = vector.load
// CHECK:         vector.shuffle
// CHECK-NOT:     loop.gather


// -----

// Comparisons of vectors have no fast-math flags, which those of scalars carry.
func.func private @compared(%x: memref<8xf32>, %y: memref<8xi1>) attributes {lamina.kernel} {
  loop.generic (i) in [8] reads(%x[i] : memref<8xf32>) writes([i] store into %y : memref<8xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %m = arith.cmpf ogt, %v, %v : f32
    loop.yield %m : i1
  }
  func.return
}
// CHECK-LABEL: @compared
// CHECK:         loop.cmpf {{.*}} {predicate = 2 : i64} : vector<8xf32>, vector<8xf32> -> vector<8xi1>

// -----

// A product in a sum may be rounded with it only: the addition says so.
// CHECK-LABEL: @squares
// CHECK:         %[[SQUARE:[0-9]+]] = arith.mulf %[[X:[0-9]+]], %[[X]] fastmath<contract> : vector<8xf32>
// CHECK-NEXT:    arith.addf %[[SQUARE]], %{{\S+}} fastmath<contract> : vector<8xf32>
func.func private @squares(%x: memref<64x512xf32>, %a: memref<64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false>]} {
  loop.generic (i, j) in [64, 512] reads(%x[i, j] : memref<64x512xf32>) writes([i] add into %a : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 8, unroll = 1>} {
  ^bb0(%u: f32):
    %v = arith.mulf %u, %u : f32
    loop.yield %v : f32
  }
  func.return
}
