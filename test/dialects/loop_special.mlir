// RUN: lamina-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: @special
func.func @special(%x: f32, %n: i64, %v: vector<8xf64>) {
  // CHECK: loop.special "lgamma"(%x) : f32
  %0 = loop.special "lgamma"(%x) : f32
  // CHECK: loop.special "gcd"(%n, %n) : i64
  %1 = loop.special "gcd"(%n, %n) : i64
  // CHECK: loop.special "zeta"(%v, %v) {hint} : vector<8xf64>
  %2 = loop.special "zeta"(%v, %v) {hint} : vector<8xf64>
  func.return
}

// -----

func.func @unknown(%x: f32) {
  // CHECK: loop.special has no function "gamma"
  %0 = loop.special "gamma"(%x) : f32
  func.return
}

// -----

func.func @too_few(%x: f32) {
  // CHECK: loop.special "zeta" takes 2 operands
  %0 = loop.special "zeta"(%x) : f32
  func.return
}
