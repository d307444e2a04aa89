// RUN: %invalid

func.func private @no_number(%n: memref<f32>) {
  %c = loop.live_count(%n) in <[arg0 of 128]> : memref<f32>
  func.return
}
// CHECK: loop.live_count: a count is a memref<i64>, not memref<f32>

// -----

func.func private @no_such_count(%n: memref<i64>) {
  %c = loop.live_count(%n) in <[arg1 of 128]> : memref<i64>
  func.return
}
// CHECK: loop.live_count: [arg1 of 128] of 1 counts

// -----

func.func private @nothing_left_out(%n: memref<i64>) {
  %c = loop.live_count(%n) in <[128]> : memref<i64>
  func.return
}
// CHECK: #loop.live: live = [128]: no digit ends at an argument

// -----

func.func private @no_argument(%n: memref<i64>) {
  %c = loop.live_count(%n) in <[n of 128]> : memref<i64>
  func.return
}
// CHECK: 'n' is no argument, such as arg0

// -----

func.func private @no_panel(%n: memref<i64>) {
  %c = loop.live_count(%n) in <[arg0 ceildiv 0 of 128]> : memref<i64>
  func.return
}
// CHECK: #loop.live: live = [arg0 ceildiv 0 of 128]: panels of 1 to 4096 positions, of which 1 to all are counted

// -----

func.func private @more_than_there_are(%n: memref<i64>) {
  %c = loop.live_count(%n) in <[arg0 ceildiv 16 * 32 of 128]> : memref<i64>
  func.return
}
// CHECK: #loop.live: live = [arg0 ceildiv 16 * 32 of 128]: panels of 1 to 4096 positions, of which 1 to all are counted
