// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Support is frontend/SUPPORT.md: figures by folder and reasons, made of
// ratchets by the name of their set.
func Support(sets map[string]Ratchet) []byte {
	var b bytes.Buffer
	b.WriteString(`# What passes of ONNX's own tests

Generated from the ratchets in ` + "`cmd/internal/conform/testdata`" + ` by
` + "`make conformance UPDATE=1`" + `; do not edit.

Every test is a model with inputs and outputs. "In scope" are those whose inputs and outputs are tensors of numbers and
bools (no text, sequences, optionals, floats of 8 bits and less, 2-bit integers) and which import no preview domain.
Passing means the stored outputs: integers and bools exactly, floats within 1e-3 (relative), float16 and bfloat16 within
two steps; in C as it is emitted, built and run, on Cortex-M under QEMU.
`)
	b.WriteString(sizes)
	var names []string
	for n := range sets {
		names = append(names, n)
	}
	sort.Strings(names)
	slices.Reverse(names)
	for _, n := range names {
		supportSet(&b, n, sets[n])
	}
	return b.Bytes()
}

func supportSet(b *bytes.Buffer, name string, r Ratchet) {
	fmt.Fprintf(b, "\n## %s\n\n| folder | tests | in scope |", name)
	for _, t := range Targets {
		fmt.Fprintf(b, " %s |", t)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", 2+len(Targets)) + "\n")
	sum := make([]int, 2+len(Targets))
	for _, f := range Folders {
		row := make([]int, len(sum))
		for id, e := range r {
			if !strings.HasPrefix(id, f+"/") {
				continue
			}
			row[0]++
			if e.Outside != "" {
				continue
			}
			row[1]++
			for i, t := range Targets {
				if e.Passed(t) {
					row[2+i]++
				}
			}
		}
		if row[0] == 0 {
			continue
		}
		tableRow(b, f, row)
		for i := range sum {
			sum[i] += row[i]
		}
	}
	tableRow(b, "all", sum)
	bound := 0
	for _, e := range r {
		if e.Outside == "" && len(e.Bound) > 0 && e.Passed(Interpreter) {
			bound++
		}
	}
	fmt.Fprintf(b, "\n%d of these pass with an input known at compile time (`--set NAME=VALUE`), on which shapes or "+
		"kernel parameters depend: axes, sizes, counts, scales.\n", bound)
	reasons(b, "Not passed", r, func(e *Entry) []string {
		var s []string
		if e.Outside == "" {
			for _, t := range Targets {
				if why := e.Failed[t]; why != "" && (t == Interpreter || e.Failed[Interpreter] == "") {
					s = append(s, t+": "+why)
				}
			}
		}
		return s
	})
	reasons(b, "Out of scope", r, func(e *Entry) []string {
		if e.Outside == "" {
			return nil
		}
		return []string{e.Outside}
	})
}

func tableRow(b *bytes.Buffer, name string, row []int) {
	fmt.Fprintf(b, "| %s |", name)
	for _, n := range row {
		fmt.Fprintf(b, " %d |", n)
	}
	b.WriteString("\n")
}

var quoted = regexp.MustCompile(`"[^"]*" ?|%[\w./-]+`)

// reasons lists reasons without names, with the tests that have them.
func reasons(b *bytes.Buffer, title string, r Ratchet, of func(e *Entry) []string) {
	tests := map[string][]string{}
	for id, e := range r {
		for _, why := range of(e) {
			why = strings.TrimSpace(strings.ReplaceAll(quoted.ReplaceAllString(why, ""), "|", "/"))
			tests[why] = append(tests[why], id)
		}
	}
	if len(tests) == 0 {
		return
	}
	var list []string
	for why := range tests {
		list = append(list, why)
	}
	sort.Slice(list, func(i, j int) bool {
		if a, b := len(tests[list[i]]), len(tests[list[j]]); a != b {
			return a > b
		}
		return list[i] < list[j]
	})
	fmt.Fprintf(b, "\n### %s\n\n| tests | reason | such as |\n| ---: | --- | --- |\n", title)
	for _, why := range list {
		ids := tests[why]
		sort.Strings(ids)
		fmt.Fprintf(b, "| %d | %s | %s |\n", len(ids), why, strings.Join(ids[:min(3, len(ids))], ", "))
	}
}

// sizes says how results are kept of which the size depends on the data.
const sizes = `
Results of which only the data know the size: NonMaxSuppression and Unique are kept in a shape with room for the most
that there can be; the tests compare what was found, and behind it must be nothing but zeros and -1. NonZero and
Compress need their input, or condition, at compile time, or a bound by ` + "`--dim`" + `; then they have the count in
an output of its own (see frontend/onnx/README.md).
`
