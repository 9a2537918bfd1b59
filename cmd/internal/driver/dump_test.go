// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
)

// TestDumpWarnsOnce: nodes that ONNX has no form for, at several stages, are one short warning.
func TestDumpWarnsOnce(t *testing.T) {
	g := ir.New("mixed")
	x := g.AddInput("x", ir.T(tensor.BF16, 1, 1, 1, 1))
	weight := g.AddConst("w", tensor.New(tensor.BF16, []int{1, 1, 1, 1}))
	bias := g.AddConst("b", tensor.New(tensor.F32, []int{1})) // ONNX wants it in bfloat16
	for range 100 {
		n := testenv.Must(g.Add(op.Conv, "", nil, 1, x, weight, bias))(t)
		x = n.Out[0]
	}
	g.AddOutput("y", x)
	c := Defaults()
	c.Board = "host"
	c.DumpIR = filepath.Join(t.TempDir(), "dump")
	d := testenv.Must(c.openDump())(t)
	defer d.Discard()
	for _, stage := range []string{"00-one", "01-two"} {
		testenv.OK(t, d.graph(stage, g))
	}
	d.warnNoONNX()
	testenv.Require(t, len(c.Diags) == 1, "%d warnings", len(c.Diags))
	if s := c.Diags[0].Msg; len(s) > 300 || !strings.Contains(s, "00-one, 01-two") || !strings.Contains(s, "99 more") {
		t.Error(s)
	}
}

// TestTargetMayChoose: without flags nothing insists on int8 for single layers,
// so that an accelerator with a wider format can use it; with flags they do.
func TestTargetMayChoose(t *testing.T) {
	for _, c := range []struct {
		precision option.Precision
		weights   option.Weights
		free      bool
	}{{option.Auto, option.Int8Weights, true}, {option.Int8, option.Int8Weights, true},
		{option.Int16x8, option.Int8Weights, false}, {option.Auto, option.Int4Weights, false}} {
		d := Defaults()
		d.Precision, d.Weights = c.precision, c.weights
		testenv.Equal(t, d.layerPrecision(ir.New("g")) == nil, c.free, "--precision %s --weights %s: free", c.precision,
			c.weights)
	}
}

// TestWeightsFileIsNoFlash: --max-flash and the board's memories do not count constants
// that are bound at run time.
func TestWeightsFileIsNoFlash(t *testing.T) {
	bytes := func(bound bool) (n, weights int, region string) {
		c := Defaults()
		c.Model, c.Board = filepath.Join("..", "..", "nncc", "examples", "digits", "digits.onnx"), "stm32h743"
		c.WeightsFile = bound
		o, err := c.Compile()
		testenv.OK(t, err)
		n, err = o.Firmware.flashBytes()
		testenv.OK(t, err)
		return n, o.Info.WeightBytes, o.Placement.At("weights")
	}
	linked, weights, at := bytes(false)
	const binding = 2048 // code that checks the file
	if bound, _, none := bytes(true); bound > linked-weights+binding || at == "" || none != "" {
		t.Errorf("%d bytes of flash in %q, %d in %q with %d bytes of constants apart", linked, at, bound, none, weights)
	}
}

// TestBoundIsData: the pointer to bound constants is RAM, beside the C library's.
func TestBoundIsData(t *testing.T) {
	c := Defaults()
	c.Model, c.Board = filepath.Join("..", "..", "nncc", "examples", "digits", "digits.onnx"), "stm32h743"
	c.WeightsFile = true
	o := testenv.Must(c.Compile())(t)
	built := &run.Sizes{By: map[run.Origin]run.Section{run.ModelCode: {BSS: 4}, run.Kernels: {Data: 8},
		run.Libc: {Data: 16, BSS: 32}, run.Harness: {BSS: 64}}}
	for _, i := range o.Firmware.items(built, 0) {
		if i.What == "data" && i.Bytes == 4+8+16+32 {
			return
		}
	}
	t.Error("want 60 bytes of data")
}

// TestWeightsFileRefuses what cannot be together with a file that is bound.
func TestWeightsFileRefuses(t *testing.T) {
	for want, set := range map[string]func(*Config){
		"--dead-channels on": func(c *Config) { c.Told = map[string]bool{"dead-channels": true} },
	} {
		c := Defaults()
		c.Model, c.Board = "none.onnx", "cortex-m4"
		set(&c)
		var e *UsageError
		err := c.Check()
		testenv.Check(t, err == nil, "%s without a weights file: %v", want, err)
		c.WeightsFile = true
		if err := c.Check(); !errors.As(err, &e) || !strings.Contains(e.Msg, want) {
			t.Errorf("want a word of %s, got %v", want, err)
		}
	}
}

// stepped is a graph with a name for every flag to go wrong with.
const stepped = `graph "step" {
	in %x : f32[1,4]
	in %h : f32[1,4]
	in %"a=b" : f32[1,4]
	%s = Add(%x, %h) name "add" from "Add_0"
	%y = Add(%s, %"a=b") name "sum" from "layer.one/Add", "*"
	out "y" = %y
	out "hN" = %s
	out "c=d" = %s
}`

// user demands of an error that it is the user's and says something.
func user(t *testing.T, err error) {
	t.Helper()
	var u *UsageError
	var in *InputError
	if msg := err.Error(); !errors.As(err, &u) && !errors.As(err, &in) || len(msg) < 10 || bug.Is(err) {
		t.Errorf("error %T %q", err, msg)
	}
}

// FuzzFlags: whatever stands behind a flag is a value in its range or the
// user's error.
func FuzzFlags(f *testing.F) {
	for _, s := range []string{
		"", "=", "x=1", "x=1,2,3", "x=nan", "x=0x1p-2", "x=1e999", "a=b=3", "sr=file.npy", "N=0",
		"N=9223372036854775808", "hN=h", "c=d=a=b", "auto",
		"1", "-1:2", "x=1:9223372036854775807", "n=8,sign=1,delta=auto-pow2", "n=2,n=3", "delta=-1", "64K",
		"9999999999999M", "nodes=1G", "nodes=-1K", "depth=4611686018427387904G", "x=in.npy", "in.npz",
	} {
		f.Add(s)
	}
	dir := f.TempDir()
	four := tensor.Of([]int{1, 4}, []float32{1, 2, 3, 4})
	a := npz.FromTensor(four)
	if err := errors.Join(npz.WriteNpyFile(filepath.Join(dir, "in.npy"), a),
		npz.WriteNpzFile(filepath.Join(dir, "in.npz"), []npz.Entry{{Name: "x", Array: a}})); err != nil {
		f.Fatal(err)
	}
	g := testenv.Must(ir.Parse(stepped, op.Get))(f)
	names := ir.Names(g.In)
	f.Fuzz(func(t *testing.T, s string) {
		t.Chdir(dir)
		c := Defaults()
		c.Dims, c.Set, c.States, c.Stream, c.Project = []string{s}, []string{s}, []string{s}, s, s
		if m, err := c.dims(); err != nil {
			user(t, err)
		} else if len(m) != 1 {
			t.Errorf("dims %v", m)
		}
		if m, err := pairs("set", c.Set); err != nil {
			user(t, err)
		} else {
			for k, v := range m {
				if filepath.Base(v) != v { // a file of this machine
					continue
				}
				if d, err := constant(k, v, npz.Limits{}); err != nil {
					user(t, err)
				} else if d.Len() != tensor.Count(d.Shape) {
					t.Errorf("a constant of shape %v with %d elements", d.Shape, d.Len())
				}
			}
		}
		ties, err := fail.Try(func() []state.Binding { return c.bindings(g) })
		if err != nil {
			user(t, err)
		}
		for _, x := range ties {
			testenv.Check(t, slices.Contains(g.OutNames, x.Out) && slices.Contains(names, x.In), "tie %+v", x)
		}
		if o, err := state.ParseStream(g, ties, c.Stream); err != nil {
			user(t, &UsageError{err.Error()})
		} else if o != nil && (o.Input < 0 || o.Input >= len(g.In) || o.Hop < 0) {
			t.Errorf("stream %+v", o)
		}
		if x, err := quant.ParseFixedPoint(s); err == nil && (x.N != 0 && (x.N < 2 || x.N > 16) || x.Delta < 0) {
			t.Errorf("fixed point %+v", x)
		}
		if n, err := parseBytes("max-ram", s); err != nil {
			user(t, err)
		} else if n < -1 || n > 1<<40 {
			t.Errorf("%d bytes", n)
		}
		var lim onnx.Limits
		if err := lim.Set(s); err == nil && lim == (onnx.Limits{}) {
			t.Errorf("limit %q changed nothing", s)
		}
		if err := c.Check(); err != nil {
			user(t, err)
		}
		if _, file, _ := strings.Cut(s, "="); filepath.Base(s) == s && filepath.Base(file) == file {
			if in, err := npz.ReadInputs([]string{s, "h=in.npy", "a=b=in.npy"}, names, npz.Limits{}); err != nil {
				user(t, &InputError{err})
			} else if len(in) != len(names) {
				t.Errorf("%d inputs", len(in))
			}
		}
	})
}
