// SPDX-License-Identifier: Apache-2.0

package call

import (
	"math"
	"strconv"
	"strings"
)

// DoubleLit is a C99 literal with exactly this float64 value.
func DoubleLit(f float64) string {
	switch {
	case f != f:
		return "(double)NAN"
	case math.IsInf(f, 1):
		return "(double)INFINITY"
	case math.IsInf(f, -1):
		return "(-(double)INFINITY)"
	}
	return Decimal(f, 64)
}

// Decimal is a finite number in decimal, with a point or an exponent, that is exactly v in so many bits.
func Decimal(v float64, bits int) string {
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
