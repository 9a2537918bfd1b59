// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel/acceltest"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/option"
)

// cruBoard is a board file with the accelerator of the tests.
func cruBoard(t *testing.T, params string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cru.yaml")
	text := "inherits: [host]\naccelerators:\n- {name: cru0, kind: " + acceltest.Kind + ", params: {" + params + "}}\n"
	require(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// convNet is the text of a random network of convolutions and ReLU, one after
// another or beside each other, with operators between them that the accelerator
// lacks.
func convNet(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	type value struct {
		name    string
		c, h, w int
	}
	values := []value{{"x", 1 + r.IntN(4), 7 + r.IntN(6), 7 + r.IntN(6)}}
	decl := fmt.Sprintf("in %%x : f32[1,%d,%d,%d]\n", values[0].c, values[0].h, values[0].w)
	body := ""
	for i := range 9 {
		x := values[max(0, len(values)-1-r.IntN(2))]
		y := x
		y.name = fmt.Sprintf("v%d", i)
		switch op := r.IntN(8); {
		case op < 4:
			y.c = 1 + r.IntN(7)
			kh, kw, s, pad := 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(2), r.IntN(2)
			y.h, y.w = (x.h+pad-kh)/s+1, (x.w+pad-kw)/s+1
			if y.h < 3 || y.w < 3 {
				continue
			}
			decl += fmt.Sprintf("const %%w%d : f32[%d,%d,%d,%d] = rand %d\n", i, y.c, x.c, kh, kw, seed*100+uint64(i))
			body += fmt.Sprintf("%%%s = Conv(%%%s, %%w%d) {kernel_shape=[%d,%d], strides=[%d,%d], pads=[%d,0,0,%d]}\n",
				y.name, x.name, i, kh, kw, s, s, pad, pad)
		case op < 7:
			body += fmt.Sprintf("%%%s = Relu(%%%s)\n", y.name, x.name)
		default:
			body += fmt.Sprintf("%%%s = Sigmoid(%%%s)\n", y.name, x.name)
		}
		values = append(values, y)
	}
	for i, v := range values[len(values)-2:] {
		body += fmt.Sprintf("out \"y%d\" = %%%s\n", i, v.name)
	}
	return "graph \"net\" {\n" + decl + body + "}"
}

// TestPlugInNetworks: random networks on an accelerator that the compiler knows by
// one line of a table compute what the interpreter does, whatever part of them it
// computes; a simulator that is wrong by one is noticed.
func TestPlugInNetworks(t *testing.T) {
	const right, off = "c->out_offset, c->act_min", "c->out_offset + 1, c->act_min"
	segments, outside, broken := 0, 0, 0
	for seed := uint64(1); seed <= 5; seed++ {
		c := driver.Defaults()
		c.Board = cruBoard(t, "kernel: 15, min_work: "+[]string{"0", "5000"}[seed%2])
		c.Name, c.Cases, c.Layers = "net", 2, true
		if seed%3 == 0 {
			c.IO = option.FloatIO
		}
		o := compileNet(t, irtest.Parse(t, convNet(seed)), &c)
		segments += len(o.Report.Segments)
		outside += len(o.Report.Fallback)
		v := mustVerify(t, o)
		if v.Differs() {
			t.Errorf("seed %d\n%s", seed, v.Text())
		}
		if broken > 0 || !convolves(o) {
			continue
		}
		i := slices.IndexFunc(o.Files, func(f codegen.File) bool { return bytes.Contains(f.Data, []byte(right)) })
		if i < 0 {
			t.Fatalf("seed %d: a segment, but no simulator", seed)
		}
		o.Files[i].Data = bytes.Replace(o.Files[i].Data, []byte(right), []byte(off), 1)
		broken++
		if v, err := o.Verify(t.Context()); err != nil || !v.Differs() {
			t.Errorf("seed %d: a wrong simulator passes (%v)", seed, err)
		}
	}
	if segments < 5 || broken == 0 || outside == 0 {
		t.Errorf("%d segments, %d nodes outside, %d wrong simulators: the networks show nothing", segments, outside,
			broken)
	}
}

// convolves reports a program in which the accelerator has a convolution.
func convolves(o *driver.Compiled) bool {
	for _, s := range o.Lowered.Segments {
		for _, n := range s.Body[0].Nodes {
			if n.Op == op.Conv {
				return true
			}
		}
	}
	return false
}

// TestBoardsNameAccelerators: no shipped board has the accelerator of the tests,
// and every shipped board's is known and has valid parameters.
func TestBoardsNameAccelerators(t *testing.T) {
	with := 0
	for _, name := range boards.List() {
		s := mustLoad(t, name)
		a, err := board.Accelerator(s)
		if err != nil || a != nil && a.Kind() == acceltest.Kind {
			t.Errorf("%s: %v, %v", name, a, err)
		}
		if a != nil {
			with++
		}
	}
	if with == 0 {
		t.Error("no shipped board has an accelerator")
	}
}
