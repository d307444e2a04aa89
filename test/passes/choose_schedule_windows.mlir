// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' | filecheck %s

// Means of windows of two by two run along the lines of images, be it in steps of two, though three reads are neighbours in
// a window: two of sixteen lanes would be filled.
// CHECK-LABEL: @windows
// CHECK-SAME:    lamina.schedule = [#loop.rows<{{.*}}inner = [2]
// CHECK:         lamina.schedule = #loop.schedule<vectorize = d3 x 16
func.func private @windows(%m: memref<256xi1>, %l: memref<256xi1>, %x: memref<4x16x256x256xf32>, %y: memref<4x16x256x256xf32>, %out: memref<4x16x128x128xf32>) attributes {lamina.kernel} {
  loop.generic (b, c, i, j, h, w) in [4, 16, 128, 128, 2, 2] reads(%m[j * 2 + w] : memref<256xi1>, %l[i * 2 + h] : memref<256xi1>, %x[b, c, i * 2 + h, j * 2 + w] : memref<4x16x256x256xf32>, %y[b, c, i * 2 + h, j * 2 + w] : memref<4x16x256x256xf32>) writes([b, c, i, j] add into %out : memref<4x16x128x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2, d3]>} {
  ^bb0(%n: i1, %k: i1, %a: f32, %b: f32):
    %e = math.exp %a : f32
    %v = arith.addf %e, %b : f32
    %z = arith.constant 0.0 : f32
    %s = arith.select %k, %v, %z : f32
    %t = arith.select %n, %s, %z : f32
    loop.yield %t : f32
  }
  func.return
}

// Where there is little to do, what is read decides: few lanes that lie together.
// CHECK-LABEL: @light
// CHECK:         lamina.schedule = #loop.schedule<vectorize = d2 x 4
func.func private @light(%x: memref<64x256x4xf32>, %y: memref<64x256x4xf32>, %w: memref<256x4xf32>, %out: memref<64x256xf32>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [64, 256, 4] reads(%x[i, j, k] : memref<64x256x4xf32>, %y[i, j, k] : memref<64x256x4xf32>, %w[j, k] : memref<256x4xf32>) writes([i, j] min into %out : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %e = arith.addf %d, %c : f32
    loop.yield %e : f32
  }
  func.return
}
