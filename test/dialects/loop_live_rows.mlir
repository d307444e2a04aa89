// RUN: %roundtrip
// RUN: %generic_roundtrip
// CHECK: %c = loop.live_count(%n) in <[8, arg0 of 128]> : memref<i64>
// CHECK: %r = loop.live_row %i(%n, %m) in <[arg1 of 4, 3, arg0 of 16]> : memref<i64>, memref<i64>
// CHECK: %p = loop.live_count(%n) in <[arg0 ceildiv 32 of 4, 3, arg0 ceildiv 32 * 32 of 128]> : memref<i64>
func.func private @rows(%n: memref<i64>, %m: memref<i64>, %i: index) {
  %c = loop.live_count(%n) in <[8, arg0 of 128]> : memref<i64>
  %r = loop.live_row %i(%n, %m) in <[arg1 of 4, 3, arg0 of 16]> : memref<i64>, memref<i64>
  %p = loop.live_count(%n) in <[arg0 ceildiv 32 of 4, 3, arg0 ceildiv 32 * 32 of 128]> : memref<i64>
  func.return
}
