// SPDX-License-Identifier: Apache-2.0

package text

import "strings"

// Natural orders names with numbers in them by the numbers: a negative result where
// a comes first.
func Natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		i, k := digits(x), digits(y)
		if i > 0 && k > 0 {
			m, n := strings.TrimLeft(x[:i], "0"), strings.TrimLeft(y[:k], "0")
			if len(m) != len(n) {
				return len(m) - len(n)
			}
			if m != n {
				return strings.Compare(m, n)
			}
			x, y = x[i:], y[k:]
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b) // 1 and 01
}

// digits is how many of them a name begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
