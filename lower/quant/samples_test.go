// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

func inputs(shapes ...[]int) []*ir.Value {
	g := ir.New("g")
	for i, s := range shapes {
		g.AddInput([]string{"left", "right"}[i], ir.T(tensor.F32, s...))
	}
	return g.In
}

// ramp is an array 0, 1, 2, ... of a shape.
func ramp(t *testing.T, shape ...int) *npz.Array {
	d := make([]float32, tensor.Count(shape))
	for i := range d {
		d[i] = float32(i)
	}
	a := testenv.Must(npz.New(shape, d))(t)
	return a
}

func writeNpy(t *testing.T, a *npz.Array, elem ...string) string {
	p := filepath.Join(elem...)
	testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o755))
	testenv.OK(t, npz.WriteNpyFile(p, a))
	return p
}

func writeNpz(t *testing.T, dir, name string, e ...npz.Entry) string {
	p := filepath.Join(dir, name)
	testenv.OK(t, npz.WriteNpzFile(p, e))
	return p
}

// readSamples reads calibration inputs of which nothing is declared.
func readSamples(paths []string, in []*ir.Value, lim npz.Limits) ([]quant.Sample, error) {
	s, err := data.Open(paths, in, data.Options{Limits: lim})
	if err != nil {
		return nil, err
	}
	return quant.SamplesOf(s)
}

// TestReadSamples: the shapes that count as samples, and their order.
func TestReadSamples(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		shape []int // of the array
		want  int
	}{{[]int{1, 2, 3}, 1}, {[]int{5, 2, 3}, 5}, {[]int{5, 1, 2, 3}, 5}, {[]int{2, 3}, 1}} {
		s, err := readSamples([]string{writeNpy(t, ramp(t, c.shape...), dir, "a.npy")}, inputs([]int{1, 2, 3}),
			npz.Limits{})
		if err != nil || len(s) != c.want {
			t.Errorf("%v: %d samples, want %d (%v)", c.shape, len(s), c.want, err)
			continue
		}
		if last := s[len(s)-1][0]; last.Float(0) != float64(6*(c.want-1)) {
			t.Errorf("%v: the last sample begins with %g", c.shape, last.Float(0))
		}
	}
	// Batch 4: whole batches, the last one filled up from the start.
	s, err := readSamples([]string{writeNpy(t, ramp(t, 6, 2), dir, "b.npy")}, inputs([]int{4, 2}), npz.Limits{})
	testenv.Check(t, err == nil && len(s) == 2 && s[1][0].Float(0) == 8 && s[1][0].Float(4) == 0, "batches: %v %v", s,
		err)
	// Several inputs by name, in an archive or as files; a folder in natural order.
	two := inputs([]int{1, 2}, []int{1})
	e := []npz.Entry{{Name: "right", Array: ramp(t, 3)}, {Name: "note", Array: ramp(t, 7)},
		{Name: "left", Array: ramp(t, 3, 2)}}
	if s, err = readSamples([]string{writeNpz(t, dir, "c.npz", e...)}, two, npz.Limits{}); err != nil ||
		len(s) != 3 || s[2][0].Float(1) != 5 || s[2][1].Float(0) != 2 {
		t.Errorf("archive: %v %v", s, err)
	}
	writeNpy(t, ramp(t, 1, 2), dir, "f", "left.npy")
	writeNpy(t, ramp(t, 1), dir, "f", "input_1.npy")
	if s, err = readSamples([]string{filepath.Join(dir, "f"), filepath.Join(dir, "c.npz")}, two,
		npz.Limits{}); err != nil || len(s) != 4 {
		t.Errorf("folder: %v %v", s, err)
	}
	for _, k := range []int{10, 9, 2} {
		a := ramp(t, 2)
		a.Data.([]float32)[0] = float32(k)
		writeNpy(t, a, dir, "n", "s"+string(rune('0' + k/10))[:k/10]+string(rune('0'+k%10))+".npy")
	}
	if s, err = readSamples([]string{filepath.Join(dir, "n")}, inputs([]int{2}), npz.Limits{}); err != nil ||
		len(s) != 3 || s[0][0].Float(0) != 2 || s[2][0].Float(0) != 10 {
		t.Errorf("natural order: %v %v", s, err)
	}
}

// TestReadSamplesErrors: wrong names, shapes, types and files are named.
func TestReadSamplesErrors(t *testing.T) {
	dir := t.TempDir()
	one, two := inputs([]int{1, 2}), inputs([]int{1, 2}, []int{1})
	ints := testenv.Must(npz.New([]int{1, 2}, []uint8{1, 2}))(t)
	inf := ramp(t, 1, 2)
	inf.Data.([]float32)[1] = float32(math.Inf(1))
	text := filepath.Join(dir, "text.npy")
	testenv.OK(t, os.WriteFile(text, []byte("hello"), 0o644))
	testenv.OK(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	for what, c := range map[string]struct {
		path string
		in   []*ir.Value
		want string
	}{
		"missing file": {filepath.Join(dir, "none.npy"), one, "no such file"},
		"not numpy":    {text, one, "npy"},
		"a model":      {"samples_test.go", one, "samples are .npy or .npz, pictures"},
		"shape":        {writeNpy(t, ramp(t, 3, 4), dir, "shape.npy"), one, "has shape [3 4]; want [1 2]"},
		"type":         {writeNpy(t, ints, dir, "ints.npy"), one, "of type uint8, want floats"},
		"infinity":     {writeNpy(t, inf, dir, "inf.npy"), one, "want finite numbers"},
		"name": {writeNpz(t, dir, "name.npz", npz.Entry{Name: "lift", Array: ramp(t, 1, 2)}), two,
			`no array is called "left"`},
		"counts": {writeNpz(t, dir, "count.npz", npz.Entry{Name: "left", Array: ramp(t, 3, 2)},
			npz.Entry{Name: "right", Array: ramp(t, 4)}), two,
			"3 samples for input left, but 4 for input right"},
		"one file for two": {writeNpy(t, ramp(t, 1, 2), dir, "left.npy"), two, `no array is called "right"`},
		"empty folder":     {filepath.Join(dir, "empty"), one, "no samples"},
	} {
		t.Run(what, func(t *testing.T) {
			testenv.Refused(t, testenv.Err(readSamples([]string{c.path}, c.in, npz.Limits{})), c.want)
		})
	}
	if _, err := readSamples([]string{writeNpy(t, ramp(t, 1000, 2), dir, "big.npy")}, one,
		npz.Limits{Bytes: 100}); err == nil {
		t.Error("an array above the limit was read")
	}
}

// TestSynthetic: seeded, and of the inputs' types.
func TestSynthetic(t *testing.T) {
	g := ir.New("g")
	g.AddInput("x", ir.T(tensor.F32, 1, 300))
	g.AddInput("i", ir.T(tensor.I64, 4))
	a, b := quant.SyntheticSamples(g.In, 4, 1), quant.SyntheticSamples(g.In, 4, 1)
	for k := range a {
		for i := range a[k] {
			testenv.Require(t, tensor.Equal(a[k][i], b[k][i]), "two calls differ")
		}
		for e := range 4 {
			v := a[k][1].Int(e)
			testenv.Check(t, v == 0 || v == 1, "index %d", v)
		}
	}
	negative := func(d *tensor.Dense) (n int) {
		for e := range d.Len() {
			if d.Float(e) < 0 {
				n++
			}
		}
		return n
	}
	if negative(a[0][0]) < 50 || negative(a[3][0]) > 0 {
		t.Errorf("%d and %d negative elements", negative(a[0][0]), negative(a[3][0]))
	}
}

// TestSyntheticNarrow: inputs of 8 and 16 bits have what their type holds, as the cases of verify
// have, so that what is computed from them has the range that it will have; where they are
// indices, those that are too large go.
func TestSyntheticNarrow(t *testing.T) {
	for _, dt := range []tensor.DType{tensor.I8, tensor.U8, tensor.I16, tensor.U16} {
		b := newBuilder(t, 3)
		x := b.add("Cast", ir.Attrs{"to": ir.Int(tensor.F32.ONNXCode())}, b.g.AddInput("x", ir.T(dt, 1, 256)))
		b.g.AddOutput("y", b.add("Abs", nil, b.add("Neg", nil, x)))
		insertSynthetic(t, b.g)
		lo, hi := dt.IntRange()
		for _, n := range b.g.Nodes {
			if n.Op != op.Neg {
				continue
			}
			p, _ := quant.Params(n.In[0].Def)
			s := float64(p.Quant.Scale[0]) * 256
			testenv.Check(t, !(s < 0.9*float64(hi-lo)), "%s: the input's range is %g", dt, s)
		}
	}
	b := newBuilder(t, 4)
	i := b.add("Cast", ir.Attrs{"to": ir.Int(tensor.I64.ONNXCode())}, b.g.AddInput("i", ir.T(tensor.U8, 1, 8)))
	b.g.AddOutput("y", b.add("Relu", nil, b.add("Gather", nil, b.normal(1, 10, 4), i)))
	insertSynthetic(t, b.g)
}

func insertSynthetic(t *testing.T, g *ir.Graph) {
	t.Helper()
	if _, err := quant.Insert(g, quant.Options{Source: quant.SyntheticSource,
		Samples: quant.SyntheticSamples(g.In, 8, 1)}); err != nil {
		t.Fatal(err)
	}
}
