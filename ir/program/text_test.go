// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/syntax"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// example is the program that README.md points to.
func example(t testing.TB) string {
	t.Helper()
	b := testenv.Must(os.ReadFile("testdata/example.txt"))(t)
	return string(b)
}

// TestExample: the example is a program.
func TestExample(t *testing.T) {
	p := testenv.Must(program.Parse(example(t)))(t)
	if err := p.Verify(); err != nil {
		t.Error(err)
	}
	roundTrip(t, p)
}

// roundTrip: a program is what its text says.
func roundTrip(t testing.TB, p *program.Program) {
	t.Helper()
	text := p.String()
	back, err := program.Parse(text)
	testenv.Require(t, err == nil, "%v\n%s", err, text)
	d := cmp.Diff(p, back, cmpopts.EquateEmpty())
	testenv.Require(t, d == "", "read back (-want +got):\n%s\n%s", d, text)
	if again := back.String(); again != text {
		t.Fatalf("printed again:\n%s", cmp.Diff(text, again))
	}
}

// generator makes programs with everything that the text form can say, whether
// or not it makes sense.
type generator struct {
	*rand.Rand
	p *program.Program
}

// text is a name or a piece of C.
func (g generator) text() string {
	words := []string{"x", "in0", "out", "scratch", "const3", "code1", "null", "func", "struct", "mutable", "step", "}",
		"", " ", "-", "-7", "1.5f", "0x1p-3f", "a b",
		"nncc_relu_s8", "\"", "\\", "\n", "*/", "größe", "\xff", "(-2147483647 - 1)", "%x", "#", "unread", "fill"}
	s := words[g.IntN(len(words))]
	if g.IntN(4) == 0 {
		s += words[g.IntN(len(words))]
	}
	return s
}

func (g generator) texts() []string {
	var out []string
	for range g.IntN(3) {
		out = append(out, g.text())
	}
	return out
}

func (g generator) number() int { return []int{0, 1, 16, g.IntN(1 << 31)}[g.IntN(4)] }

func (g generator) typ() types.Type {
	t := types.T([]tensor.DType{tensor.F32, tensor.I8, tensor.U4, tensor.Bool}[g.IntN(4)], 1+g.IntN(3), 1+g.IntN(3))
	if g.IntN(3) == 0 {
		t.Order = []int{1, 0}
	}
	switch g.IntN(4) {
	case 0:
		t.Quant = types.PerTensor(0.0235, -128)
	case 1:
		t.Quant = &types.Quant{Axis: 0, Scale: make([]float32, t.Shape[0]), Zero: make([]int32, t.Shape[0])}
	}
	return t
}

// arg is an argument; Code is not among them.
func (g generator) arg(depth int) call.Arg {
	fields := func() []call.Field {
		var f []call.Field
		for range g.IntN(4) {
			x := call.Field{Value: g.arg(depth + 1)}
			if g.IntN(2) == 0 {
				x.Name = "f" + g.text()
			}
			f = append(f, x)
		}
		return f
	}
	n := 11
	if depth > 3 {
		n = 7
	}
	off := g.number() * (1 - 2*g.IntN(2))
	switch g.IntN(n) {
	case 0, 1:
		return call.Lit(g.text())
	case 2:
		return call.In{I: g.number(), Off: off, CType: g.text()}
	case 3:
		return call.Out{I: g.number(), Off: off, CType: g.text()}
	case 4:
		return call.Scratch{Off: off, CType: g.text()}
	case 5:
		return call.Const{I: g.number(), NoCast: g.IntN(2) == 0}
	case 6:
		return []call.Arg{call.Null{}, call.Func(g.text())}[g.IntN(2)]
	case 7, 8:
		return &call.Struct{Type: g.text(), Fields: fields(), Mutable: g.IntN(2) == 0}
	case 9:
		a := &call.Array{Type: g.text(), Bytes: g.number()}
		for range g.IntN(3) {
			a.Elems = append(a.Elems, call.Nested{Fields: fields()})
		}
		return a
	}
	return call.Nested{Fields: fields()}
}

func (g generator) step(k int, values int, code []*call.Code) *program.Step {
	s := &program.Step{Name: g.text(), Op: g.text(), Origin: g.texts(), Scratch: -1}
	if g.IntN(3) == 0 {
		s.Chain = g.text()
	}
	for range g.IntN(4) {
		x := program.Operand{Buffer: g.IntN(values+1) - 1}
		x.Unread = x.Buffer >= 0 && g.IntN(4) == 0
		s.In = append(s.In, x)
	}
	for range 1 + g.IntN(2) {
		s.Out = append(s.Out, g.IntN(values))
	}
	if k < 0 {
		if s.Whole = g.IntN(2) == 0; !s.Whole {
			s.Parts = []call.Part{{Input: g.IntN(2) == 0, I: g.number(), Off: g.number()},
				{I: 1, Row: 1 + g.number(), Pitch: g.number()}}
		}
		return s
	}
	if g.IntN(2) == 0 {
		s.Kernel, s.Route = g.text(), g.text()
	}
	if g.IntN(2) == 0 {
		s.Scratch = len(g.p.Buffers)
		g.p.Buffers = append(g.p.Buffers, program.Buffer{Name: g.text(), Offset: g.number(), Bytes: g.number(),
			First: k, Last: k, AliasOf: -1})
	}
	s.Headers = g.texts()
	for range g.IntN(3) {
		x := call.Overlap{I: g.number(), Out: g.IntN(3), Exact: g.IntN(2) == 0, Scratch: g.IntN(4) == 0}
		if !x.Exact {
			x.Ahead = g.number()
		}
		s.Overlap = append(s.Overlap, x)
		s.Rows = append(s.Rows, call.Rows{Output: g.IntN(2) == 0, I: g.number(), Bytes: g.number()})
	}
	for range g.IntN(4) {
		c := call.Call{Func: g.text(), Status: []call.Status{call.NoStatus, call.NNCCStatus, call.Ignored,
			call.Status(g.text())}[g.IntN(4)]}
		if len(code) > 0 && g.IntN(3) == 0 {
			c.Func, c.Code = "", code[g.IntN(len(code))]
		}
		for range g.IntN(4) {
			c.Args = append(c.Args, g.arg(0))
		}
		s.Calls = append(s.Calls, c)
	}
	return s
}

// fetches has step k copy constants, some of them over others.
func (g generator) fetches(k int, s *program.Step) {
	for i := range g.IntN(4) {
		if i > 0 && g.IntN(3) == 0 {
			s.Fetches = append(s.Fetches, program.Fetch{Const: i, Buffer: s.Fetches[g.IntN(i)].Buffer})
			continue
		}
		s.Fetches = append(s.Fetches, program.Fetch{Const: i, Buffer: len(g.p.Buffers)})
		g.p.Buffers = append(g.p.Buffers, program.Buffer{Name: g.text(), Offset: g.number(), Bytes: g.number(),
			First: k, Last: k, AliasOf: -1})
	}
}

// parts divides the arena, or not.
func (g generator) parts() {
	for range g.IntN(3) {
		g.p.Parts = append(g.p.Parts, program.Part{Name: g.text(), Bytes: g.number()})
	}
}

func random(seed uint64) *program.Program {
	g := generator{rand.New(rand.NewPCG(seed, 11)), nil}
	p := &program.Program{Name: g.text(), ArenaBytes: g.number(), LowerBound: g.number(), OverlapBound: g.number(),
		PeakOptimal: g.IntN(2) == 0}
	if g.IntN(2) == 0 {
		p.StateBytes = g.number()
	}
	if g.IntN(2) == 0 {
		p.StagedBytes = g.number()
	}
	g.p = p
	g.parts()
	values := 1 + g.IntN(4)
	for i := range values {
		b := program.Buffer{Name: fmt.Sprint(g.text(), i), Type: g.typ(), Offset: g.number(), Bytes: g.number(),
			First: g.number(), Last: g.number(), AliasOf: g.IntN(values+1) - 1}
		if g.IntN(3) == 0 {
			b.Row, b.Pitch = g.number(), 1+g.number()%1000
		}
		b.Kept = g.IntN(4) == 0
		p.Buffers = append(p.Buffers, b)
	}
	for range g.IntN(3) {
		p.Inputs = append(p.Inputs, program.IO{Name: g.text(), Buffer: g.IntN(values)})
		p.Outputs = append(p.Outputs, program.IO{Name: g.text(), Buffer: g.IntN(values)})
		p.States = append(p.States, program.State{In: g.number(), Out: g.number(), Fill: g.number() - 128,
			Init: g.IntN(3) - 1})
	}
	var code []*call.Code
	for i := range g.IntN(3) {
		code = append(code, &call.Code{Hint: fmt.Sprint(g.text(), i), Params: g.texts(),
			Body: strings.Join(g.texts(), "\n"), Uses: g.texts(), Headers: g.texts()})
	}
	for k := range g.IntN(4) {
		p.Steps = append(p.Steps, g.step(k, values, code))
	}
	for range g.IntN(3) {
		p.Views = append(p.Views, g.step(-1, values, nil))
	}
	for k, s := range p.Steps {
		g.fetches(k, s)
	}
	for range g.IntN(4) {
		x := program.Const{Hint: g.text(), CType: []string{"int8_t", "uint16_t", "int64_t", "float", "double", "bf16",
			"T"}[g.IntN(7)], Align: g.number(), Pad: g.number()}
		if x.Staged = g.IntN(3) == 0; x.Staged {
			x.At = g.number()
		}
		x.Data = make([]byte, []int{0, 3, 8, 80, 520}[g.IntN(5)])
		for i := range x.Data {
			x.Data[i] = byte(g.Uint32())
		}
		if g.IntN(4) == 0 {
			x.Ext = g.text()
		}
		p.Consts = append(p.Consts, x)
	}
	return p
}

// TestRandomText: programs of everything that can be said survive their text.
func TestRandomText(t *testing.T) {
	for seed := range uint64(150) {
		roundTrip(t, random(seed))
		testenv.Require(t, !t.Failed(), "seed %d", seed)
	}
}

// FuzzRoundTrip is TestRandomText for more seeds.
func FuzzRoundTrip(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { roundTrip(t, random(seed)) })
}

// FuzzParse: whatever is read can be printed and read again, and neither that
// nor the check of it panics.
func FuzzParse(f *testing.F) {
	f.Add(example(f))
	for seed := range uint64(20) {
		f.Add(random(seed).String())
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := program.Parse(src)
		if err != nil {
			var e *syntax.Error
			testenv.Require(t, errors.As(err, &e), "%T: %v", err, err)
			return
		}
		text := p.String()
		back, err := program.Parse(text)
		testenv.Require(t, err == nil, "%v\n%s", err, text)
		d := cmp.Diff(text, back.String())
		testenv.Require(t, d == "", "%v", d)
		_ = p.Verify()
	})
}

// TestErrors: texts that are no programs, with what is said.
func TestErrors(t *testing.T) {
	const buffers = "arena 64, bound 64\nbuffer %x : f32[2] at 0, 8 bytes, steps 0 to 0\n"
	for _, c := range []struct{ body, want string }{
		{"", ""},
		{buffers, ""},
		{"bufer %x", `2:1: found "bufer", want arena, in, buffer, input, output, state, code, step, view, const or }`},
		{"arena 64", `3:1: found "}", want ","`},
		{"arena -1, bound 0", "2:7: -1 is not from 0 to 2147483647"},
		{buffers + buffers, "5:8: there are two buffers %x"},
		{"buffer %x : f64[16384,16384] at 0, 1 bytes, steps 0 to 0", "2:13: no buffer has the type f64[16384,16384]"},
		{"buffer %x : f32[2] at 0, 8 bytes, steps 0 to 0, in %y", "2:52: there is no buffer %y"},
		{`input "x" = %x`, "2:13: there is no buffer %x before this line"},
		{buffers + `step 1 %x = Relu(%x) "r"`, "4:6: step 1, want 0"},
		{buffers + `step 0 %x = Relu(%x)`, `5:1: found "}", want a string`},
		{buffers + `step 0 %x = Relu(%x) "r" call f(in0)`, `4:36: found ")", want ":"`},
		{buffers + `step 0 %x = Relu(%x) "r" call code0()`, "4:31: there is no code 0 before this line"},
		{buffers + `step 0 %x = Relu(%x) "r" call f(mutable 7)`, `4:41: found "7", want struct or const and a number`},
		{buffers + `view %x = Relu(%x) "r" call f()`, `4:24: found "call", want arena, in, buffer`},
		{buffers + `step 0 %x = Relu(%x) "r" call f(` + strings.Repeat("{", 40),
			"structs are nested more than 32 deep"},
		{`const 0 "w" int8_t = i8[4] {1,2,3}`, "i8[4] needs 4 numbers, got 3"},
		{`const 0 "w" int8_t = i8[9000000] splat 0`, "more than 4194304 elements made by splat and rand"},
	} {
		_, err := program.Parse("program \"p\" {\n" + c.body + "\n}")
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s\n\t%v", c.body, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s\n\tgot  %v\n\twant %s", c.body, err, c.want)
		}
	}
}
