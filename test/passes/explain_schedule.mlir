// RUN: lamina-opt %s -p 'choose-schedule{target=x86-64-v4},explain-schedule{target=x86-64-v4}' | filecheck %s
// RUN: lamina-opt %s -p 'choose-schedule{target=x86-64-v4}' --explain 2>&1 >/dev/null | filecheck %s --check-prefix REPORT
// RUN: lamina-opt %s -p 'choose-schedule{target=x86-64-v3}' --explain 2>&1 >/dev/null | filecheck %s --check-prefix NARROW
// RUN: not lamina-opt %s --explain 2>&1 | filecheck %s --check-prefix NONE

// Each schedule stands there with its estimate, or with the reason why the kernel cannot have it.
// CHECK: func.func private @sums
// CHECK-SAME: lamina.considered = ["as it stands: {{[0-9.]+}} us", "part 0, parallel: {{[0-9.]+}} us", "nest 0, vectorize = d1 x 32: loop.generic: lamina.schedule: vectorize: 32 lanes; target x86-64-v4 has 16"

// REPORT:      sums:
// REPORT-NEXT:   as it stands: {{[0-9.]+}} us
// REPORT-NEXT:   part 0, parallel: {{[0-9.]+}} us
// REPORT-NEXT:   nest 0, vectorize = d1 x 32: loop.generic: {{.*}}32 lanes
// REPORT-NEXT:   nest 0, vectorize = d1 x 8: {{[0-9.]+}} us
// REPORT-NEXT:   nest 0, unroll = 8: {{[0-9.]+}} us
// REPORT:      scan:
// REPORT-NEXT:   as it stands: {{[0-9.]+}} us
// REPORT-NEXT:   part 0, parallel: {{[0-9.]+}} us on 2 threads

// NARROW: nest 0, vectorize = d1 x 16: loop.generic: {{.*}}16 lanes; target x86-64-v3 has 8

// NONE: --explain: no pass chooses schedules; --to bufferized or -p choose-schedule does
func.func @main(%x: memref<8x64xf32>, %y: memref<8xf32> {lamina.kind = "output"}, %z: memref<8x64xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @sums(%x, %y) : (memref<8x64xf32>, memref<8xf32>) -> ()
  func.call @scan(%x, %z) : (memref<8x64xf32>, memref<8x64xf32>) -> ()
  func.return
}
func.func private @sums(%x: memref<8x64xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 64] reads(%x[i, j] : memref<8x64xf32>) writes([i] add into %y : memref<8xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
func.func private @scan(%x: memref<8x64xf32>, %z: memref<8x64xf32>) attributes {lamina.kernel} {
  loop.scan (i, j) in [8, 64] along 1 reads(%x[i, j] : memref<8x64xf32>) carries(0.0 : f32) outs(%z : memref<8x64xf32>) {
  ^bb0(%v: f32, %s: f32):
    %t = arith.addf %s, %v : f32
    loop.yield %t, %t : f32, f32
  }
  func.return
}
