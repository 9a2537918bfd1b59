// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	_ "embed"
	"reflect"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/program"

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
	for _, src := range []string{example(t), states} {
		p := testenv.Must(program.Parse(src))(t)
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
//
//go:embed testdata/states.ir
var states string

// TestVerify: programs that are wrong in one place, and what is said of them.
func TestVerify(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"as it is", "", "", ""},
		{"outside the arena", "%x : f32[2] at 48", "%x : f32[2] at 96",
			"buffer x, 8 bytes at 96, leaves the arena of 96 bytes"},
		{"outside the state", "%h : f32[2] at 0", "%h : f32[2] at 16",
			"buffer h, 8 bytes at 16, leaves the state of 16 bytes"},
		{"state in the arena", "steps 0 to 1, kept", "steps 0 to 1", "input h: state and nothing else"},
		{"an output in the state", "0 to 1\n  input", "0 to 1, kept\n  input", "output c lies in the state"},
		{"a memory without state", ", state 16", "", "0 bytes of memory for 1 states"},
		{"not aligned", "%h : f32[2] at 0", "%h : f32[2] at 4", "buffer h at 4 is not aligned to 16"},
		{"a part elsewhere", "%b : f32[2] at 24", "%b : f32[2] at 20", "%b is at"},
		{"a result over an operand without leave", "%x : f32[2] at 48", "%x : f32[2] at 16", "overlaps operand %x"},
		{"scratch memory over a value", "scratch %s at 32", "scratch %s at 48", "the scratch memory at 48 overlaps %x"},
		{"an argument without a place", "in0:float", "in2:float", "an argument points to input 2"},
		{"a constant that is not there", "scratch:float, const0)", "scratch:float, const1)",
			"an argument is constant 1 of 1"},
		{"state of another size", "u8[8] {1,2,3,4,5,6,7,8}", "u8[4] {1,2,3,4}", "it begins with 4 bytes"},
		{"state of another type", "%h : f32[2]", "%h : i32[2]", "state %h is i32[2], %a is f32[2]"},
		{"read before it is written", "Split(%h, %x)", "Split(%h, unread %h, %b)", "reads %b, which step 0 writes"},
		{"in itself", "%c : f32[4] at 16, 16 bytes, steps 0 to 1", "%c : f32[4] at 16, 16 bytes, steps 0 to 1, in %a",
			"lies in itself"},
		{"in two parts", ", state 16", ", state 16\n  in \"a\", 32 bytes\n  in \"b\", 64 bytes", ""},
		{"over a wall", ", state 16", ", state 16\n  in \"a\", 32 bytes\n  in \"b\", 80 bytes",
			"the parts of the arena have 112 bytes, it has 96"},
		{"over a wall", ", state 16", ", state 16\n  in \"a\", 16 bytes\n  in \"b\", 80 bytes", ""},
		{"two parts in one memory", ", state 16", ", state 16\n  in \"a\", 32 bytes\n  in \"a\", 64 bytes",
			`part "a" of the arena has 64 bytes`},
		{"rows that nobody takes", "steps 0 to 1, in %c", "steps 0 to 1, in %c, rows of 4 every 8",
			"%a is at {at:16 bytes:8 row:4 pitch:8}"},
	} {
		p, err := program.Parse(strings.Replace(states, c.old, c.new, 1))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		err = p.Verify()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}
