// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"os"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func f32(shape ...int) types.Type { return types.T(tensor.F32, shape...) }

// example is the program whose text README.md points to.
func example() *program.Program {
	conv := &program.Step{Name: "conv", Op: "Conv", Origin: []string{"stem/conv"},
		In: []program.Operand{{}, {Buffer: -1}}, Out: []int{1}, Kernel: "nncc_conv2d_f32", Scratch: 3,
		Calls: []call.Call{{Func: "nncc_conv2d_f32", Status: call.NNCCStatus,
			Args: []call.Arg{&call.Struct{Type: "nncc_conv2d_f32_params",
				Fields: []call.Field{{Name: "in_h", Value: call.Lit("4")}, {Name: "in_w", Value: call.Lit("4")}}},
				call.In{CType: "float"}, call.Const{NoCast: true}, call.Out{CType: "float"}}}}}
	relu := &program.Step{Name: "relu", Op: "Relu", In: []program.Operand{{Buffer: 1}}, Out: []int{2},
		Kernel: "nncc_relu_f32", Scratch: -1, Overlap: []call.Overlap{{Exact: true}}, Calls: []call.Call{{
			Func: "nncc_relu_f32", Args: []call.Arg{call.In{CType: "float"}, call.Out{CType: "float"}, call.Lit("9")}}}}
	return &program.Program{Name: "net", ArenaBytes: 192, LowerBound: 192, OverlapBound: 192, PeakOptimal: true,
		Buffers: []program.Buffer{
			{Name: "x", Type: f32(1, 1, 4, 4), Bytes: 64, Last: 1, AliasOf: -1},
			{Name: "c", Type: f32(1, 1, 3, 3), Offset: 64, Bytes: 36, Last: 1, AliasOf: -1},
			{Name: "y", Type: f32(1, 1, 3, 3), Offset: 64, Bytes: 36, First: 1, Last: 1, AliasOf: 1},
			{Name: "conv scratch", Offset: 112, Bytes: 64, AliasOf: -1}},
		Inputs: []program.IO{{Name: "x"}}, Outputs: []program.IO{{Name: "y", Buffer: 2}},
		Steps: []*program.Step{conv, relu}, Consts: []program.Const{{Hint: "const", CType: "float", Align: 4,
			Data: tensor.Of([]int{4}, []float32{0.5, -0.25, 1, 2}).Bytes()}}}
}

// TestExample: the example is a program, and its text the one that is stored.
func TestExample(t *testing.T) {
	p := example()
	testenv.OK(t, p.Verify())
	testenv.Equal(t, p.String(), string(testenv.Must(os.ReadFile("testdata/example.txt"))(t)), "text")
}

// TestText: what few programs say stands in their text.
func TestText(t *testing.T) {
	p := states()
	p.OverlapBound, p.StagedBytes, p.Parts = 80, 16, []program.Part{{Name: "dtcm", Bytes: 32}, {Name: "a", Bytes: 64}}
	p.Consts[0].Staged, p.Consts[0].Pad, p.Consts[0].Ext = true, 4, "bin"
	p.Buffers[2].Row, p.Buffers[2].Pitch = 4, 16
	s := p.Steps[0]
	s.Chain, s.Kernel, s.Route, s.Headers = "stem", "struct", "f g", []string{"f.h"}
	s.Fetches = []program.Fetch{{Const: 0, Buffer: 5}, {Const: 1, Buffer: 5}}
	s.Overlap = []call.Overlap{{I: 1, Out: 1, Ahead: 4, Behind: 8, Slower: 2, Scratch: true}, {Exact: true}}
	s.Rows = []call.Rows{{Output: true, I: 1, Bytes: 4}, {Bytes: 8}}
	s.Calls = append(s.Calls, call.Call{Code: &call.Code{Hint: "loop", Params: []string{"int n"}, Body: "a\n\"b\"",
		Uses: []string{"u"}, Headers: []string{"h"}}, Status: call.Ignored, Args: []call.Arg{call.Null{},
		call.Func("k"), call.Trained("5"), call.Lit("null"), call.Lit("-1.5f"), call.In{I: 1, Off: -16, CType: "T *"},
		call.Const{I: 1}, &call.Array{Type: "T", Bytes: 9, Elems: []call.Nested{{Fields: []call.Field{{Name: "x",
			Value: call.Nested{}}, {Value: call.Lit("2")}}}}}}})
	p.Views[0].Parts[1].Row, p.Views[0].Parts[1].Pitch = 4, 16
	p.Views = append(p.Views, &program.Step{Op: "Identity", In: []program.Operand{{Buffer: 4, Unread: true}},
		Out: []int{0}, Scratch: -1, Whole: true})
	text := p.String()
	for _, want := range []string{"arena 96, bound 96, overlapping 80, state 16, staged 16\n  in \"dtcm\", 32 bytes\n",
		"steps 0 to 1, in %c, rows of 4 every 16 # in \"dtcm\" at 16\n", "  state in0 = out0, fill 0, const0\n",
		`  code 0 "loop" ("int n") uses "u" headers "h" {` + "\n    \"a\"\n    \"\\\"b\\\"\"\n  }\n",
		`Split(%h, %x) "split" in chain "stem"` + "\n    by \"struct\" runs \"f g\"\n    scratch %s at 32, 16 ",
		"    fetch const0 to %s at 32, 16 bytes # in \"a\" at 0\n    fetch const1 over const0\n",
		"    overwrites in1 as out1 ahead 4 behind 8 slower 2 by scratch, in0\n    headers \"f.h\"\n",
		"    rows out1 of 4\n    rows in0 of 8\n",
		"    call code0(\n      null,\n      func k,\n      trained 5,\n      \"null\",\n      -1.5f,\n" +
			"      in1-16:\"T *\",\n      mutable const1,\n      array T 9 {{x = {}, 2}}) returns ignored\n",
		"    part in0 at 0\n    part in1 at 8, rows of 4 every 16\n",
		"  view %h = Identity(unread %c) \"\"\n    whole\n",
		`  const 0 "state" file "bin" uint8_t pad 4 staged at 0 = u8[8] {1,2,3,4,5,6,7,8}` + "\n"} {
		testenv.Check(t, strings.Contains(text, want), "no %q in\n%s", want, text)
	}
}
