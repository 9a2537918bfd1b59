// SPDX-License-Identifier: Apache-2.0

package vec

// These convert n numbers, a multiple of group; quantise a multiple of two groups.

//go:noescape
func narrow(n int, x *float64, y *float32)

//go:noescape
func narrowUpTo(n int, hi float32, x *float64, y *float32)

//go:noescape
func quantise(n int, scale float32, zero int32, x *float32, y *int8)

//go:noescape
func dequantise(n int, scale float32, zero int32, x *int8, y *float32)
