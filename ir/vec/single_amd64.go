// SPDX-License-Identifier: Apache-2.0

package vec

// These are tileSingle and rowSingle of as many columns.

//go:noescape
func tileSingle16(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32, ldc int)

//go:noescape
func tileSingle32(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32, ldc int)

//go:noescape
func rowSingle32(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32)

//go:noescape
func rowSingle64(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32)
