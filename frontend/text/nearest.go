// SPDX-License-Identifier: Apache-2.0

package text

import "strings"

// Nearest gives the one of several names that was probably meant: the one with
// the smallest edit distance, "" where that is no plausible slip.
func Nearest(s string, all []string) string {
	if len(s) > 60 {
		return ""
	}
	best, bestD := "", len(s)+1
	for _, n := range all {
		d := 2 * distance(strings.ToLower(s), n)
		if strings.HasPrefix(flat(n), flat(s)) && s != "" {
			d-- // a name cut short is likelier than a wrong letter
			if len(s) > 2 {
				d = min(d, len(s)) // however much is missing
			}
		}
		if d < bestD {
			best, bestD = n, d
		}
		// m4 and cortexm4 are how people write cortex-m4.
		if flat(s) == flat(n) || "cortex"+flat(s) == flat(n) {
			return n
		}
	}
	return best
}

// Meant is "; did you mean NAME?" about the nearest name, "" where there is none.
func Meant(s string, all []string) string {
	if n := Nearest(s, all); n != "" {
		return "; did you mean " + Line(Short(n, maxCell)) + "?"
	}
	return ""
}

// flat is a name without case and punctuation.
func flat(s string) string {
	s = strings.ToLower(s)
	s = strings.ReplaceAll(s, "+", "plus")
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(s)
}

// distance is the number of letters to change, add or take away.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
