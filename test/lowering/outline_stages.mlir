// RUN: lamina-opt %s --split-input-file --verify-diagnostics -p outline-stages | filecheck %s

// A function for each stage: what the next ones need are its results, sizes among them are named in
// the arguments of those. Sizes that are one count have one name, and those that follow from others
// are said so. What a stage is handed and the program gives, `@main` gives itself.

// CHECK-LABEL: func.func private @main_stage_0
// CHECK-SAME:    (%x: tensor<8xf32> {lamina.kind = "input", lamina.name = "arg0"}, %n: tensor<i64>
// CHECK-SAME:    -> (tensor<?x1xi64>, i64) attributes {lamina.stage}
// CHECK-NEXT:    %i = aten.nonzero.default(%x)
// CHECK-NEXT:    %k = aten.item.default(%n) : (tensor<i64>) -> i64
// CHECK-NEXT:    func.return %i, %k
// CHECK-LABEL: func.func private @main_stage_1
// CHECK-SAME:    %k: i64 {lamina.kind = "input", lamina.name = "aten.item.default", lamina.dims = [#lamina.size<u0 in [0, ?]>]}
// CHECK-SAME:    -> (tensor<?xf32>, tensor<?xi64>, i64) attributes {lamina.stage}
// CHECK:         %m = aten.arange.default(end = %k, dtype = i64)
// CHECK:         [[SUM:%\S+]] = aten.sum.default(%m, dtype = i64)
// CHECK:         [[NUMBER:%\S+]] = aten.item.default([[SUM]])
// CHECK:         func.return %c, %m, [[NUMBER]]
// CHECK-LABEL: func.func private @main_stage_2
// CHECK-SAME:    #lamina.size<u0 + 8>
// CHECK-SAME:    #lamina.size<u0 in [0, ?]>
// CHECK-SAME:    #lamina.size<u2 in [0, ?]>
// CHECK:         aten.repeat_interleave.Tensor(%m, output_size = {{%\S+}})
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[I:%\S+]], [[K:%\S+]] = func.call @main_stage_0(%x, %n)
// CHECK-NEXT:    [[C:%\S+]], [[M:%\S+]], [[R:%\S+]] = func.call @main_stage_1(%x, [[K]])
// CHECK-NEXT:    [[F:%\S+]], [[G:%\S+]] = func.call @main_stage_2([[C]], [[M]], [[R]])
// CHECK-NEXT:    func.return [[I]], [[F]], [[G]]
func.func @main(%x: tensor<8xf32>, %n: tensor<i64>) -> (tensor<?x1xi64>, tensor<?xf32>, tensor<?xi64>) {
  %i = aten.nonzero.default(%x) : (tensor<8xf32>) -> tensor<?x1xi64>
  %k = aten.item.default(%n) {lamina.dims = [#lamina.size<u0 in [0, ?]>]} : (tensor<i64>) -> i64
  %z = aten.zeros.default([%k]) {lamina.begins_stage} : (i64) -> tensor<?xf32>
  %c = aten.cat.default([%x, %z]) : (tensor<8xf32>, tensor<?xf32>) -> tensor<?xf32>
  %m = aten.arange.default(%k, dtype = i64) : (i64) -> tensor<?xi64>
  %r = aten.repeat_interleave.Tensor(%m) {lamina.begins_stage} : (tensor<?xi64>) -> tensor<?xi64>
  %e = aten.exp.default(%c) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %i, %e, %r : tensor<?x1xi64>, tensor<?xf32>, tensor<?xi64>
}

// -----

// Two counts that must be equal are one size, which calls check.

// CHECK-LABEL: func.func private @main_stage_1
// CHECK-SAME:    lamina.dims = [#lamina.size<[[U:u\d]] in [0, 8]>]
// CHECK-SAME:    lamina.dims = [#lamina.size<[[U]] in [0, 8]>]
func.func @main(%x: tensor<8xf32>, %p: tensor<8xi1>, %q: tensor<8xi1>) -> tensor<?xf32> {
  %s = aten.masked_select.default(%x, %p) : (tensor<8xf32>, tensor<8xi1>) -> tensor<?xf32>
  %t = aten.masked_select.default(%x, %q) : (tensor<8xf32>, tensor<8xi1>) -> tensor<?xf32>
  %u = aten.add.Tensor(%s, %t) {lamina.begins_stage} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %u : tensor<?xf32>
}

// -----

// Without marks nothing happens.

// CHECK:         func.func @main(%x: tensor<8xf32>) -> tensor<?x1xi64>
// CHECK-NEXT:    %i = aten.nonzero.default
// CHECK-NEXT:    func.return
func.func @main(%x: tensor<8xf32>) -> tensor<?x1xi64> {
  %i = aten.nonzero.default(%x) : (tensor<8xf32>) -> tensor<?x1xi64>
  func.return %i : tensor<?x1xi64>
}

// -----

// CHECK: error: aten.item.default: lamina.dims = 3 : i64: an op that gives an i64 has one name of a size
func.func @main(%n: tensor<i64>) -> tensor<?xf32> {
  %k = aten.item.default(%n) {lamina.dims = 3} : (tensor<i64>) -> i64
  %z = aten.zeros.default([%k]) {lamina.begins_stage} : (i64) -> tensor<?xf32>
  func.return %z : tensor<?xf32>
}
