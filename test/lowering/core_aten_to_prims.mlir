// RUN: lamina-opt %s -p convert-core-aten-to-prims,verify-prims | filecheck %s

// CHECK-LABEL: @promotion_and_broadcasting
// CHECK-NEXT: [[X:%\S+]] = prims.convert_element_type(%x, dtype = f32)
// CHECK-NEXT: [[Y:%\S+]] = prims.broadcast_in_dim(%y, shape = [2, 3], broadcast_dimensions = [1])
// CHECK-NEXT: prims.mul([[X]], [[Y]]) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @promotion_and_broadcasting(%x: tensor<2x3xi64>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = core_aten.mul.Tensor(%x, %y) : (tensor<2x3xi64>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// A comparison is made in the common dtype, not in that of its result.
// CHECK-LABEL: @comparison
// CHECK-NEXT: [[X:%\S+]] = prims.convert_element_type(%x, dtype = f32)
// CHECK-NEXT: [[HALF:%\S+]] = prims.full(shape = [3], fill_value = 0.5, dtype = f32
// CHECK-NEXT: prims.gt([[X]], [[HALF]])
func.func @comparison(%x: tensor<3xi64>) -> tensor<3xi1> {
  %0 = core_aten.gt.Scalar(%x, other = 0.5) : (tensor<3xi64>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}

// CHECK-LABEL: @sum_of_bools
// CHECK-NEXT: prims.bitwise_or(%x, %x)
func.func @sum_of_bools(%x: tensor<3xi1>) -> tensor<3xi1> {
  %0 = core_aten.add.Tensor(%x, %x) : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}

// CHECK-LABEL: @square
// CHECK-NEXT: prims.mul(%x, %x)
func.func @square(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = core_aten.pow.Tensor_Scalar(%x, exponent = 2) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// CHECK-LABEL: @softmax
// CHECK-NEXT: [[MAX:%\S+]] = prims.amax(%x, dims = [1]) : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[WIDE:%\S+]] = prims.broadcast_in_dim([[MAX]], shape = [2, 3], broadcast_dimensions = [0])
// CHECK-NEXT: [[X:%\S+]] = prims.sub(%x, [[WIDE]])
// CHECK-NEXT: [[E:%\S+]] = prims.exp([[X]])
// CHECK-NEXT: [[SUM:%\S+]] = prims.sum([[E]], dims = [1])
// CHECK-NEXT: [[ONE:%\S+]] = prims.reciprocal([[SUM]])
// CHECK-NEXT: [[TOTAL:%\S+]] = prims.broadcast_in_dim([[ONE]], shape = [2, 3], broadcast_dimensions = [0])
// CHECK-NEXT: prims.mul([[E]], [[TOTAL]])
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = core_aten._softmax.default(%x, dim = -1, half_to_float = false) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// Half floats are summed in f32.
// CHECK-LABEL: @half_sum
// CHECK-NEXT: [[X:%\S+]] = prims.convert_element_type(%x, dtype = f32)
// CHECK-NEXT: [[SUM:%\S+]] = prims.sum([[X]], dims = [0])
// CHECK-NEXT: prims.convert_element_type([[SUM]], dtype = f16)
func.func @half_sum(%x: tensor<3xf16>) -> tensor<f16> {
  %0 = core_aten.sum.dim_IntList(%x, dim = [0]) : (tensor<3xf16>) -> tensor<f16>
  func.return %0 : tensor<f16>
}

// beta = 0: what is added is not even read.
// CHECK-LABEL: @addmm_beta_zero
// CHECK-NEXT: [[MM:%\S+]] = prims.contract(%x, %y, a_batch = [], b_batch = [], a_contract = [1], b_contract = [0])
// CHECK-NEXT: func.return [[MM]]
func.func @addmm_beta_zero(%b: tensor<5xf32>, %x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = core_aten.addmm.default(%b, %x, %y, beta = 0) : (tensor<5xf32>, tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  func.return %0 : tensor<3x5xf32>
}

// Results that nobody reads are not computed.
// CHECK-LABEL: @only_values
// CHECK-NEXT: [[V:%\S+]] = prims.amax(%x, dims = [1])
// CHECK-NEXT: func.return [[V]]
func.func @only_values(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0, %1 = core_aten.max.dim(%x, dim = 1) : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  func.return %0 : tensor<2xf32>
}

// A mask of rows counts rows, and takes rows where the source has as many elements in each.
// CHECK-LABEL: @masked_scatter_of_rows
// CHECK:      prims.scan({{%\S+}}, combiner = "add", dim = 0) : (tensor<10xi64>) -> tensor<10xi64>
// CHECK:      prims.take(%s, {{%\S+}}, dim = 0) : (tensor<7x8xf32>, tensor<10xi64>) -> tensor<10x8xf32>
// CHECK:      prims.scan({{%\S+}}, combiner = "add", dim = 0) : (tensor<80xi64>) -> tensor<80xi64>
// CHECK:      prims.take({{%\S+}}, {{%\S+}}, dim = 0) : (tensor<64xf32>, tensor<80xi64>) -> tensor<80xf32>
func.func @masked_scatter_of_rows(%x: tensor<2x5x8xf32>, %m: tensor<2x5x1xi1>, %s: tensor<7x8xf32>, %t: tensor<4x16xf32>)
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>) {
  %wide = core_aten.expand.default(%m, [2, 5, 8]) : (tensor<2x5x1xi1>) -> tensor<2x5x8xi1>
  %a = core_aten.masked_scatter.default(%x, %wide, %s) : (tensor<2x5x8xf32>, tensor<2x5x8xi1>, tensor<7x8xf32>) -> tensor<2x5x8xf32>
  %b = core_aten.masked_scatter.default(%x, %m, %t) : (tensor<2x5x8xf32>, tensor<2x5x1xi1>, tensor<4x16xf32>) -> tensor<2x5x8xf32>
  func.return %a, %b : tensor<2x5x8xf32>, tensor<2x5x8xf32>
}

// Distances of short rows, and of what was a bf16, are f32, in units of the power of two next to what elements are on
// average; those of columns are f64, of which one sum has all. A bf16's mean is its sum divided, as a program asks for it.
// CHECK-LABEL: @short_variance
// CHECK:      prims.div(
// CHECK:      prims.abs({{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK:      [[MEAN:%\S+]] = prims.sum({{.*}} : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK:      [[ABOVE:%\S+]] = prims.maximum([[MEAN]],
// CHECK:      [[PART:%\S+]], %{{\S+}} = prims.frexp([[ABOVE]])
// CHECK:      prims.div([[PART]], [[ABOVE]])
// CHECK:      prims.sum({{.*}} : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NOT:  tensor<2x3xf64>
// CHECK-LABEL: @row_variance
// CHECK:      [[SHARES:%\S+]] = prims.mul(%x,
// CHECK:      prims.sum([[SHARES]]
// CHECK-NOT:  tensor<2x3xf64>
// CHECK-LABEL: @long_variance
// CHECK:      prims.sub({{.*}} : (tensor<2x1025xf64>
// CHECK-LABEL: @column_variance
// CHECK:      prims.sub({{.*}} : (tensor<2x3xf64>
func.func @short_variance(%x: tensor<2x3xbf16>) -> tensor<2xf32> {
  %0 = core_aten._to_copy.default(%x, dtype = f32) {lamina.implicit} : (tensor<2x3xbf16>) -> tensor<2x3xf32>
  %1 = core_aten.var.correction(%0, dim = [1], correction = 1) : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
func.func @row_variance(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %1 = core_aten.var.correction(%x, dim = [1], correction = 1) : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
func.func @long_variance(%x: tensor<2x1025xf32>) -> tensor<2xf32> {
  %1 = core_aten.var.correction(%x, dim = [1], correction = 1) : (tensor<2x1025xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
func.func @column_variance(%x: tensor<2x3xbf16>) -> tensor<3xf32> {
  %0 = core_aten._to_copy.default(%x, dtype = f32) : (tensor<2x3xbf16>) -> tensor<2x3xf32>
  %1 = core_aten.var.correction(%0, dim = [0], correction = 1) : (tensor<2x3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
