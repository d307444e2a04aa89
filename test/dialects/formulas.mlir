// RUN: %roundtrip
// RUN: %generic_roundtrip

// Sums bind less than products; what is multiplied by a number has it behind, and no more is written than that takes.
// CHECK:      func.func @main(
// CHECK-SAME:   lamina.a = #lamina.formula<arg2 + arg13>
// CHECK-SAME:   lamina.b = #lamina.formula<arg2 * 2 * arg3 + 1>
// CHECK-SAME:   lamina.c = #lamina.formula<(arg2 - 3) floordiv 2 + 1>
// CHECK-SAME:   lamina.j = #lamina.formula<arg2 divsi 3 divsi 2 * (arg3 divsi 4)>
// CHECK-SAME:   lamina.d = #lamina.formula<max(arg2 - 1, 0)>
// CHECK-SAME:   lamina.e = #lamina.formula<min((arg2 + arg3) * (arg2 + arg3 * -1), 7) * arg0>
// CHECK-SAME:   lamina.f = #lamina.formula<arg2 + (arg3 + arg4) * (arg3 * (arg4 * arg5))>
// CHECK-SAME:   lamina.g = #lamina.formula<-9223372036854775808>
// CHECK-SAME:   lamina.h = #lamina.formula<arg2>
// CHECK-SAME:   lamina.i = #lamina.formula<arg2 + -9223372036854775808>
func.func @main(
    %x: tensor<8xf32> {lamina.a = #lamina.formula<arg2 + arg13>,
      lamina.b = #lamina.formula<2 * arg2 * arg3 +1>,
      lamina.c = #lamina.formula<(arg2 -3) floordiv (3 - 1) + 1>,
      lamina.j = #lamina.formula<arg2 divsi 3 divsi 2 * (arg3 divsi 4)>,
      lamina.d = #lamina.formula<max(arg2 - 1, 0)>,
      lamina.e = #lamina.formula<min((arg2 + arg3) * (arg2 - arg3), 7) * arg0>,
      lamina.f = #lamina.formula<arg2 + (arg3 + arg4) * (arg3 * (arg4 * arg5))>,
      lamina.g = #lamina.formula<9223372036854775807 + 1>,
      lamina.h = #lamina.formula<((arg2 * 1 + 0) floordiv 1)>,
      lamina.i = #lamina.formula<arg2 + -9223372036854775808>}) {
  func.return
}
