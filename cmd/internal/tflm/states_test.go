// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

var states = []drawer{
	{"SVDF", "i8 i16 f32", func(l *layer) {
		l.wide = true
		batch, n, rank := l.between(1, 2), l.between(1, 12), l.between(1, 3)
		units, memory := l.between(1, 5), l.between(1, 6)
		data, rows := "i8", l.typ
		if l.typ == "f32" {
			data = "f32"
		}
		x := l.input(data, l.scale(1), batch, n)
		f := l.fill(l.quantised(l.tensor(data, units*rank, n), l.scale(-8), 0))
		t := l.fill(l.quantised(l.tensor(rows, units*rank, memory), step(rows, 1)*l.scale(0), 0))
		s := l.tensor(rows, batch, units*rank*memory)
		l.Tensors[s].State = true
		b, act := l.tensor("i32", units), pick(l, int8(0), 1)
		if l.typ == "f32" {
			l.kinds[b], l.Tensors[b].Type = "f32", 0
		}
		l.fill(b)
		limit := l.limit(x) * l.limit(f) * math.Sqrt(float64(n)) / 2
		l.quantised(s, step(rows, limit), 0)
		y := l.output(data, limit*l.limit(t)*math.Sqrt(float64(memory*rank))/2, batch, units)
		if l.typ != "f32" {
			l.quantised(b, float64(l.Tensors[s].Scale[0]*l.Tensors[t].Scale[0]), 0)
			if act == 1 {
				l.Tensors[y].Zero[0] = -128
			}
		}
		l.do(6, []any{rank, act}, []int32{x, f, t, optional(l, b), s}, y)
	}},
	{"UNIDIRECTIONAL_SEQUENCE_LSTM", "i8 f32", recurrent},
	{"ASSIGN_VARIABLE", "i8 f32", func(l *layer) { // a leaky sum
		shape := []int32{1, l.between(1, 8)}
		x := l.input(l.typ, 4, shape...)
		v := l.variable(x, shape...)
		y := l.same(x, shape...)
		l.op = "ADD"
		l.do(11, []any{int8(0)}, []int32{x, v}, y)
		l.assign(y)
	}},
	{"CONCATENATION", "i8 f32", func(l *layer) { // a streamed convolution: the last rows are kept
		n, rows := l.between(1, 4), l.between(2, 4)
		x := l.input(l.typ, 4, 1, 1, 1, n)
		old := l.variable(x, 1, rows-1, 1, n)
		joined := l.like(l.tensor(l.typ, 1, rows, 1, n), x)
		l.op = "CONCATENATION"
		l.do(10, []any{int32(1), int8(0)}, []int32{old, x}, joined)
		kept := l.like(l.tensor(l.typ, 1, rows-1, 1, n), x)
		l.op = "STRIDED_SLICE"
		l.do(32, []any{int32(0), int32(0)}, []int32{joined, l.ints(0, 1, 0, 0), l.ints(1, rows, 1, n),
			l.ints(1, 1, 1, 1)}, kept)
		l.assign(kept)
		w := l.fill(l.quantised(l.tensor(l.typ, 2, rows, 1, n), l.scale(-8), 0))
		y := l.output(l.typ, l.limit(x)*l.limit(w)*math.Sqrt(float64(rows*n))/2, 1, 1, 1, 2)
		l.op = "CONV_2D"
		l.do(1, []any{int8(1), int32(1), int32(1), int8(0)}, []int32{joined, w, -1}, y)
	}},
}

// variable reads a variable of the quantisation of tensor of.
func (l *layer) variable(of int32, shape ...int32) int32 {
	h := l.tensor("i32", 1)
	l.kinds[h], l.Tensors[h].Type = "resource", 13
	v := l.like(l.tensor(l.kinds[of], shape...), of)
	name := func(b *flatbuffers.Builder) flatbuffers.UOffsetT {
		n := b.CreateString("v")
		fb.VarHandleOptionsStart(b)
		fb.VarHandleOptionsAddContainer(b, n)
		fb.VarHandleOptionsAddSharedName(b, n)
		return fb.VarHandleOptionsEnd(b)
	}
	l.Ops = append(l.Ops, tflitetest.Op{Code: codes["VAR_HANDLE"], Out: []int32{h}, Options: name, Kind: 111},
		tflitetest.Op{Code: codes["READ_VARIABLE"], In: []int32{h}, Out: []int32{v}})
	return v
}

// assign writes the variable.
func (l *layer) assign(v int32) {
	l.Ops = append(l.Ops, tflitetest.Op{Code: codes["ASSIGN_VARIABLE"], In: []int32{l.Ops[0].Out[0], v}})
}

// calls is how often a stateful model is called, and stretch for how many calls its inputs
// are of one kind.
const calls, stretch = 200, 20

// ends are the most and the least of inputs, by the format's number of their type.
var ends = map[int8][2][]byte{types["i8"].code: {{127}, {0x80}}, types["i16"].code: {{0xff, 0x7f}, {0, 0x80}},
	types["f32"].code: {bits(4), bits(-4)}, tflitetest.Types["u32"]: {{0xff, 0xff, 0xff, 0x7f}, {0, 0, 0, 0}}}

// stream are the inputs of all calls: random ones, and by turns the most and the least that
// there is, which take states to their ends.
func stream(g tflitetest.Graph, inputs func() [][]byte) (in [][][]byte) {
	for k := range calls {
		x := inputs()
		if phase := k / stretch % 4; phase%2 == 1 {
			for i, t := range g.Inputs {
				end := ends[g.Tensors[t].Type][phase/2]
				x[i] = bytes.Repeat(end, len(x[i])/len(end))
			}
		}
		in = append(in, x)
	}
	return in
}

func bits(v float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)) }

// TestStates: 200 calls of each stateful operator, its state at its ends now and then, and of each layer of
// tflitetest that keeps something, give what TensorFlow Lite Micro gave; testdata/states has its results behind the
// digest of model and inputs. With NNCC_TFLM_RUN they are recorded, where it takes the model: without a bias SVDF
// crashes.
func TestStates(t *testing.T) {
	compared := 0
	for i, d := range states {
		for _, typ := range d.typesOf() {
			seeds := uint64(6)
			switch {
			case typ == "f32":
				seeds = 2
			case d.op == "SVDF" && typ == "i8":
				seeds = 24 // two of them show how scales are multiplied
			}
			for seed := range seeds {
				name := fmt.Sprintf("%s_%d_%s_%d", strings.ToLower(d.op), i, typ, seed)
				t.Run(name, func(t *testing.T) {
					l := draw(d, typ, seed)
					callOften(t, l.Bytes(), stream(l.Graph, l.inputs), name)
					compared++
				})
			}
		}
	}
	number := map[string]int{}
	for _, l := range tflitetest.Layers() {
		m := testenv.Must(tflite.Parse(l.Bytes(), onnx.Limits{}))(t)
		if _ = testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{}))(t); len(m.State) > 0 {
			name := strings.ToLower(l.Op) + "_" + l.Type
			name, number[name] = fmt.Sprintf("%s_%d", name, number[name]), number[name]+1
			t.Run(name, func(t *testing.T) {
				callOften(t, l.Bytes(), stream(l.Graph, l.Data), name)
				compared++
			})
		}
	}
	if files, err := os.ReadDir(recordings); err != nil || len(files) != compared {
		t.Errorf("%d models are compared, %d are recorded: %v", compared, len(files), err)
	}
}

var recordings = filepath.Join("testdata", "states")

func callOften(t *testing.T, net []byte, in [][][]byte, name string) {
	model := filepath.Join(t.TempDir(), "net.tflite")
	testenv.OK(t, os.WriteFile(model, net, 0o666))
	file := filepath.Join(recordings, name+".gz")
	stream := bytes.Join(slices.Concat(in...), nil)
	digest := sha256.Sum256(slices.Concat(net, stream))
	if program := testenv.Get("NNCC_TFLM_RUN"); program != "" {
		record(t, exec.Command(program, model, fmt.Sprint(calls)), file, stream, digest[:])
	}
	want := recorded(t, file)
	testenv.Require(t, bytes.HasPrefix(want, digest[:]), "%s is of another model; NNCC_TFLM_RUN records it", file)
	have := testenv.Must(program1(model, in))(t)
	if len(have[0]) == 1 {
		have = [][]*tensor.Dense{{joined(t, have)}}
	}
	testenv.Equal(t, differ(have, want[len(digest):]), "")
}

// joined are the results of all calls behind each other: floats are as near as the largest of all wants.
func joined(t *testing.T, have [][]*tensor.Dense) *tensor.Dense {
	t.Helper()
	y := have[0][0]
	var all []byte
	for _, run := range have {
		all = append(all, run[0].Bytes()...)
	}
	d := testenv.Must(tensor.FromBytes(y.DType, append([]int{len(have)}, y.Shape...), all))(t)
	return d
}

// record writes what TensorFlow Lite Micro gives, behind the digest.
func record(t *testing.T, cmd *exec.Cmd, file string, stream, digest []byte) {
	t.Helper()
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stream), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("refused by TensorFlow Lite Micro: %v", err)
	}
	var b bytes.Buffer
	z := testenv.Must(gzip.NewWriterLevel(&b, gzip.BestCompression))(t)
	z.Write(slices.Concat(digest, out))
	z.Close()
	testenv.OK(t, os.WriteFile(file, b.Bytes(), 0o666))
}

func recorded(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("TensorFlow Lite Micro refused it")
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := testenv.Must(gzip.NewReader(f))(t)
	all := testenv.Must(io.ReadAll(z))(t)
	return all
}

func recurrent(l *layer) {
	l.wide = true
	batch, time, n, units := l.between(1, 2), l.between(1, 4), l.between(1, 8), l.between(1, 6)
	major := l.chance(0.5)
	shape := []int32{batch, time, n}
	if major {
		shape = []int32{time, batch, n}
	}
	in := slices.Repeat([]int32{-1}, 24)
	in[0] = l.input(l.typ, l.scale(1), shape...)
	scale := func(t int32) float64 {
		if s := l.Tensors[t].Scale; len(s) > 0 {
			return float64(s[0])
		}
		return 1
	}
	recurrence := pick(l, -8.0, -4) // products that leave int16
	for k := range int32(4) {
		in[1+k] = l.fill(l.quantised(l.tensor(l.typ, units, n), l.scale(-8), 0))
		in[5+k] = l.fill(l.quantised(l.tensor(l.typ, units, units), l.scale(recurrence), 0))
		kind := "i32"
		if l.typ == "f32" {
			kind = "f32"
		}
		in[12+k] = l.fill(l.quantised(l.tensor(kind, units), scale(in[0])*scale(in[1+k]), 0))
	}
	cell := "i16"
	if l.typ == "f32" {
		cell = "f32"
	}
	in[18] = l.quantised(l.tensor(l.typ, batch, units), 1./128, pick(l, int64(0), 3, -7))
	power := pick(l, 11.0, 12, 10, 13)
	in[19] = l.quantised(l.tensor(cell, batch, units), math.Exp2(-power), 0)
	l.Tensors[in[18]].State, l.Tensors[in[19]].State = true, true
	y := l.same(in[18], append(slices.Clone(shape[:2]), units)...)
	l.kinds[y], l.Tensors[y].Type = l.typ, l.Tensors[in[0]].Type
	clip := pick(l, 0.0, 0, 10, 1.7, 0.3, math.Exp2(14-power))
	l.do(71, []any{int8(4), clip, pick(l, 0.0, 0.5), major}, in, y)
}
