// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// numbers calls f for every integer in a value, which f may change.
func numbers(v reflect.Value, path string, f func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			numbers(v.Elem(), path, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			numbers(v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			numbers(v.Index(i), path, f)
		}
	case reflect.Int:
		f(path, v)
	}
}

// TestVerifyIndices: a number that is wrong is at most an error, never a panic,
// and an index that leads nowhere is one.
func TestVerifyIndices(t *testing.T) {
	index := []string{".Buffer", ".In.Buffer", ".Out", ".Scratch", ".AliasOf", ".In", ".Init", ".Parts.I"}
	seen := map[string]bool{}
	for _, p := range []*program.Program{example(), states()} {
		testenv.OK(t, p.Verify())
		numbers(reflect.ValueOf(p), "", func(path string, v reflect.Value) {
			if !v.CanSet() || strings.Contains(path, ".Type.") {
				return
			}
			was := v.Int()
			for _, x := range []int64{-1 << 40, -2, 1000, 1 << 40} {
				v.SetInt(x)
				err := p.Verify()
				for _, s := range index {
					if strings.HasSuffix(path, s) && x > 0 {
						seen[s] = true
						testenv.Check(t, err != nil, "nobody objects to %s = %d", path, x)
					}
				}
			}
			v.SetInt(was)
		})
	}
	for _, s := range index {
		testenv.Check(t, seen[s], "no program has an index %s", s)
	}
}

// states is a program with state, a view of parts, and a constant that state
// begins with.
func states() *program.Program {
	split := &program.Step{Name: "split", Op: "Split", In: []program.Operand{{}, {Buffer: 1}}, Out: []int{2, 3},
		Scratch: 5, Calls: []call.Call{{Func: "f", Args: []call.Arg{call.In{CType: "float"}, call.Out{CType: "float"},
			call.Out{I: 1, CType: "float"}, call.Scratch{CType: "float"}, call.Const{NoCast: true}}}}}
	concat := &program.Step{Name: "c", Op: "Concat", In: []program.Operand{{Buffer: 2}, {Buffer: 3}}, Out: []int{4},
		Scratch: -1, Parts: []call.Part{{Input: true}, {Input: true, I: 1, Off: 8}}}
	return &program.Program{Name: "s", ArenaBytes: 96, LowerBound: 96, OverlapBound: 96, StateBytes: 16,
		Buffers: []program.Buffer{
			{Name: "h", Type: f32(2), Bytes: 8, Last: 1, Kept: true, AliasOf: -1},
			{Name: "x", Type: f32(2), Offset: 48, Bytes: 8, AliasOf: -1},
			{Name: "a", Type: f32(2), Offset: 16, Bytes: 8, Last: 1, AliasOf: 4},
			{Name: "b", Type: f32(2), Offset: 24, Bytes: 8, Last: 1, AliasOf: 4},
			{Name: "c", Type: f32(4), Offset: 16, Bytes: 16, Last: 1, AliasOf: -1},
			{Name: "s", Offset: 32, Bytes: 16, AliasOf: -1}},
		Inputs:  []program.IO{{Name: "h"}, {Name: "x", Buffer: 1}},
		Outputs: []program.IO{{Name: "h_out", Buffer: 2}, {Name: "c", Buffer: 4}},
		States:  []program.State{{}}, Steps: []*program.Step{split}, Views: []*program.Step{concat},
		Consts: []program.Const{{Hint: "state", CType: "uint8_t", Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}}}}
}

// TestVerify: programs that are wrong in one place, and what is said of them.
func TestVerify(t *testing.T) {
	const h, x, a, b, c = 0, 1, 2, 3, 4 // buffers
	at := func(buffer, offset int) func(p *program.Program) {
		return func(p *program.Program) { p.Buffers[buffer].Offset = offset }
	}
	arg := func(i int, a call.Arg) func(p *program.Program) {
		return func(p *program.Program) { p.Steps[0].Calls[0].Args[i] = a }
	}
	parts := func(list ...program.Part) func(p *program.Program) {
		return func(p *program.Program) { p.Parts = list }
	}
	for _, v := range []struct {
		name  string
		wrong func(p *program.Program)
		want  string
	}{
		{"as it is", func(*program.Program) {}, ""},
		{"outside the arena", at(x, 96), "buffer x, 8 bytes at 96, leaves the arena of 96 bytes"},
		{"outside the state", at(h, 16), "buffer h, 8 bytes at 16, leaves the state of 16 bytes"},
		{"state in the arena", func(p *program.Program) { p.Buffers[h].Kept = false },
			"input h: state and nothing else"},
		{"an output in the state", func(p *program.Program) { p.Buffers[c].Kept = true }, "output c lies in the state"},
		{"a memory without state", func(p *program.Program) { p.StateBytes = 0 }, "0 bytes of memory for 1 states"},
		{"not aligned", at(h, 4), "buffer h at 4 is not aligned to 16"},
		{"a part elsewhere", at(b, 20), "%b is at"},
		{"a result over an operand without leave", at(x, 16), "overlaps operand %x"},
		{"scratch memory over a value", at(5, 48), "the scratch memory at 48 overlaps %x"},
		{"an argument without a place", arg(0, call.In{I: 2, CType: "float"}), "an argument points to input 2"},
		{"a constant that is not there", arg(4, call.Const{I: 1}), "an argument is constant 1 of 1"},
		{"state of another size", func(p *program.Program) { p.Consts[0].Data = make([]byte, 4) },
			"it begins with 4 bytes"},
		{"state of another type", func(p *program.Program) { p.Buffers[h].Type = types.T(tensor.I32, 2) },
			"state %h is i32[2], %a is f32[2]"},
		{"read before it is written", func(p *program.Program) {
			p.Steps[0].In = []program.Operand{{Unread: true}, {Buffer: b}}
		}, "reads %b, which step 0 writes"},
		{"in itself", func(p *program.Program) { p.Buffers[c].AliasOf = a }, "lies in itself"},
		{"in two parts", parts(program.Part{Name: "a", Bytes: 32}, program.Part{Name: "b", Bytes: 64}), ""},
		{"over a wall", parts(program.Part{Name: "a", Bytes: 32}, program.Part{Name: "b", Bytes: 80}),
			"the parts of the arena have 112 bytes, it has 96"},
		{"at a wall", parts(program.Part{Name: "a", Bytes: 16}, program.Part{Name: "b", Bytes: 80}), ""},
		{"two parts in one memory", parts(program.Part{Name: "a", Bytes: 32}, program.Part{Name: "a", Bytes: 64}),
			`part "a" of the arena has 64 bytes`},
		{"rows that nobody takes", func(p *program.Program) { p.Buffers[a].Row, p.Buffers[a].Pitch = 4, 8 },
			"%a is at {at:16 bytes:8 row:4 pitch:8}"},
	} {
		p := states()
		v.wrong(p)
		err := p.Verify()
		if v.want == "" && err != nil || v.want != "" && (err == nil || !strings.Contains(err.Error(), v.want)) {
			t.Errorf("%s: got %v, want %s", v.name, err, v.want)
		}
	}
}
