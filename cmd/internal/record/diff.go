// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/fail"
)

// field is NAME=VALUE, where a value with spaces is quoted.
var field = regexp.MustCompile(`(\w+)=("(?:\\.|[^"\\])*"|\S+)`)

// compare lists the fields in which two records differ. It reports whether that is none.
func compare(names []string, out io.Writer) (same bool, err error) {
	defer fail.Catch(&err)
	if len(names) != 2 {
		return false, fmt.Errorf("want -diff OLD NEW, got %q", names)
	}
	old := fail.Must(read(names[0]))
	now := fail.Must(read(names[1]))
	all, counts := maps.Clone(old), map[string]int{}
	maps.Copy(all, now)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if old[k] != now[k] {
			counts[k[strings.LastIndex(k, " ")+1:]]++
			fmt.Fprintf(out, "%s: %s, was %s\n", k, cmp.Or(now[k], "none"), cmp.Or(old[k], "none"))
		}
	}
	for _, f := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "%s: %d differ\n", f, counts[f])
	}
	return len(counts) == 0, nil
}

// read gives a record's values by model, board, precision and field.
func read(name string) (map[string]string, error) {
	b, err := os.ReadFile(name)
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		w := strings.SplitN(line, " ", 4)
		if len(w) != 4 {
			return nil, fmt.Errorf("%s: %q is no line of a record", name, line)
		}
		for _, f := range field.FindAllStringSubmatch(w[3], -1) {
			out[strings.Join(append(w[:3:3], f[1]), " ")] = f[2]
		}
	}
	return out, err
}
