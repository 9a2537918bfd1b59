// SPDX-License-Identifier: Apache-2.0

package data_test

import (
	"image/color"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// TestInputs: pictures and arrays for several inputs, folders as inferences.
func TestInputs(t *testing.T) {
	g := ir.New("g")
	g.AddInput("eye", ir.T(tensor.F32, 1, 3, 4, 5))
	g.AddInput("old", ir.T(tensor.F32, 1, 3, 4, 5))
	dir := t.TempDir()
	for _, n := range []string{"a.png", "b.png"} {
		write(t, encodePNG(t, flat(5, 4, color.NRGBA{R: n[0], A: 255})), dir, "f", n)
	}
	v := make([]float32, 60)
	for i := range v {
		v[i] = float32(i)
	}
	a := testenv.Must(npz.New([]int{1, 4, 5, 3}, v))(t)
	old := filepath.Join(dir, "old.npy")
	testenv.OK(t, npz.WriteNpyFile(old, a))
	sp := testenv.Must(data.Parse([]string{"image.scale=1", "layout=nhwc"}))(t)
	list, from, _, err := data.Inputs([]string{"eye=" + filepath.Join(dir, "f"), old}, g.In, data.Options{Spec: sp})
	testenv.Require(t, err == nil && len(list) == 2, "%d inferences, %v", len(list), err)
	testenv.Same(t, from, []string{"a.png", "b.png"}, "they come from")
	if x := list[1]; x[0].Float(0) != 'b' || x[1].Float(1) != 3 || x[1].Float(20) != 1 {
		t.Errorf("the second inference: %v, %v", x[0].Floats()[:2], x[1].Floats()[:4])
	}
	for _, c := range []struct{ args, want string }{
		{filepath.Join(dir, "f"), "the model has 2 inputs (eye, old); want NAME=PATH"},
		{"eye=" + filepath.Join(dir, "f"), "no --input for old"},
		{"eye=" + filepath.Join(dir, "f") + " old=" + filepath.Join(dir, "f", "a.png") + " " + old, "model has only 0"},
		{"eye=" + filepath.Join(dir, "none"), "no such file"},
		{"eye=" + write(t, []byte("BM6"), dir, "a.bmp") + " " + old,
			"a.bmp: files of this kind are not read; convert them to PNG"},
		{"eye=" + old + " old=" + complexFile(t), "complex.npy: npz: complex64"},
	} {
		_, _, _, err := data.Inputs(strings.Fields(c.args), g.In, data.Options{})
		testenv.Refused(t, err, c.want)
	}
}

// TestArraysOfSamples: an array with samples along a first axis, beyond the shape or in
// place of its 1, is as many inferences where they are wanted.
func TestArraysOfSamples(t *testing.T) {
	in := input(1, 2)
	for _, shape := range [][]int{{3, 1, 2}, {3, 2}} {
		a := testenv.Must(npz.New(shape, []float32{0, 1, 2, 3, 4, 5}))(t)
		path := filepath.Join(t.TempDir(), "x.npy")
		testenv.OK(t, npz.WriteNpyFile(path, a))
		list, _, _, err := data.Inputs([]string{path}, in, data.Options{Split: true})
		testenv.Check(t, err == nil && len(list) == 3 && slices.Equal(list[1][0].Floats(), []float64{2, 3}),
			"%v: %v, %v", shape, list, err)
		if list, _, _, err = data.Inputs([]string{path}, in, data.Options{}); err != nil || len(list) != 1 {
			t.Errorf("%v: %d inferences, %v", shape, len(list), err)
		}
	}
}

// complexFile is a file of numbers that no model computes with.
func complexFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "complex.npy")
	a := &npz.Array{DType: "complex64", Shape: []int{1}, Data: make([]complex64, 1)}
	testenv.OK(t, npz.WriteNpyFile(path, a))
	return path
}

// TestDevices: what firmware is to do, and why it cannot.
func TestDevices(t *testing.T) {
	g := ir.New("g")
	g.AddInput("eye", ir.T(tensor.F32, 1, 8, 10, 3))
	g.AddInput("ear", ir.T(tensor.F32, 2, 3, 40))
	for _, c := range []struct{ spec, want string }{
		{"eye:image.emit=true eye:image.frame=40x20", ""},
		{"ear:audio.emit=true ear:audio.window=40 ear:audio.rate=8000", ""},
		{"eye:image.emit=true", "image.emit wants image.frame"},
		{"eye:image.emit=true eye:image.frame=3x2 eye:image.format=uyvy", "want an even width"},
		{"eye:image.emit=true eye:audio.emit=true eye:image.frame=4x4", "emit is said of image and of audio"},
		{"ear:image.emit=true ear:image.frame=4x4", "takes no pictures"},
		{"ear:audio.emit=true ear:audio.window=7", "no frames of audio.window"},
		{"nose:image.emit=true", "no input nose"},
		{"image.emit=1", "want one of true, false"},
	} {
		var list []data.Device
		s, err := data.Parse(strings.Fields(c.spec))
		if err == nil {
			list, err = s.Devices(g.In)
		}
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q in it", c.spec, err, c.want)
		case c.want == "" && (err != nil || len(list) != 1 || !s.Emits()):
			t.Errorf("%s: %v, %v", c.spec, list, err)
		}
	}
}
