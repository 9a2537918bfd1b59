// SPDX-License-Identifier: Apache-2.0

package text

import "strings"

// Nearest gives the one of several names that was probably meant: the one with
// the smallest edit distance, "" where that is no plausible slip.
func Nearest(s string, all []string) string {
	best, bestD := "", len(s)+1
	low, plain := strings.ToLower(s), flat(s)
	for _, n := range all {
		name := flat(n)
		// m4 and cortexm4 are how people write cortex-m4.
		if plain == name || "cortex"+plain == name {
			return n
		}
		d := 2 * Distance(low, strings.ToLower(n), bestD/2+2)
		if plain != "" && strings.HasPrefix(name, plain) {
			d-- // a name cut short is likelier than a wrong letter
		}
		if len(plain) > 2 && strings.HasPrefix(name, plain) || len(plain) > 3 && strings.Contains(name, plain) {
			d = min(d, len(s)) // however much is missing
		}
		if d < bestD {
			best, bestD = n, d
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
	return strings.NewReplacer("-", "", "_", "", " ", "", "/", "").Replace(s)
}
