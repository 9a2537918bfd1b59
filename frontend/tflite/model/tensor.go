// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir/tensor"
)

var dtypes = map[int8]tensor.DType{0: tensor.F32, 1: tensor.F16, 2: tensor.I32, 3: tensor.U8, 4: tensor.I64,
	6: tensor.Bool, 7: tensor.I16, 9: tensor.I8, 10: tensor.F64, 12: tensor.U64, 15: tensor.U32, 16: tensor.U16,
	17: tensor.I4, 18: tensor.BF16, 20: tensor.U4}

var typeNames = map[int8]string{8: "complex64", 11: "complex128", 14: "variant", 19: "int2",
	21: "float8", 22: "float8"}

// custom are details of a quantisation that no runtime reads; those of others are scales of another kind.
const custom = 1

const (
	text     = 5
	resource = 13
)

const maxRank = 8

func (p *parser) tensor(t *fb.Tensor, name string) *Tensor {
	out := &Tensor{Name: name, Variable: t.IsVariable(), Offset: -1}
	node := fmt.Sprintf("tensor %q", name)
	if t.Type() == resource {
		out.Handle = true
		return out
	}
	var known bool
	if out.DType, known = dtypes[t.Type()]; t.Type() == text {
		out.DType, out.Text = tensor.I64, true
	} else if !known {
		p.fail("dtype", node, "its elements are %s, which nncc does not have; want numbers: what makes them of "+
			"anything else belongs in front of the model", typeName(t.Type()))
	}
	if t.ShapeLength() > maxRank {
		p.fail("rank", node, "rank %d, want at most %d", t.ShapeLength(), maxRank)
		return out
	}
	var dims []int64
	for j := range t.ShapeLength() {
		d := t.Shape(j)
		open := d < 0 || j < t.ShapeSignatureLength() && t.ShapeSignature(j) < 0
		if d < 0 {
			d = 1
		}
		dims = append(dims, int64(d))
		out.Shape, out.Unknown = append(out.Shape, int(d)), append(out.Unknown, open)
	}
	if err := model.CheckShape(dims, int32(out.DType.ONNXCode()), p.lim); err != nil {
		p.fail("too-large", node, "%s", err)
		out.Shape, out.Unknown = nil, nil
		return out
	}
	p.data(t, out, node)
	p.quantization(t, out, node)
	return out
}

func typeName(t int8) string {
	if name := typeNames[t]; name != "" {
		return name
	}
	return fmt.Sprintf("of type %d", t)
}

func (p *parser) data(t *fb.Tensor, out *Tensor, node string) {
	i := t.Buffer()
	if t.ExternalBuffer() != 0 {
		p.fail("external-data", node, "its data lie in another file; store the model as one file")
	}
	if i == 0 {
		return
	}
	data, ok := p.buffer(i, node)
	if !ok {
		return
	}
	if out.Text {
		if out.Texts = texts(data, out.Elems()); len(data) > 0 && out.Texts == nil {
			p.fail("data", node, "its texts are damaged")
		}
		return
	}
	want := (int64(out.Elems())*int64(out.DType.Bits()) + 7) / 8
	if len(data) == 0 && want > 0 {
		return
	}
	if p.left -= want; p.left < 0 {
		p.fail("too-large", node, "the constants have more than %d bytes; %s", p.lim.MemoryBytes, model.Raise("memory"))
		return
	}
	if s := t.Sparsity(nil); s != nil {
		var err error
		if data, err = p.dense(s, out.Shape, data, (out.DType.Bits()+7)/8); err != nil {
			p.fail("sparse", node, "its sparse data are damaged: %v", err)
			return
		}
	}
	if int64(len(data)) != want {
		p.fail("data", node, "its data have %d bytes, its type and shape %v take %d", len(data), out.Shape, want)
		return
	}
	out.Data = bytes.Clone(data)
	if out.Data == nil {
		out.Data = []byte{}
	}
}

// buffer are the bytes of buffer i, in the tables or behind them.
func (p *parser) buffer(i uint32, node string) (data []byte, ok bool) {
	if int64(i) >= int64(p.file.BuffersLength()) {
		p.fail("index", node, "it is in buffer %d, there are %d", i, p.file.BuffersLength())
		return nil, false
	}
	var b fb.Buffer
	p.file.Buffers(&b, int(i))
	data = b.DataBytes()
	if at, n := b.Offset(), b.Size(); len(data) == 0 && at > 1 {
		if size := uint64(len(p.b)); at > size || n > size-at {
			p.fail("index", node, "its data are bytes %d to %d of a file of %d", at, at+n, size)
			return nil, false
		}
		data = p.b[at : at+n]
	}
	return data, true
}

// texts are n texts: their number, where each begins and the last one ends, and their bytes. nil where
// they are not.
func texts(b []byte, n int) []string {
	if len(b) < 4*(n+2) || binary.LittleEndian.Uint32(b) != uint32(n) {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		from, to := binary.LittleEndian.Uint32(b[4*i+4:]), binary.LittleEndian.Uint32(b[4*i+8:])
		if from > to || to > uint32(len(b)) {
			return nil
		}
		out[i] = model.Shorten(string(b[from:to]))
	}
	return out
}

// quantization reads scales and zero points. Those of biases, indices and shapes are what no
// runtime reads: where they are no quantisation, there is none.
func (p *parser) quantization(t *fb.Tensor, out *Tensor, node string) {
	q := t.Quantization(nil)
	if q == nil || q.ScaleLength() == 0 || !out.DType.IsInt() {
		return
	}
	why := quantizationForm(q, out)
	for j := 0; j < q.ScaleLength() && why == ""; j++ {
		why = out.quantum(q, j)
	}
	out.Axis = int(q.QuantizedDimension())
	if n := q.ScaleLength(); n > 1 && (out.Axis < 0 || out.Axis >= len(out.Shape) || out.Shape[out.Axis] != n) {
		out.Axis = -1 // the operator knows
	}
	switch {
	case why == "":
	case out.DType.Bits() >= 32:
		out.Scale, out.Zero, out.Axis = nil, nil, 0
	default:
		p.fail("quantization", node, "%s", why)
	}
}

// quantum adds a scale and zero point, or says why they are none.
func (t *Tensor) quantum(q *fb.Quantization, j int) string {
	s, z := q.Scale(j), int64(0)
	if n := q.ZeroPointLength(); n == q.ScaleLength() {
		z = q.ZeroPoint(j)
	} else if n > 0 { // as in TensorFlow Lite Micro
		z = q.ZeroPoint(0)
	}
	t.Scale, t.Zero = append(t.Scale, s), append(t.Zero, z)
	dead := s == 0 && q.ScaleLength() > 1 // a channel of zeros
	if lo, hi := t.DType.IntRange(); !(s > 0) && !dead || math.IsInf(float64(s), 0) || z < lo || z > hi {
		return fmt.Sprintf("scale %g and zero point %d, want a positive scale and %d to %d", s, z, lo, hi)
	}
	return ""
}

// quantizationForm says why scales and zero points do not belong to a tensor.
func quantizationForm(q *fb.Quantization, t *Tensor) string {
	if q.DetailsType() > custom {
		return "its quantisation is not one of scales and zero points for a dimension (by blocks, or for two " +
			"dimensions); convert the model with one scale, or one for each channel"
	}
	n := q.ScaleLength()
	if n > 1 && !slices.Contains(t.Shape, n) {
		return fmt.Sprintf("%d scales of a tensor of shape %v", n, t.Shape)
	}
	return ""
}
