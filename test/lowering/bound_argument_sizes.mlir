// RUN: lamina-opt %s --split-input-file --verify-diagnostics -p bound-dynamic-shapes | filecheck %s

// An argument is padded to the most that its range allows; each name is one more input.

// CHECK-LABEL: @main
// CHECK-SAME:    %x: tensor<128x8xf32>, %y: tensor<257x8xf32>, %w: tensor<8x3xf32>
// CHECK-SAME:    [[N:%\S+]]: tensor<i64> {lamina.kind = "input", lamina.name = "size(batch)"}
// CHECK-SAME:    -> (tensor<128x8xf32> {lamina.sizes = [0 : i64, -1 : i64]}
// CHECK-SAME:        tensor<257x3xf32> {lamina.sizes = [1 : i64, -1 : i64]}
// CHECK:         [[TWICE:%\S+]] = aten.mul.Scalar([[N]], other = 2)
// CHECK:         [[MORE:%\S+]] = aten.add.Scalar([[TWICE]], other = 1)
// CHECK:         [[EXP:%\S+]] = aten.exp.default(%x)
// CHECK:         [[MM:%\S+]] = aten.matmul.default(%y, %w)
// CHECK:         func.return [[EXP]], [[MM]], [[N]], [[MORE]]
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [1, 128]>]},
                %y: tensor<?x8xf32> {lamina.dims = [#lamina.size<2 * batch + 1>]}, %w: tensor<8x3xf32>)
    -> (tensor<?x8xf32> {lamina.dims = [#lamina.size<batch>]}, tensor<?x3xf32>) {
  %e = aten.exp.default(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %m = aten.mm.default(%y, %w) : (tensor<?x8xf32>, tensor<8x3xf32>) -> tensor<?x3xf32>
  func.return %e, %m : tensor<?x8xf32>, tensor<?x3xf32>
}

// -----

// A mask as long as two arguments together has the size of what is joined: nothing is checked.

// CHECK-LABEL: @main
// CHECK-SAME:    %past: tensor<16x8xf32>, %new: tensor<4x8xf32>, %mask: tensor<20x1xf32>, %all: tensor<64x1xf32>
// CHECK-SAME:    [[P:%\S+]]: tensor<i64> {lamina.kind = "input", lamina.name = "size(past)"}
// CHECK-SAME:    [[N:%\S+]]: tensor<i64> {lamina.kind = "input", lamina.name = "size(new)"}
// CHECK-SAME:    -> (tensor<20x8xf32> {lamina.sizes = [0 : i64, -1 : i64]}, tensor<64x1xf32> {lamina.sizes = [1 : i64, -1 : i64]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"})
// CHECK:         [[SUM:%\S+]] = aten.add.Tensor([[N]], [[P]])
// CHECK:         [[PRODUCT:%\S+]] = aten.mul.Tensor([[N]], [[P]])
// CHECK:         func.return {{.*}}, [[SUM]], [[PRODUCT]]
func.func @main(%past: tensor<?x8xf32> {lamina.dims = [#lamina.size<past in [0, 16]>]},
                %new: tensor<?x8xf32> {lamina.dims = [#lamina.size<new in [0, 4]>]},
                %mask: tensor<?x1xf32> {lamina.dims = [#lamina.size<past + new>]},
                %all: tensor<?x1xf32> {lamina.dims = [#lamina.size<past * new>]})
    -> (tensor<?x8xf32>, tensor<?x1xf32>) {
  %0 = aten.cat.default([%past, %new]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = aten.mul.Tensor(%0, %mask) : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %2 = aten.exp.default(%all) : (tensor<?x1xf32>) -> tensor<?x1xf32>
  func.return %1, %2 : tensor<?x8xf32>, tensor<?x1xf32>
}

// -----

// Padding among the keys is masked; behind a causal mask there is none to be seen, but its values
// become 0: a weight of 0 times what is not finite is no 0.

// CHECK-LABEL: @main
// CHECK:         [[KEY:%\S+]] = aten.where.self({{%\S+}}, %k, {{%\S+}})
// CHECK:         [[SEEN:%\S+]] = aten.reshape.default({{%\S+}}, shape = [1, 64])
// CHECK:         aten.scaled_dot_product_attention.default(%q, [[KEY]], {{%\S+}}, [[SEEN]])
// CHECK:         [[VALUE:%\S+]] = aten.where.self({{%\S+}}, %v, {{%\S+}})
// CHECK-NOT:     aten.logical_and
// CHECK:         aten.scaled_dot_product_attention.default({{%\S+}}, {{%\S+}}, [[VALUE]], is_causal = true)
func.func @main(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x?x8xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]},
                %v: tensor<2x4x?x8xf32> {lamina.dims = [#lamina.size<n>]})
    -> (tensor<2x4x5x8xf32>, tensor<2x4x?x8xf32>) {
  %0 = aten.scaled_dot_product_attention.default(%q, %k, %v) : (tensor<2x4x5x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>) -> tensor<2x4x5x8xf32>
  %1 = aten.scaled_dot_product_attention.default(%k, %k, %v, is_causal = true) : (tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>) -> tensor<2x4x?x8xf32>
  func.return %0, %1 : tensor<2x4x5x8xf32>, tensor<2x4x?x8xf32>
}

// -----

// Samples of a batch are computed alone.

// CHECK-LABEL: @main
// CHECK:         aten.conv2d.default(%x, %w) : (tensor<16x3x8x8xf32>, tensor<5x3x3x3xf32>) -> tensor<16x5x6x6xf32>
func.func @main(%x: tensor<?x3x8x8xf32> {lamina.dims = [#lamina.size<n in [1, 16]>]}, %w: tensor<5x3x3x3xf32>) -> tensor<?x5x6x6xf32> {
  %0 = aten.conv2d.default(%x, %w) : (tensor<?x3x8x8xf32>, tensor<5x3x3x3xf32>) -> tensor<?x5x6x6xf32>
  func.return %0 : tensor<?x5x6x6xf32>
}

// -----

// Rows are looked up as they were, so that no place counts from the end; those of padding are 0.

// CHECK-LABEL: @main
// CHECK:         [[SAFE:%\S+]] = aten.where.self({{.*}}, %i, {{.*}})
// CHECK-NEXT:    aten.embedding.default(%w, [[SAFE]]) : (tensor<9x8xf32>, tensor<16xi64>) -> tensor<16x8xf32>
// CHECK-NOT:     aten.add
func.func @main(%i: tensor<?xi64> {lamina.dims = [#lamina.size<n in [1, 16]>]}, %w: tensor<9x8xf32>) -> tensor<?x8xf32> {
  %0 = aten.embedding.default(%w, %i) : (tensor<9x8xf32>, tensor<?xi64>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}

// -----

// Dimensions that are joined are read from where they stand: rows stay whole.

// CHECK-LABEL: @main
// CHECK:         [[ROWS:%\S+]] = aten.reshape.default(%x, shape = [24, 8])
// CHECK:         aten.index_select.default([[ROWS]], dim = 0, index = {{%\S+}}) : (tensor<24x8xf32>, tensor<24xi64>) -> tensor<24x8xf32>
func.func @main(%x: tensor<4x?x8xf32> {lamina.dims = [#lamina.size<n in [1, 6]>]}) -> tensor<?x8xf32> {
  %0 = aten.view.default(%x, [-1, 8]) : (tensor<4x?x8xf32>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}

// -----

// That there are as many elements tells what a size is: features in pairs stay where they are.

// CHECK-LABEL: @main
// CHECK-SAME:    %x: tensor<6x64xf32>
// CHECK:         aten.eq.Tensor
// CHECK-NOT:     aten.index_select
// CHECK:         [[PAIRS:%\S+]] = aten.reshape.default(%x, shape = [6, 32, 2])
// CHECK:         aten.exp.default([[PAIRS]])
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n in [1, 6]>, #lamina.size<d in [1, 64]>]}) -> tensor<?x?x2xf32> {
  %n = aten.sym_size.int(%x, 0) : (tensor<?x?xf32>) -> i64
  %d = aten.sym_size.int(%x, 1) : (tensor<?x?xf32>) -> i64
  %two = arith.constant 2 : i64
  %pairs = arith.floordivsi %d, %two : i64
  %0 = aten.view.default(%x, [%n, %pairs, 2]) : (tensor<?x?xf32>, i64, i64) -> tensor<?x?x2xf32>
  %1 = aten.exp.default(%0) : (tensor<?x?x2xf32>) -> tensor<?x?x2xf32>
  func.return %1 : tensor<?x?x2xf32>
}

// -----

// Where the pairs are as many as a weight has, padding behind them is cut off, and they are joined in place.

// CHECK-LABEL: @main
// CHECK-SAME:    %x: tensor<6x64xf32>
// CHECK-NOT:     aten.index_select
// CHECK:         [[PAIRS:%\S+]] = aten.reshape.default(%x, shape = [6, 32, 2])
// CHECK:         [[FEW:%\S+]] = aten.slice.Tensor([[PAIRS]], dim = 1, start = 0, end = 4)
// CHECK:         [[MADE:%\S+]] = aten.mul.Tensor([[FEW]], {{%\S+}})
// CHECK-NOT:     aten.index_select
// CHECK:         aten.reshape.default([[MADE]], shape = [6, 8])
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n in [1, 6]>, #lamina.size<d in [1, 64]>]}, %y: tensor<4x2xf32>) -> tensor<?x?xf32> {
  %n = aten.sym_size.int(%x, 0) : (tensor<?x?xf32>) -> i64
  %d = aten.sym_size.int(%x, 1) : (tensor<?x?xf32>) -> i64
  %two = arith.constant 2 : i64
  %pairs = arith.floordivsi %d, %two : i64
  %0 = aten.view.default(%x, [%n, %pairs, 2]) : (tensor<?x?xf32>, i64, i64) -> tensor<?x?x2xf32>
  %1 = aten.mul.Tensor(%0, %y) : (tensor<?x?x2xf32>, tensor<4x2xf32>) -> tensor<?x4x2xf32>
  %both = arith.muli %pairs, %two : i64
  %2 = aten.view.default(%1, [%n, %both]) : (tensor<?x4x2xf32>, i64, i64) -> tensor<?x?xf32>
  func.return %2 : tensor<?x?xf32>
}

// -----

// Pairs in front of halves are no run of padded features: elements are moved.

// CHECK-LABEL: @main
// CHECK-SAME:    %x: tensor<6x64xf32>
// CHECK:         aten.eq.Tensor
// CHECK:         aten.index_select
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n in [1, 6]>, #lamina.size<d in [1, 64]>]}) -> tensor<?x2x?xf32> {
  %n = aten.sym_size.int(%x, 0) : (tensor<?x?xf32>) -> i64
  %d = aten.sym_size.int(%x, 1) : (tensor<?x?xf32>) -> i64
  %two = arith.constant 2 : i64
  %half = arith.floordivsi %d, %two : i64
  %0 = aten.view.default(%x, [%n, 2, %half]) : (tensor<?x?xf32>, i64, i64) -> tensor<?x2x?xf32>
  %1 = aten.exp.default(%0) : (tensor<?x2x?xf32>) -> tensor<?x2x?xf32>
  func.return %1 : tensor<?x2x?xf32>
}

// -----

// A gradient of as many rows as the call says: padding of the places goes to one behind all of them, which is cut off.

// CHECK-LABEL: @main
// CHECK-SAME:    [[N:%\S+]]: tensor<i64> {lamina.kind = "input", lamina.name = "size(n)"}
// CHECK-SAME:    -> (tensor<9x8xf32> {lamina.sizes = [0 : i64, -1 : i64]}
// CHECK:         [[ALL:%\S+]] = aten.embedding_dense_backward.default(%g, {{%\S+}}, num_weights = 10, padding_idx = -1, scale_grad_by_freq = false)
// CHECK:         aten.slice.Tensor([[ALL]], start = 0, end = 9)
func.func @main(%g: tensor<?x8xf32> {lamina.dims = [#lamina.size<k in [1, 6]>]}, %i: tensor<?xi64> {lamina.dims = [#lamina.size<k>]}, %t: tensor<?x8xf32> {lamina.dims = [#lamina.size<n in [1, 9]>]}) -> tensor<?x8xf32> {
  %n = aten.sym_size.int(%t, 0) : (tensor<?x8xf32>) -> i64
  %0 = aten.embedding_dense_backward.default(%g, %i, %n, -1, false) : (tensor<?x8xf32>, tensor<?xi64>, i64) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}

// -----

// CHECK: argument 0: the size n has no upper bound
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %0 = aten.exp.default(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

// Zeros stand behind the end of an image. Two ways to one size are one size: nothing is checked, and
// what has padding in front gets no more windows from there.

// CHECK-LABEL: @main
// CHECK:         [[IMAGE:%\S+]] = aten.where.self({{%\S+}}, %x, {{%\S+}})
// CHECK:         [[WIDE:%\S+]] = aten.conv2d.default([[IMAGE]], %w, stride = [2, 2], padding = [1, 1]) : (tensor<1x3x17x8xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x9x4xf32>
// CHECK:         aten.conv2d.default({{%\S+}}, %v, stride = [2, 2])
// CHECK-NOT:     aten.eq
// CHECK:         aten.add.Tensor([[WIDE]], {{%\S+}})
func.func @main(%x: tensor<1x3x?x8xf32> {lamina.dims = [#lamina.size<n in [3, 17]>]}, %w: tensor<3x3x3x3xf32>,
                %v: tensor<3x3x1x1xf32>) -> tensor<1x3x?x4xf32> {
  %0 = aten.conv2d.default(%x, %w, stride = [2, 2], padding = [1, 1]) : (tensor<1x3x?x8xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x?x4xf32>
  %1 = aten.conv2d.default(%x, %v, stride = [2, 2]) : (tensor<1x3x?x8xf32>, tensor<3x3x1x1xf32>) -> tensor<1x3x?x4xf32>
  %2 = aten.add.Tensor(%0, %1) : (tensor<1x3x?x4xf32>, tensor<1x3x?x4xf32>) -> tensor<1x3x?x4xf32>
  func.return %2 : tensor<1x3x?x4xf32>
}

// -----

// A product with a kernel of one element computes on padding as on elements.

// CHECK-LABEL: @main
// CHECK:         aten.conv2d.default(%x, %w) : (tensor<1x3x16x8xf32>
func.func @main(%x: tensor<1x3x?x8xf32> {lamina.dims = [#lamina.size<n in [3, 16]>]}, %w: tensor<5x3x1x1xf32>) -> tensor<1x5x?x8xf32> {
  %0 = aten.conv2d.default(%x, %w) : (tensor<1x3x?x8xf32>, tensor<5x3x1x1xf32>) -> tensor<1x5x?x8xf32>
  func.return %0 : tensor<1x5x?x8xf32>
}

// -----

// A maximum leaves out what is least; a mean is divided by what a window has of the image.

// CHECK-LABEL: @main
// CHECK:         [[LEAST:%\S+]] = aten.scalar_tensor.default({{.*}}inf
// CHECK:         [[IMAGE:%\S+]] = aten.where.self({{%\S+}}, %x, [[LEAST]])
// CHECK:         aten.max_pool2d.default([[IMAGE]], kernel_size = [2, 2])
// CHECK:         aten.avg_pool2d.default({{%\S+}}, kernel_size = [3, 3], {{.*}}divisor_override = 1)
// CHECK:         aten.div.Tensor
func.func @main(%x: tensor<1x3x?x8xf32> {lamina.dims = [#lamina.size<n in [3, 16]>]}) -> (tensor<1x3x?x4xf32>, tensor<1x3x?x4xf32>) {
  %0 = aten.max_pool2d.default(%x, [2, 2]) : (tensor<1x3x?x8xf32>) -> tensor<1x3x?x4xf32>
  %1 = aten.avg_pool2d.default(%x, [3, 3], stride = [2, 2], padding = [1, 1], count_include_pad = false) : (tensor<1x3x?x8xf32>) -> tensor<1x3x?x4xf32>
  func.return %0, %1 : tensor<1x3x?x4xf32>, tensor<1x3x?x4xf32>
}

// -----

// CHECK: aten.conv2d.default: a number of channels that depends on data
func.func @main(%x: tensor<1x?x8x8xf32> {lamina.dims = [#lamina.size<n in [3, 16]>]}, %w: tensor<5x3x3x3xf32>) -> tensor<1x5x6x6xf32> {
  %0 = aten.conv2d.default(%x, %w) : (tensor<1x?x8x8xf32>, tensor<5x3x3x3xf32>) -> tensor<1x5x6x6xf32>
  func.return %0 : tensor<1x5x6x6xf32>
}

// -----

// A number that is a size becomes a tensor in its place, which nothing reads, and an input behind.

// CHECK:         func.func @main(%{{\S+}}: tensor<i64>, [[N:%\S+]]: tensor<i64> {lamina.kind = "input", lamina.name = "size(n)"})
// CHECK:         [[Z:%\S+]] = aten.zeros.default(size = [64])
// CHECK:         func.return [[Z]], [[N]], [[N]]
func.func @main(%n: i64 {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> (tensor<?xf32>, i64) {
  %z = aten.zeros.default([%n]) : (i64) -> tensor<?xf32>
  func.return %z, %n : tensor<?xf32>, i64
}

// -----

// What is left over of a half is put back: the sum is the size itself, which nothing is asked of.

// CHECK:         func.func @main(%x: tensor<1x1x16xf32> {lamina.counts = ["", "", "size(n)"]}, [[N:%\S+]]: tensor<i64> {{.*}}) -> (tensor<1x2x16xf32> {lamina.sizes = {{.*}}}, tensor<i64> {lamina.kind = "size"}) {
// CHECK-NOT:     aten.eq
// CHECK-NOT:     constant_pad_nd
// CHECK:         [[C:%\S+]] = aten.cat.default({{.*}}) : (tensor<1x1x16xf32>, tensor<1x1x16xf32>) -> tensor<1x2x16xf32>
// CHECK:         func.return [[C]], [[N]]
func.func @main(%x: tensor<1x1x?xf32> {lamina.dims = [#lamina.size<n in [2, 16]>]}) -> tensor<1x2x?xf32> {
  %half = aten.max_pool1d.default(%x, [2]) : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
  %wide = aten.upsample_nearest1d.vec(%half, none, [2.0]) : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
  %n = aten.sym_size.int(%x, 2) : (tensor<1x1x?xf32>) -> i64
  %m = aten.sym_size.int(%wide, 2) : (tensor<1x1x?xf32>) -> i64
  %more = arith.subi %n, %m : i64
  %zero = arith.constant 0 : i64
  %back = aten.constant_pad_nd.default(%wide, pad = [%zero, %more]) : (tensor<1x1x?xf32>, i64, i64) -> tensor<1x1x?xf32>
  %c = aten.cat.default([%x, %back], 1) : (tensor<1x1x?xf32>, tensor<1x1x?xf32>) -> tensor<1x2x?xf32>
  func.return %c : tensor<1x2x?xf32>
}

// -----

// What is written to an argument is padded as it is; nothing asks for rows behind its size.

// CHECK:         func.func @main(%x: tensor<16x8xf32> {{.*}}, %size: tensor<i64> {{.*}}) -> (tensor<16x8xf32> {lamina.kind = "mutation", lamina.target = "x", lamina.sizes = [0 : i64, -1 : i64]}, tensor<i64> {lamina.kind = "size"})
func.func @main(%x: tensor<?x8xf32> {lamina.name = "x", lamina.dims = [#lamina.size<n in [0, 16]>]}) -> (tensor<?x8xf32> {lamina.kind = "mutation", lamina.target = "x"}) {
  %y = aten.relu.default(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %y : tensor<?x8xf32>
}

// -----

// CHECK: writes tensor<8x16xf32>, of unknown size, to 'x'
func.func @main(%x: tensor<?x?xf32> {lamina.name = "x", lamina.dims = [#lamina.size<n in [0, 16]>, #lamina.size<m in [0, 8]>]}) -> (tensor<?x?xf32> {lamina.kind = "mutation", lamina.target = "x"}) {
  %y = aten.t.default(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}

// -----

// A mask of rows is counted by rows, and rows of the source are taken: a place for each of them, of 0 in the padding.

// CHECK:         func.func @main
// CHECK:         [[LENGTHS:%\S+]] = aten.cumsum.default({{%\S+}}, dim = 1) : (tensor<4x8xi64>) -> tensor<4x8xi64>
// CHECK:         [[OWN:%\S+]] = aten.sub.Tensor([[LENGTHS]]
// CHECK:         [[ROWS:%\S+]] = aten.sum.dim_IntList({{%\S+}}, dim = [1]) : (tensor<4x8xi64>) -> tensor<4xi64>
// CHECK:         aten.cumsum.default([[ROWS]], dim = 0)
// CHECK:         [[PLACES:%\S+]] = aten.where.self({{.*}} : (tensor<1x8xi1>, tensor<4x8xi64>, tensor<i64>) -> tensor<4x8xi64>
// CHECK:         [[TAKEN:%\S+]] = aten.index.Tensor(%s, {{.*}} -> tensor<4x8x16xf32>
// CHECK:         aten.where.self({{%\S+}}, [[TAKEN]], %x) : (tensor<4x8x1xi1>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
func.func @main(%x: tensor<?x?x16xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<n in [1, 8]>]},
                %m: tensor<?x?xi1> {lamina.dims = [#lamina.size<b>, #lamina.size<n>]},
                %s: tensor<?x16xf32> {lamina.dims = [#lamina.size<s in [1, 64]>]}) -> tensor<?x?x16xf32> {
  %row = aten.unsqueeze.default(%m, dim = -1) : (tensor<?x?xi1>) -> tensor<?x?x1xi1>
  %wide = aten.expand_as.default(%row, %x) : (tensor<?x?x1xi1>, tensor<?x?x16xf32>) -> tensor<?x?x16xi1>
  %r = aten.masked_scatter.default(%x, %wide, %s) : (tensor<?x?x16xf32>, tensor<?x?x16xi1>, tensor<?x16xf32>) -> tensor<?x?x16xf32>
  func.return %r : tensor<?x?x16xf32>
}

// -----

// Elements of a source of other rows are taken by themselves; its place in padded memory takes one division.

// CHECK:         func.func @main
// CHECK:         aten.cumsum.default({{%\S+}}, dim = 1) : (tensor<8x16xi64>)
// CHECK:         [[FLAT:%\S+]] = aten.reshape.default(%s, shape = [20])
// CHECK:         aten.div.Tensor_mode
// CHECK-NOT:     aten.div.Tensor_mode
// CHECK:         aten.index.Tensor([[FLAT]], {{.*}} -> tensor<8x16xf32>
func.func @main(%x: tensor<?x16xf32> {lamina.dims = [#lamina.size<n in [1, 8]>]}, %m: tensor<?x1xi1> {lamina.dims = [#lamina.size<n>]},
                %s: tensor<?x?xf32> {lamina.dims = [#lamina.size<s in [1, 4]>, #lamina.size<t in [1, 5]>]}) -> tensor<?x16xf32> {
  %r = aten.masked_scatter.default(%x, %m, %s) : (tensor<?x16xf32>, tensor<?x1xi1>, tensor<?x?xf32>) -> tensor<?x16xf32>
  func.return %r : tensor<?x16xf32>
}

// -----

// What begins behind the first position is a part of what there may be: no places are looked up, and none count where a
// call has fewer.

// CHECK:         func.func @main
// CHECK-NOT:     aten.index
// CHECK:         aten.slice.Tensor(%x, dim = 1, start = 3, end = 64) : (tensor<4x64xi64>) -> tensor<4x61xi64>
// CHECK-NOT:     aten.index
func.func @main(%x: tensor<4x?xi64> {lamina.dims = [#lamina.size<n in [0, 64]>]}) -> tensor<4x?xi64> {
  %r = aten.slice.Tensor(%x, dim = 1, start = 3) : (tensor<4x?xi64>) -> tensor<4x?xi64>
  func.return %r : tensor<4x?xi64>
}
