// RUN: %roundtrip

// A bound may be a number in an argument of the kernel, which is a symbol of the map.
// CHECK: lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>
"test.op"() {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [4]>} : () -> ()
// CHECK: lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1) -> ()>, upper affine_map<(d0, d1) -> ((d0 + 1))>>
"test.op"() {lamina.bounds = #loop.bounds<1, lower affine_map<(d0, d1) -> ()>, upper affine_map<(d0, d1) -> (d0 + 1)>>} : () -> ()
