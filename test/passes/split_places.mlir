// RUN: lamina-opt %s -p split-places --split-input-file | filecheck %s

// Two places, each inside its dimension whatever the sizes are, are read at, not their sum.
// CHECK-LABEL: @joined
// CHECK:         [[T:%\S+]] = loop.reshape %t : tensor<1024x8xf32> -> tensor<16x64x8xf32>
// CHECK-NEXT:    loop.generic (d0, d1) in [256, 8] reads([[I:%\S+]][d0] : tensor<256xi64>, [[J:%\S+]][d0] : tensor<256xi64>) sources([[T]] : tensor<16x64x8xf32>)
// CHECK-NEXT:    ^bb0([[A:%\S+]]: i64, [[B:%\S+]]: i64, [[S:%\S+]]: tensor<16x64x8xf32>):
// CHECK-NEXT:      [[K:%\S+]] = loop.index 1 : index
// CHECK-NEXT:      [[P:%\S+]] = arith.index_cast [[A]] : i64 to index
// CHECK-NEXT:      [[Q:%\S+]] = arith.index_cast [[B]] : i64 to index
// CHECK-NEXT:      loop.read [[S]]{{\[}}[[P]], [[Q]], [[K]]] : tensor<16x64x8xf32>
func.func @joined(%t: tensor<1024x8xf32>, %n: tensor<i64>, %m: tensor<i64>) -> tensor<256x8xf32> {
  %row = loop.generic (i) in [256] reads(%n[] : tensor<i64>, %m[] : tensor<i64>) writes([i] store : tensor<256xi64>) {
  ^bb0(%a: i64, %b: i64):
    %d = loop.index 0 : index
    %p = arith.index_cast %d : index to i64
    %one = arith.constant 1 : i64
    %zero = arith.constant 0 : i64
    %length = arith.maxsi %b, %one : i64
    %q = arith.divsi %p, %length : i64
    %last = arith.subi %a, %one : i64
    %least = arith.minsi %q, %last : i64
    %r = arith.maxsi %least, %zero : i64
    loop.yield %r : i64
  }
  %column = loop.generic (i) in [256] reads(%m[] : tensor<i64>) writes([i] store : tensor<256xi64>) {
  ^bb0(%b: i64):
    %d = loop.index 0 : index
    %p = arith.index_cast %d : index to i64
    %one = arith.constant 1 : i64
    %zero = arith.constant 0 : i64
    %length = arith.maxsi %b, %one : i64
    %q = arith.divsi %p, %length : i64
    %whole = arith.muli %q, %length : i64
    %left = arith.subi %p, %whole : i64
    %r = arith.maxsi %left, %zero : i64
    loop.yield %r : i64
  }
  %place = loop.generic (i) in [256] reads(%row[i] : tensor<256xi64>, %column[i] : tensor<256xi64>) writes([i] store : tensor<256xi64>) {
  ^bb0(%a: i64, %b: i64):
    %length = arith.constant 64 : i64
    %p = arith.muli %a, %length : i64
    %r = arith.addi %p, %b : i64
    loop.yield %r : i64
  }
  %r = loop.generic (i, j) in [256, 8] reads(%place[i] : tensor<256xi64>) sources(%t : tensor<1024x8xf32>) writes([i, j] store : tensor<256x8xf32>) {
  ^bb0(%p: i64, %s: tensor<1024x8xf32>):
    %q = arith.index_cast %p : i64 to index
    %k = loop.index 1 : index
    %v = loop.read %s[%q, %k] : tensor<1024x8xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<256x8xf32>
}

// -----

// Places of a dimension that is joined of two are copied, and reshaped as their sum is.
// CHECK-LABEL: @reshaped
// CHECK:         [[A:%\S+]] = loop.generic (d0, d1) in [16, 16] reads(%rows[d0] : tensor<16xi64>) writes([d0, d1] store : tensor<16x16xi64>)
// CHECK:         [[I:%\S+]] = loop.reshape [[A]] : tensor<16x16xi64> -> tensor<256xi64>
// CHECK:         [[B:%\S+]] = loop.generic (d0, d1) in [16, 16] reads({{%\S+}}[d1] : tensor<16xi64>) writes([d0, d1] store : tensor<16x16xi64>)
// CHECK:         [[J:%\S+]] = loop.reshape [[B]] : tensor<16x16xi64> -> tensor<256xi64>
// CHECK:         loop.read {{%\S+}}[{{%\S+}}, {{%\S+}}] : tensor<16x64xf32>
func.func @reshaped(%t: tensor<1024xf32>, %n: tensor<i64>) -> tensor<256xf32> {
  %rows = loop.generic (i) in [16] reads(%n[] : tensor<i64>) writes([i] store : tensor<16xi64>) {
  ^bb0(%a: i64):
    %d = loop.index 0 : index
    %p = arith.index_cast %d : index to i64
    %one = arith.constant 1 : i64
    %zero = arith.constant 0 : i64
    %last = arith.subi %a, %one : i64
    %least = arith.minsi %p, %last : i64
    %r = arith.maxsi %least, %zero : i64
    loop.yield %r : i64
  }
  %columns = loop.generic (i) in [16] writes([i] store : tensor<16xi64>) {
  ^bb0:
    %d = loop.index 0 : index
    %p = arith.index_cast %d : index to i64
    loop.yield %p : i64
  }
  %sum = loop.generic (i, j) in [16, 16] reads(%rows[i] : tensor<16xi64>, %columns[j] : tensor<16xi64>) writes([i, j] store : tensor<16x16xi64>) {
  ^bb0(%a: i64, %b: i64):
    %length = arith.constant 64 : i64
    %p = arith.muli %a, %length : i64
    %r = arith.addi %p, %b : i64
    loop.yield %r : i64
  }
  %place = loop.reshape %sum : tensor<16x16xi64> -> tensor<256xi64>
  %r = loop.generic (i) in [256] reads(%place[i] : tensor<256xi64>) sources(%t : tensor<1024xf32>) writes([i] store : tensor<256xf32>) {
  ^bb0(%p: i64, %s: tensor<1024xf32>):
    %q = arith.index_cast %p : i64 to index
    %v = loop.read %s[%q] : tensor<1024xf32>
    loop.yield %v : f32
  }
  func.return %r : tensor<256xf32>
}

// -----

// Places that may be outside of their dimension are left in their sum, which may be inside nevertheless; so are those that
// end at no number of the call.
// CHECK-LABEL: @left_alone
// CHECK:         loop.read {{%\S+}}[{{%\S+}}] : tensor<1024xf32>
// CHECK:         loop.read {{%\S+}}[{{%\S+}}] : tensor<1024xf32>
func.func @left_alone(%t: tensor<1024xf32>, %n: tensor<i64>, %by: tensor<16xi64>) -> (tensor<16xf32>, tensor<16xf32>) {
  %rows = loop.generic (i) in [16] reads(%n[] : tensor<i64>) writes([i] store : tensor<16xi64>) {
  ^bb0(%a: i64):
    %d = loop.index 0 : index
    %p = arith.index_cast %d : index to i64
    %one = arith.constant 1 : i64
    %zero = arith.constant 0 : i64
    %last = arith.subi %a, %one : i64
    %least = arith.minsi %p, %last : i64
    %r = arith.maxsi %least, %zero : i64
    loop.yield %r : i64
  }
  %columns = loop.generic (i) in [16] writes([i] store : tensor<16xi64>) {
  ^bb0:
    %d = loop.index 0 : index
    %p = arith.index_cast %d : index to i64
    loop.yield %p : i64
  }
  %sum = loop.generic (i) in [16] reads(%rows[i] : tensor<16xi64>, %by[i] : tensor<16xi64>) writes([i] store : tensor<16xi64>) {
  ^bb0(%a: i64, %b: i64):
    %length = arith.constant 64 : i64
    %p = arith.muli %a, %length : i64
    %r = arith.addi %p, %b : i64
    loop.yield %r : i64
  }
  %known = loop.generic (i) in [16] reads(%columns[i] : tensor<16xi64>) writes([i] store : tensor<16xi64>) {
  ^bb0(%a: i64):
    %length = arith.constant 64 : i64
    %p = arith.muli %a, %length : i64
    %r = arith.addi %p, %a : i64
    loop.yield %r : i64
  }
  %r, %u = loop.generic (i) in [16] reads(%sum[i] : tensor<16xi64>, %known[i] : tensor<16xi64>) sources(%t : tensor<1024xf32>) writes([i] store : tensor<16xf32>, [i] store : tensor<16xf32>) {
  ^bb0(%p: i64, %o: i64, %s: tensor<1024xf32>):
    %q = arith.index_cast %p : i64 to index
    %v = loop.read %s[%q] : tensor<1024xf32>
    %k = arith.index_cast %o : i64 to index
    %w = loop.read %s[%k] : tensor<1024xf32>
    loop.yield %v, %w : f32, f32
  }
  func.return %r, %u : tensor<16xf32>, tensor<16xf32>
}

// -----

// Places that are joined where each is inside, and refused else, are read at each for itself, as its own dimension refuses it:
// one of them ends at a number of the call.
// CHECK-LABEL: @refused
// CHECK:         [[T:%\S+]] = loop.reshape %t : tensor<1024xf32> -> tensor<16x64xf32>
// CHECK-NEXT:    loop.generic (d0) in [256] reads([[I:%\S+]][d0] : tensor<256xi64>, %j[d0] : tensor<256xi64>) sources([[T]] : tensor<16x64xf32>)
// CHECK-NEXT:    ^bb0([[A:%\S+]]: i64, [[B:%\S+]]: i64, [[S:%\S+]]: tensor<16x64xf32>):
// CHECK:           loop.read [[S]][{{%\S+}}, {{%\S+}}] : tensor<16x64xf32>
// Another condition than that refuses more, or less.
// CHECK:         loop.read {{%\S+}}[{{%\S+}}] : tensor<1024xf32>
func.func @refused(%t: tensor<1024xf32>, %i: tensor<256xi64>, %j: tensor<256xi64>, %n: tensor<i64>) -> (tensor<256xf32>, tensor<256xf32>) {
  %row = loop.generic (d0) in [256] reads(%i[d0] : tensor<256xi64>, %n[] : tensor<i64>) writes([d0] store : tensor<256xi64>) {
  ^bb0(%a: i64, %b: i64):
    %zero = arith.constant 0 : i64
    %bound = arith.constant 16 : i64
    %low = arith.cmpi slt, %a, %zero : i64
    %high = arith.cmpi sge, %a, %b : i64
    %out = arith.ori %low, %high : i1
    %r = arith.select %out, %bound, %a : i64
    loop.yield %r : i64
  }
  %place, %other = loop.generic (d0) in [256] reads(%row[d0] : tensor<256xi64>, %j[d0] : tensor<256xi64>) writes([d0] store : tensor<256xi64>, [d0] store : tensor<256xi64>) {
  ^bb0(%a: i64, %b: i64):
    %zero = arith.constant 0 : i64
    %rows = arith.constant 16 : i64
    %columns = arith.constant 64 : i64
    %none = arith.constant -1 : i64
    %p = arith.muli %a, %columns : i64
    %sum = arith.addi %p, %b : i64
    %c0 = arith.cmpi sge, %a, %zero : i64
    %c1 = arith.cmpi slt, %a, %rows : i64
    %c2 = arith.cmpi sge, %b, %zero : i64
    %c3 = arith.cmpi slt, %b, %columns : i64
    %c4 = arith.andi %c0, %c1 : i1
    %c5 = arith.andi %c2, %c3 : i1
    %c6 = arith.andi %c4, %c5 : i1
    %r = arith.select %c6, %sum, %none : i64
    %c7 = arith.andi %c4, %c2 : i1
    %s = arith.select %c7, %sum, %none : i64
    loop.yield %r, %s : i64, i64
  }
  %x = loop.generic (d0) in [256] reads(%place[d0] : tensor<256xi64>) sources(%t : tensor<1024xf32>) writes([d0] store : tensor<256xf32>) {
  ^bb0(%p: i64, %s: tensor<1024xf32>):
    %q = arith.index_cast %p : i64 to index
    %v = loop.read %s[%q] : tensor<1024xf32>
    loop.yield %v : f32
  }
  %y = loop.generic (d0) in [256] reads(%other[d0] : tensor<256xi64>) sources(%t : tensor<1024xf32>) writes([d0] store : tensor<256xf32>) {
  ^bb0(%p: i64, %s: tensor<1024xf32>):
    %q = arith.index_cast %p : i64 to index
    %v = loop.read %s[%q] : tensor<1024xf32>
    loop.yield %v : f32
  }
  func.return %x, %y : tensor<256xf32>, tensor<256xf32>
}
