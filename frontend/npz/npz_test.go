// SPDX-License-Identifier: Apache-2.0

package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// samples has an array of every dtype and of the ranks 0 to 3.
func samples() []Entry {
	must := bug.Must[*Array]
	s := []int{2, 3}
	return []Entry{
		{"bool", must(New(s, []bool{true, false, true, true, false, false}))},
		{"int8", must(New(s, []int8{-128, -1, 0, 1, 2, 127}))},
		{"int16", must(New(s, []int16{-32768, -1, 0, 1, 2, 32767}))},
		{"int32", must(New(s, []int32{math.MinInt32, -1, 0, 1, 2, math.MaxInt32}))},
		{"int64", must(New(s, []int64{math.MinInt64, -1, 0, 1, 2, math.MaxInt64}))},
		{"uint8", must(New(s, []uint8{0, 1, 2, 3, 254, 255}))},
		{"uint16", must(New(s, []uint16{0, 1, 2, 3, 4, 65535}))},
		{"uint32", must(New(s, []uint32{0, 1, 2, 3, 4, math.MaxUint32}))},
		{"uint64", must(New(s, []uint64{0, 1, 2, 3, 4, math.MaxUint64}))},
		{"float16", &Array{"float16", s, []uint16{0, 0x8000, 1, 0x3c00, 0x7bff, 0x7c00}}},
		{"float32", must(New(s, []float32{-1.5, 0, 1e-45, 1, 3e38, float32(math.Inf(1))}))},
		{"float64", must(New(s, []float64{-1.5, 0, 5e-324, 1, 1e308, math.NaN()}))},
		{"complex64", must(New(s, []complex64{1, 2i, 3, 4, 5, 6 + 7i}))},
		{"complex128", must(New(s, []complex128{1, 2i, 3, 4, 5, 6 + 7i}))},
		{"scalar", must(New(nil, []float32{42}))},
		{"empty", must(New([]int{0, 7}, []int8{}))},
		{"rank3", must(New([]int{2, 1, 3}, []int32{0, 1, 2, 3, 4, 5}))},
		{"vec", must(New([]int{3}, []int32{7, 8, 9}))},
	}
}

var cmpArrays = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateEmpty()}

func TestRoundTrip(t *testing.T) {
	for _, e := range samples() {
		var b bytes.Buffer
		testenv.OK(t, WriteNpy(&b, e.Array))
		data := e.Array.Len() * dtypes[e.Array.DType].size
		testenv.Check(t, (b.Len()-data)%64 == 0, "%s: data start at %d", e.Name, b.Len()-data)
		got := testenv.Must(ReadNpy(bytes.NewReader(b.Bytes()), Limits{}))(t)
		testenv.Equal(t, cmp.Diff(e.Array, got, cmpArrays), "", e.Name)
	}
}

// TestOrders: elements in column-major order and big-endian numbers are read as what they are.
func TestOrders(t *testing.T) {
	data := []byte{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6}
	for dict, want := range map[string]*Array{
		"{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3)}": {
			"int16", []int{2, 3}, []int16{1, 2, 3, 4, 5, 6},
		},
		"{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}": {"int16", []int{2, 3}, []int16{1, 3, 5, 2, 4, 6}},
		"{'descr': '>u2', 'fortran_order': True, 'shape': (1, 3, 2)}": {
			"uint16", []int{1, 3, 2}, []uint16{1, 4, 2, 5, 3, 6},
		},
		"{'descr': '<i2', 'fortran_order': True, 'shape': (6,)}": {"int16", []int{6},
			[]int16{256, 512, 768, 1024, 1280, 1536}},
	} {
		got := testenv.Must(ReadNpy(bytes.NewReader(npy(dict, data...)), Limits{}))(t)
		testenv.Equal(t, cmp.Diff(want, got, cmpArrays), "", dict)
	}
}

func TestArchive(t *testing.T) {
	for _, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return WriteNpz(b, samples()) },
		func(b *bytes.Buffer) error { return writeNpz(b, samples(), zip.Deflate) },
	} {
		var b, c bytes.Buffer
		testenv.OK(t, write(&b))
		if err := write(&c); err != nil || !bytes.Equal(b.Bytes(), c.Bytes()) {
			t.Fatal("written twice, the bytes differ", err)
		}
		path := filepath.Join(t.TempDir(), "a.npz")
		testenv.OK(t, os.WriteFile(path, b.Bytes(), 0o644))
		got := testenv.Must(ReadFile(path, Limits{}))(t)
		testenv.Equal(t, cmp.Diff(samples(), got, cmpArrays), "")
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	a := samples()[10].Array
	p := filepath.Join(dir, "x.npy")
	testenv.OK(t, WriteNpyFile(p, a))
	got, err := ReadFile(p, Limits{})
	if err != nil || len(got) != 1 || cmp.Diff(a, got[0].Array, cmpArrays) != "" {
		t.Fatal(got, err)
	}
	z := filepath.Join(dir, "x.npz")
	testenv.OK(t, WriteNpzFile(z, samples()))
	if left, _ := filepath.Glob(filepath.Join(dir, ".npz-*")); len(left) != 0 {
		t.Error("temporary files are left:", left)
	}
	for _, bad := range []string{dir, filepath.Join(dir, "none.npy"), os.DevNull} {
		if _, err := ReadFile(bad, Limits{}); err == nil {
			t.Error(bad, "was read")
		}
	}
}

// npy builds a version 1 file with the given dictionary and data.
func npy(dict string, data ...byte) []byte {
	b := append([]byte(magic), 1, 0, byte(len(dict)), byte(len(dict)>>8))
	return append(append(b, dict...), data...)
}

func TestHeaders(t *testing.T) {
	good := []string{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
		`{"shape": (1L,), "fortran_order": False, "descr": "<f4"}`,
		"{'descr':'=f4','fortran_order':True,'shape':(1,1)}  \n",
		"{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
	}
	for _, g := range good {
		_, err := ReadNpy(bytes.NewReader(npy(g, 0, 0, 0, 0)), Limits{})
		testenv.Check(t, err == nil, "%s: %v", g, err)
	}
	v3 := append([]byte(magic), 3, 0)
	v3 = binary.LittleEndian.AppendUint32(v3, uint32(len(good[0])))
	v3 = append(append(v3, good[0]...), 0, 0, 0, 0)
	_, err := ReadNpy(bytes.NewReader(v3), Limits{})
	testenv.Check(t, err == nil, "%v", err)

	bad := map[string]string{ // dictionary → what the message must say
		"":   "'{'",
		"{}": "descr",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}":                      "negative",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}":                       "fewer",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}":                       "follow",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,4)}":    "overflow",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}":     "overflow",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}": "whole number",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}":           "limit",
		"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}":                        "pickled",
		"{'descr': '<V2', 'fortran_order': False, 'shape': (1,)}":                       "bfloat16",
		"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}":              "structured",
		"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}":                       "Maybe",
		"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}":       "twice",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} import os":             "text after",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}":               "unknown key",
		"{'descr': '<f4":                           "never closed",
		"{'descr': '<f4', 'shape': (1":             "','",
		"{'descr': '<f16', 'fortran_order': False": "f16",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (" + strings.Repeat("1,", 65) + ")}": "rank",
	}
	for d, want := range bad {
		_, err := ReadNpy(bytes.NewReader(npy(d, 0, 0, 0, 0)), Limits{})
		if err == nil {
			t.Errorf("%s: accepted", d)
		} else if !strings.Contains(err.Error(), want) && want != "','" {
			t.Errorf("%s: %v; want %q in it", d, err, want)
		}
	}
	for _, b := range []string{"", "\x93NUM", magic, magic + "\x01\x00\x10", magic + "\x09\x00\x00\x00",
		magic + "\x02\x00\xff\xff\xff\xff", "PK\x03\x04"} {
		_, err := ReadNpy(strings.NewReader(b), Limits{})
		testenv.Check(t, err != nil, "%q: accepted", b)
	}
}

// TestBombs: archives that promise or unfold too much are refused before memory
// is taken for them.
func TestBombs(t *testing.T) {
	dict := "{'descr': '|i1', 'fortran_order': False, 'shape': (%d,)}"
	lie := func(method uint16, size uint64, body []byte) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w := testenv.Must(z.CreateRaw(&zip.FileHeader{Name: "a.npy", Method: method, CRC32: crc32.ChecksumIEEE(body),
			CompressedSize64: uint64(len(body)), UncompressedSize64: size}))(t)
		w.Write(body)
		z.Close()
		return b.Bytes()
	}
	zeros := testenv.Must(New([]int{4 << 20}, make([]int8, 4<<20)))(t)
	var written bytes.Buffer
	testenv.OK(t, writeNpz(&written, []Entry{{"a", zeros}, {"b", zeros}}, zip.Deflate))
	huge := npy(fmt.Sprintf(dict, 1<<40))
	cases := []struct {
		name string
		zip  []byte
		lim  Limits
		want string
	}{
		{"deflate cannot", lie(zip.Deflate, 1<<40, huge), Limits{}, "deflate cannot"},
		{"stored lies", lie(zip.Store, 1<<40, huge), Limits{}, "stored"},
		{"inner header lies", lie(zip.Store, uint64(len(huge)), huge), Limits{}, "limit"},
		{"inner header lies, small limit off", lie(zip.Store, uint64(len(huge)), huge), Limits{Bytes: 1 << 50},
			"want 1099511627776"},
		{"total", written.Bytes(), Limits{Bytes: 6 << 20}, "limit"},
		{"entries", written.Bytes(), Limits{Entries: 1}, "entries"},
		{"truncated", written.Bytes()[:written.Len()/2], Limits{}, "not a .npz"},
	}
	for _, c := range cases {
		_, err := ReadNpz(bytes.NewReader(c.zip), int64(len(c.zip)), c.lim, func(string) bool { return true })
		testenv.Refused(t, err, c.want)
	}
}

// TestChunks: data are read in parts, the last of which is no whole one.
func TestChunks(t *testing.T) {
	for _, data := range []any{make([]int8, 10001), make([]bool, 4097), make([]float64, 5000)} {
		n := reflect.ValueOf(data).Len()
		path := filepath.Join(t.TempDir(), "a.npy")
		a := testenv.Must(New([]int{n}, data))(t)
		testenv.OK(t, WriteNpyFile(path, a))
		got, err := ReadNpyFile(path, Limits{})
		testenv.Check(t, err == nil && got.Len() == n, "%T of %d: %v", data, n, err)
	}
}

// TestNumpy compares with NumPy itself, both ways, where it is installed.
func TestNumpy(t *testing.T) {
	py := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import numpy").Run() == nil {
			py = p
			break
		}
	}
	testenv.SkipIf(t, py == "", "python3 with numpy is not installed (apt-get install python3-numpy)")
	dir := t.TempDir()
	testenv.OK(t, WriteNpzFile(filepath.Join(dir, "ours.npz"), samples()))
	script := `
import numpy as np
d = np.load('ours.npz')
np.savez('stored.npz', **{k: np.asfortranarray(v) if v.ndim else v for k, v in d.items()})
np.savez_compressed('packed.npz', **{k: v.astype(v.dtype.newbyteorder('>')) for k, v in d.items()})
for k in d.files: assert d[k].dtype.name == k or k in ('scalar','empty','rank3','vec'), k
np.savez('note.npz', note=np.array('made by hand'), x=d['vec'])
np.save('v1.npy', d['rank3'].T)
`
	cmd := exec.Command(py, "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, f := range []string{"stored.npz", "packed.npz"} {
		got := testenv.Must(ReadNpzFile(filepath.Join(dir, f), Limits{}))(t)
		testenv.Equal(t, cmp.Diff(samples(), got, cmpArrays), "", f)
	}
	note, err := ReadNpzFile(filepath.Join(dir, "note.npz"), Limits{})
	if err != nil || len(note) != 1 || note[0].Name != "x" {
		t.Error(note, err)
	}
	got := testenv.Must(ReadNpyFile(filepath.Join(dir, "v1.npy"), Limits{}))(t)
	testenv.Equal(t, cmp.Diff([]int32{0, 3, 1, 4, 2, 5}, got.Data), "")
}

func TestConversions(t *testing.T) {
	for _, e := range samples() {
		f, err := e.Array.Float64s()
		if strings.HasPrefix(e.Name, "complex") {
			testenv.Check(t, err != nil, "%v", e.Name)
			continue
		}
		if err != nil || len(f) != e.Array.Len() {
			t.Error(e.Name, f, err)
		}
		_, err = e.Array.Int64s()
		isInt := !strings.HasPrefix(e.Array.DType, "float") && e.Name != "uint64"
		if (err == nil) != isInt {
			t.Error(e.Name, err)
		}
	}
	h := map[uint16]float64{0: 0, 1: 5.960464477539063e-08, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504,
		0x03ff: 6.097555160522461e-05, 0xfc00: math.Inf(-1)}
	half := func(b uint16) float64 {
		f := testenv.Must((&Array{"float16", []int{1}, []uint16{b}}).Float64s())(t)
		return f[0]
	}
	for b, want := range h {
		testenv.Equal(t, half(b), want, "%#x", b)
	}
	testenv.Check(t, math.Signbit(half(0x8000)) && math.IsNaN(half(0x7e00)), "half: -0 or NaN")
	_, err := New([]int{2}, []string{"a"})
	testenv.Check(t, err != nil, "text was taken")
	testenv.Check(t, testenv.Err(New([]int{3}, []int8{1})) != nil, "wrong count was taken")
}

// FuzzRead: no input makes the readers panic, and what they accept is consistent
// and comes back after writing.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	WriteNpz(&b, samples()[:2])
	f.Add(b.Bytes())
	f.Add(npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 1)}", 1, 2, 3, 4))
	f.Add(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1, 2)}", 1, 0))
	f.Fuzz(func(t *testing.T, in []byte) {
		lim := Limits{Bytes: 1 << 20, Entries: 16}
		var all []*Array
		if a, err := ReadNpy(bytes.NewReader(in), lim); err == nil {
			all = append(all, a)
		}
		es, _ := ReadNpz(bytes.NewReader(in), int64(len(in)), lim, func(string) bool { return true })
		for _, e := range es {
			all = append(all, e.Array)
		}
		for _, a := range all {
			var w bytes.Buffer
			testenv.OK(t, WriteNpy(&w, a))
			back := testenv.Must(ReadNpy(&w, lim))(t)
			if back.DType != a.DType || cmp.Diff(a.Shape, back.Shape, cmpArrays) != "" || back.Len() != a.Len() {
				t.Fatalf("%v %v came back as %v %v", a.DType, a.Shape, back.DType, back.Shape)
			}
		}
	})
}

// Every element type survives tensor → array → file → array → tensor.
func TestTensors(t *testing.T) {
	want := map[tensor.DType]tensor.DType{tensor.I4: tensor.I8, tensor.U4: tensor.U8, tensor.BF16: tensor.F32}
	for dt := tensor.F32; dt <= tensor.Bool; dt++ {
		for _, shape := range [][]int{nil, {3}, {2, 0}, {2, 3}} {
			d := tensor.New(dt, shape)
			for i := range d.Len() {
				d.SetInt(i, int64(i))
			}
			var b bytes.Buffer
			testenv.OK(t, WriteNpy(&b, FromTensor(d)), d)
			a, err := ReadNpy(&b, Limits{})
			testenv.Require(t, err == nil, "%v: %v", d, err)
			g, err := ToTensor(a)
			testenv.Require(t, err == nil, "%v: %v", d, err)
			w := d
			if k, ok := want[dt]; ok {
				w = d.Cast(k)
			}
			testenv.Check(t, tensor.Equal(g, w), "%v became %v", w, g)
		}
	}
	for _, a := range []*Array{{DType: "complex64", Data: []complex64{1}},
		{DType: "float32", Shape: []int{1 << 20, 1 << 20}, Data: []float32{}}} {
		_, err := ToTensor(a)
		testenv.Check(t, err != nil, "%s%v was taken", a.DType, a.Shape)
	}
}
