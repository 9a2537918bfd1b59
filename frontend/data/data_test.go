// SPDX-License-Identifier: Apache-2.0

package data_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// input is a model's only input.
func input(shape ...int) []*ir.Value {
	g := ir.New("g")
	g.AddInput("x", ir.T(tensor.F32, shape...))
	return g.In
}

// write makes a file of a folder.
func write(t *testing.T, b []byte, elem ...string) string {
	t.Helper()
	p := filepath.Join(elem...)
	testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o755))
	testenv.OK(t, os.WriteFile(p, b, 0o644))
	return p
}

func encodePNG(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	testenv.OK(t, png.Encode(&b, m))
	return b.Bytes()
}

// flat is a picture of one colour.
func flat(w, h int, c color.Color) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.Set(x, y, c)
		}
	}
	return m
}

func open(t *testing.T, in []*ir.Value, spec []string, paths ...string) *data.Set {
	t.Helper()
	sp := testenv.Must(data.Parse(spec))(t)
	s := testenv.Must(data.Open(paths, in, data.Options{Spec: sp, Labelled: true}))(t)
	return s
}

func sample(t *testing.T, s *data.Set, i int) data.Sample {
	t.Helper()
	x := testenv.Must(s.Sample(i))(t)
	return x
}

// TestClassFolders: subfolders are labels in the order of their names; pictures come
// in the order of theirs, numbers by value.
func TestClassFolders(t *testing.T) {
	dir := t.TempDir()
	for _, class := range []string{"dog", "cat"} {
		for _, k := range []int{10, 2, 1} {
			write(t, encodePNG(t, flat(3, 3, color.NRGBA{R: uint8(k), A: 255})), dir, class, fmt.Sprintf("i%d.png", k))
		}
	}
	write(t, []byte("pictures of animals"), dir, "README")
	s := open(t, input(1, 3, 3, 3), nil, dir)
	testenv.Require(t, slices.Equal(s.Classes, []string{"cat", "dog"}) && s.Len() == 6, "classes %v, %d samples",
		s.Classes, s.Len())
	for i, want := range []struct {
		name  string
		label int
		red   float64
	}{{"cat/i1.png", 0, 1}, {"cat/i2.png", 0, 2}, {"cat/i10.png", 0, 10}, {"dog/i1.png", 1, 1}} {
		x := sample(t, s, i)
		if got := x.Inputs[0].Float(0); x.Name != want.name || x.Label != want.label ||
			float32(got) != float32(want.red/255) {
			t.Errorf("sample %d: %s, label %d, %g; want %s, %d, %g/255", i, x.Name, x.Label, got, want.name, want.label,
				want.red)
		}
	}
	if len(s.Diags) != 1 || !strings.Contains(s.Diags[0].Msg, "pictures are taken as rgb, 3 x 3 pixels (NCHW), "+
		"stretched, bilinear, values 0 to 1; --preprocess says otherwise") {
		t.Errorf("assumed without a word: %v", s.Diags)
	}
}

// TestNumberFolders: folders that are numbers are labels of that value.
func TestNumberFolders(t *testing.T) {
	dir := t.TempDir()
	for _, class := range []string{"3", "10"} {
		write(t, encodePNG(t, flat(2, 2, color.Gray{7})), dir, class, "a.png")
	}
	s := open(t, input(1, 2, 2, 1), nil, dir)
	testenv.Check(t, s.Label(0) == 3 && s.Label(1) == 10 && len(s.Classes) == 11,
		"labels %d, %d of %v", s.Label(0), s.Label(1), s.Classes)
}

// TestLabelFiles: every form of a file of labels.
func TestLabelFiles(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"a 1.png", "b.png", "c.png"} {
		write(t, encodePNG(t, flat(2, 2, color.Gray{7})), dir, "f", n)
	}
	in := input(1, 1, 2, 2)
	order := testenv.Must(npz.New([]int{3}, []int64{2, 0, 1}))(t)
	npy := filepath.Join(dir, "order.npy")
	testenv.OK(t, npz.WriteNpyFile(npy, order))
	for name, c := range map[string]struct {
		path    string
		labels  []int
		classes string
	}{
		"commas": {write(t, []byte("file,label\na 1.png,zebra\r\nb.png,ape\n./c.png,zebra\n"), dir, "1.csv"),
			[]int{1, 0, 1}, "[ape zebra]"},
		"blanks": {write(t, []byte("# from the camera\na 1.png 2\nf/b.png 0\nc.png 2\n"), dir, "2.txt"), []int{2, 0, 2},
			"[0 1 2]"},
		"tabs": {write(t, []byte("a 1.png\ttwo words\nb.png\tx\nc.png\tx\n"), dir, "3.txt"), []int{0, 1, 1},
			"[two words x]"},
		"order": {write(t, []byte("1\n0\n1\n"), dir, "4.txt"), []int{1, 0, 1}, "[0 1]"},
		"numpy": {npy, []int{2, 0, 1}, "[0 1 2]"},
	} {
		s, err := data.Open([]string{filepath.Join(dir, "f")}, in, data.Options{Labelled: true, Labels: c.path})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := []int{s.Label(0), s.Label(1), s.Label(2)}
		testenv.Check(t, slices.Equal(got, c.labels) && fmt.Sprint(s.Classes) == c.classes,
			"%s: labels %v of %v, want %v of %s", name, got, s.Classes, c.labels, c.classes)
	}
	// Names of classes beside their folders give the order.
	for _, class := range []string{"yes", "no"} {
		write(t, encodePNG(t, flat(2, 2, color.Gray{7})), dir, "g", class, "a.png")
	}
	write(t, []byte("silence\nyes\nno\n"), dir, "g", "classes.txt")
	if s := open(t, in, nil, filepath.Join(dir, "g")); s.Label(0) != 2 || s.Label(1) != 1 || len(s.Classes) != 3 {
		t.Errorf("classes.txt: %d, %d of %v", s.Label(0), s.Label(1), s.Classes)
	}
	for name, c := range map[string]struct{ text, want string }{
		"other files": {"z.png,1\n", "names z.png, which is none of the samples"},
		"one missing": {"b.png,1\nc.png,1\n", "has no label for a 1.png"},
		"twice":       {"b.png,1\nb.png,2\n", "b.png has two labels"},
		"short":       {"1\n2\n", "2 labels for 3 samples"},
		"empty":       {"\n# none\n", "there are no labels"},
		"classes":     {"ape\nzebra\n", "nothing says which samples are of them"},
		"three words": {"b.png,1,2\n", "want a file and its label"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := data.Open([]string{filepath.Join(dir, "f")}, in, data.Options{Labelled: true,
				Labels: write(t, []byte(c.text), dir, "bad.txt")})
			testenv.Refused(t, err, c.want)
		})
	}
}

// TestLayouts: arrays in the other order are recognised, and taken where that is said.
func TestLayouts(t *testing.T) {
	dir := t.TempDir()
	v := make([]float32, 2*4*5*3)
	for i := range v {
		v[i] = float32(i)
	}
	a, err := npz.New([]int{2, 4, 5, 3}, v)
	testenv.OK(t, err)
	p := filepath.Join(dir, "a.npz")
	testenv.OK(t, npz.WriteNpzFile(p, []npz.Entry{{Name: "pictures", Array: a}}))
	_, err = data.Open([]string{p}, input(1, 3, 4, 5), data.Options{})
	testenv.Refused(t, err, "It looks like NHWC: the model wants 1x3x4x5 (NCHW); transpose it, "+
		"or say --preprocess layout=nhwc")
	s := open(t, input(1, 3, 4, 5), []string{"layout=nhwc"}, p)
	if x := sample(t, s, 1).Inputs[0]; s.Len() != 2 || x.Float(0) != 60 || x.Float(1) != 63 || x.Float(20) != 61 {
		t.Errorf("%d samples, %v", s.Len(), x.Floats()[:22])
	}
	if s := open(t, input(1, 4, 5, 3), []string{"layout=nhwc"}, p); sample(t, s, 1).Inputs[0].Float(1) != 61 {
		t.Error("an array in the model's own order was turned")
	}
}

// TestRefused: folders and files that are no samples, with the reason.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	good := encodePNG(t, flat(40, 40, color.NRGBA{R: 1, G: 2, B: 3, A: 255}))
	var jpg bytes.Buffer
	testenv.OK(t, jpeg.Encode(&jpg, flat(40, 40, color.Gray{9}), nil))
	write(t, good, dir, "mixed", "a.png")
	write(t, []byte("x"), dir, "mixed", "b.npy")
	write(t, []byte("x"), dir, "web", "a.webp")
	write(t, []byte("x"), dir, "none", "notes")
	for name, c := range map[string]struct{ path, want string }{
		"mixed": {filepath.Join(dir, "mixed"),
			"holds files of several kinds: 1 of .npy or .npz (b.npy), 1 of pictures"},
		"webp":    {filepath.Join(dir, "web"), "convert them to PNG"},
		"one GIF": {write(t, []byte("GIF89a"), dir, "p7", "a.GIF"), "convert them to PNG"},
		"nothing": {filepath.Join(dir, "none"), "holds no samples"},
		"no PNG":  {write(t, []byte("hello"), dir, "p1", "a.png"), "a.png: neither PNG nor JPEG"},
		"empty":   {write(t, nil, dir, "p2", "a.png"), "a.png: the file is empty"},
		"cut":     {write(t, good[:len(good)-30], dir, "p3", "a.png"), "a.png: the PNG is broken"},
		"cut jpg": {write(t, jpg.Bytes()[:jpg.Len()-40], dir, "p4", "a.jpg"), "a.jpg: the JPEG is broken"},
		"bomb":    {write(t, huge(good, 16000, 16000), dir, "p5", "a.png"), "a.png: 16000 x 16000 pixels"},
		"wide":    {write(t, huge(good, 1<<30, 1), dir, "p6", "a.png"), "pixels; want 1 to 16384"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := data.Open([]string{c.path}, input(1, 3, 8, 8), data.Options{})
			if err == nil {
				_, err = s.All()
			}
			testenv.Refused(t, err, c.want)
		})
	}
	testenv.Refused(t, testenv.Err(data.Open([]string{filepath.Join(dir, "web")}, nil, data.Options{})),
		"is for no input")
}

// huge is a PNG file that claims another size.
func huge(b []byte, w, h uint32) []byte {
	b = slices.Clone(b)
	binary.BigEndian.PutUint32(b[16:], w)
	binary.BigEndian.PutUint32(b[20:], h)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

// TestSpread: of thousands of pictures calibration takes some, spread over all.
func TestSpread(t *testing.T) {
	dir := t.TempDir()
	b := encodePNG(t, flat(1, 1, color.Gray{1}))
	for i := range 600 {
		write(t, b, dir, fmt.Sprintf("%d.png", i))
	}
	s := open(t, input(1, 1, 1, 1), nil, dir)
	all, err := s.All()
	if err != nil || len(all) != 256 || s.Len() != 600 || !strings.Contains(fmt.Sprint(s.Diags), "256 of the 600") {
		t.Errorf("%d of %d samples, %v, %v", len(all), s.Len(), s.Diags, err)
	}
}

// TestIntegerInputs: an input of integers gets what its type can hold.
func TestIntegerInputs(t *testing.T) {
	dir := t.TempDir()
	p := write(t, encodePNG(t, flat(2, 2, color.Gray{255})), dir, "m.png")
	for _, c := range []struct {
		d     tensor.DType
		q     *types.Quant
		white int64
	}{{tensor.U8, nil, 255}, {tensor.I8, types.PerTensor(1./255, -128), 127},
		{tensor.I8, types.PerTensor(1./127.5, -1), 126}, {tensor.U8, types.PerTensor(1, 0), 255}} {
		g := ir.New("g")
		g.AddInput("x", ir.T(c.d, 1, 2, 2, 1).WithQuant(c.d, c.q))
		if x := sample(t, open(t, g.In, nil, p), 0).Inputs[0]; x.DType != c.d || x.Int(0) != c.white {
			t.Errorf("%s %v: %s, white is %d, want %d", c.d, c.q, x, x.Int(0), c.white)
		}
	}
}
