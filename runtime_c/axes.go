// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// axis is one of a row of the manifest: {name=a|b|c} in the function stands for its values, one kernel
// each; {name=1..9} are numbers.
var axis = regexp.MustCompile(`\{(\w+)=([^{}]*)\}`)

// chosen is what an axis is in another cell: {name}, or {name:a|b|c} for what belongs to each of its
// values, the last text for all that follow.
var chosen = regexp.MustCompile(`\{(\w+)(?::([^{}]*))?\}`)

// axisValues are those of an axis as it is written.
func axisValues(text string) []string {
	from, to, isRange := strings.Cut(text, "..")
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if !isRange || err1 != nil || err2 != nil {
		return strings.Split(text, "|")
	}
	var out []string
	for i := first; i <= last; i++ {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// expandRow gives the rows that one with axes stands for, those of the last axis side by side. A
// cell that names an axis which the function does not have, and one of more texts than values, are errors.
func expandRow(row []string) ([][]string, error) {
	at := axis.FindStringSubmatchIndex(row[0])
	if at == nil {
		for _, cell := range row {
			if m := chosen.FindString(cell); m != "" {
				return nil, fmt.Errorf("%s: the function has no axis of the name of %s", row[0], m)
			}
		}
		return [][]string{row}, nil
	}
	name, values := row[0][at[2]:at[3]], axisValues(row[0][at[4]:at[5]])
	var out [][]string
	for i, value := range values {
		one := slices.Clone(row)
		one[0] = row[0][:at[0]] + value + row[0][at[1]:]
		for c := 1; c < len(one); c++ {
			one[c] = chosen.ReplaceAllStringFunc(one[c], func(text string) string {
				m := chosen.FindStringSubmatch(text)
				texts := strings.Split(m[2], "|")
				switch {
				case m[1] != name:
					return text
				case !strings.Contains(text, ":"):
					return value
				case len(texts) > len(values): // stays, and no axis has its name any more
					return text
				}
				return texts[min(i, len(texts)-1)]
			})
		}
		rows, err := expandRow(one)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}
