// SPDX-License-Identifier: Apache-2.0

package vec

// hardSwish8 is HardSwish of n numbers, a multiple of 8.
//
//go:noescape
func hardSwish8(n int, x, y *float32)
