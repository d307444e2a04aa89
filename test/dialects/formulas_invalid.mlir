// RUN: %invalid

// CHECK: 'n' is none: here stands a number, an argument, such as arg0, max or min
func.func @main(%x: tensor<8xf32> {lamina.a = #lamina.formula<n + 1>}) { func.return }
// -----
// CHECK: a divisor: arg1 is no positive number
func.func @main(%x: tensor<8xf32> {lamina.a = #lamina.formula<arg0 floordiv arg1>}) { func.return }
// -----
// CHECK: a divisor: 0 is no positive number
func.func @main(%x: tensor<8xf32> {lamina.a = #lamina.formula<arg0 floordiv 0>}) { func.return }
// -----
// CHECK: 9223372036854775808 is no i64
func.func @main(%x: tensor<8xf32> {lamina.a = #lamina.formula<arg0 + 9223372036854775808>}) { func.return }
// -----
// CHECK: + or - stands in front of 3
func.func @main(%x: tensor<8xf32> {lamina.a = #lamina.formula<arg0 3>}) { func.return }
// -----
// CHECK: here stands a number, an argument, such as arg0, max or min
func.func @main(%x: tensor<8xf32> {lamina.a = #lamina.formula<>}) { func.return }
// -----
// CHECK: a formula has up to 64 numbers and operations, and holds up to 16 numbers at a time
func.func @main(%x: tensor<8xf32> {lamina.a = #lamina.formula<arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + (arg0 + arg0)))))))))))))))>}) { func.return }
