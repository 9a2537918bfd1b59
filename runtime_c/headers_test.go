// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

var (
	block  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	refers = regexp.MustCompile(`[Tt]he same|[Aa]s above|[Aa]s nncc_|\b(nncc|mla|arm)_\w+`)
	source = regexp.MustCompile(`CMSIS-NN|TensorFlow Lite|ONNX|IEEE|ir/\w+`)
)

var kernelsLine = regexp.MustCompile(`(?m)^/\* KERNELS\((\w+)\) \*/\n`)

// TestHeaders: every kernel's group has a comment in its header; every parameter is in
// it, in the head of the header, or in what it refers to; the head says where the rules
// of the kernels are from; no header is longer than a file should be.
func TestHeaders(t *testing.T) {
	groups := map[string][]string{}
	for _, k := range Kernels() {
		groups[k.Group] = append(groups[k.Group], k.Function)
	}
	headers, _ := fs.Glob(sources, "include/*/*.h")
	for _, h := range headers {
		b := testenv.Must(fs.ReadFile(sources, h))(t)
		text := string(b)
		n := strings.Count(text, "\n")
		testenv.Check(t, n <= 600, "%s has %d lines", h, n)
		comments := block.FindAllString(text, 2)
		head := strings.Join(comments, " ")
		testenv.Check(t, !kernelsLine.MatchString(text) || source.MatchString(head),
			"%s: its first comment does not say where the rules of the kernels are from", h)
		section, last := "", 0
		for _, m := range kernelsLine.FindAllStringSubmatchIndex(text, -1) {
			if between := text[last:m[0]]; strings.TrimSpace(between) != "" {
				section = strings.Join(block.FindAllString(between, -1), " ")
			}
			last = m[1]
			group := text[m[2]:m[3]]
			words := section
			if refers.MatchString(section) {
				words = text[:m[0]]
			}
			testenv.Check(t, len(strings.Fields(section)) >= 5, "%s: %s has no comment", h, group)
			for _, f := range groups[group] {
				for _, p := range Shipped().Parameters(f) {
					named := regexp.MustCompile(`\b` + p.Name + `\b`)
					testenv.Check(t, strings.HasSuffix(p.Type, "_params *") || named.MatchString(words+head),
						"%s: %s: nothing says what %s is", path.Base(h), f, p.Name)
				}
			}
		}
	}
}

// TestParameters: every kernel's parameters have a type and a name.
func TestParameters(t *testing.T) {
	x := Shipped()
	for _, k := range Kernels() {
		p := x.Parameters(k.Function)
		if len(p) == 0 || slices.ContainsFunc(p, func(p Parameter) bool { return p.Type == "" || p.Name == "" }) {
			t.Errorf("%s: %q", k.Function, p)
		}
	}
	want := []Parameter{{"const nncc_helium_matmul_params *", "p"}, {"const int8_t *", "x"},
		{"const int8_t *", "packed"}, {"int8_t *", "y"}, {"int32_t", "rows"}}
	testenv.Same(t, x.Parameters("nncc_helium_matmul_k1_s8"), want)
	testenv.Check(t, want[1].ReadsOnly() && !want[3].ReadsOnly() && !want[4].ReadsOnly(), "ReadsOnly")
	testenv.Check(t, x.Parameters("none") == nil, "parameters of a function that is not there")
}
