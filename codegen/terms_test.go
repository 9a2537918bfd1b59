// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
	"github.com/nncc/nncc/runtime_c/spdx"
)

// TestTerms: every file says under which terms it may be used, or NOTICE does;
// constants of the model are under the model's.
func TestTerms(t *testing.T) {
	for _, m := range projectModels(t) {
		m.opt.Projects = codegen.Projects()
		m.generate(t)
		constants := checkTerms(t, m)
		testenv.Check(t, strings.Contains(m.file("NOTICE"), spdx.Model+")"), "%s: NOTICE does not speak of weights",
			m.prefix)
		testenv.Check(t, m.file(m.prefix+"_weights.c") == "" || constants != 0, "%s: no file has the model's terms",
			m.prefix)
		for _, licence := range []string{"Apache-2.0", "MIT No Attribution", spdx.Model} {
			testenv.Check(t, strings.Contains(m.file("LICENSE"), licence), "%s: LICENSE lacks %s", m.prefix, licence)
		}
	}
}

// checkTerms looks at every file of a model and counts those under the model's terms.
func checkTerms(t *testing.T, m *model) int {
	t.Helper()
	named := map[string]string{}
	for _, line := range strings.Split(m.file("NOTICE"), "\n") {
		if file, terms, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			named[file] = strings.TrimSpace(terms)
		}
	}
	constants := 0
	for _, f := range m.files {
		terms := spdx.Of(f.Data)
		if !spdx.Takes(f.Path) {
			terms = named[f.Path]
		}
		switch {
		case terms == "":
			t.Errorf("%s: %s does not say its terms, nor does NOTICE", m.prefix, f.Path)
		case strings.HasSuffix(terms, spdx.Model):
			constants++
		case !strings.HasPrefix(terms, "Apache-2.0 OR"):
			t.Errorf("%s: %s is under %s", m.prefix, f.Path, terms)
		}
	}
	return constants
}

var included = regexp.MustCompile(`(?:#include "|\.incbin \\")([^"\\]+)`)

// TestIncludedData: whatever size weights and accelerator programs have, the
// files that the emitted sources include are there, and no others.
func TestIncludedData(t *testing.T) {
	for _, weights := range []int{0, 70000, 300000} {
		for _, image := range []int{1000, 200000, 300000} {
			m := &model{prefix: "data", prog: &program.Program{Name: "data", ArenaBytes: 16, LowerBound: 16,
				Buffers: []program.Buffer{{Name: "x", Type: types.T(tensor.I8, 16), Bytes: 16, AliasOf: -1}},
				Inputs:  []program.IO{{Name: "x"}}, Outputs: []program.IO{{Name: "y"}},
				Steps: []*program.Step{{Name: "a", Op: "Custom", In: []program.Operand{{Buffer: -1}}, Out: []int{0},
					Scratch: -1, Calls: []call.Call{{Func: "nncc_fill", Args: []call.Arg{call.Null{},
						call.Const{NoCast: true}, call.Const{I: 1, NoCast: true}, call.Out{CType: "void"}}}}}},
				Consts: []program.Const{{Hint: "weights", CType: "uint8_t", Data: bytes.Repeat([]byte{1}, weights)},
					{Hint: "program", Ext: "lm", CType: "uint8_t", Data: bytes.Repeat([]byte{2}, image)}}}}
			m.emit(t)
			var want, got []string
			for _, f := range m.files {
				if slices.Contains([]string{"data_weights.bin", "data_weights.inc", "data_0.lm", "data_0.lm.inc"},
					f.Path) {
					got = append(got, f.Path)
				}
			}
			for _, name := range []string{"data_weights.c", "data_images.c"} {
				for _, x := range included.FindAllStringSubmatch(m.file(name), -1) {
					if !strings.HasSuffix(x[1], ".h") {
						want = append(want, x[1])
					}
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			testenv.Check(t, slices.Equal(want, got), "weights %d, program %d: sources include %v, the folder has %v",
				weights, image, want, got)
		}
	}
}
