// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/types"
)

// A weights file begins with this header, all words little-endian:
//
//	 0  magic "NNCW"
//	 4  version of this form
//	 8  bytes of the whole file
//	12  CRC-32 (IEEE 802.3) of everything behind this word
//	16  sha256 of the layout: of all in the code that the constants have to match
//	48  sha256 of the model that they are from
//	80  zero
//
// The trained numbers (call.Trained) follow, then the constant arrays.
const (
	fileMagic   = "NNCW"
	fileVersion = 1
	fileHeader  = 96
	fileAlign   = 16
)

// numbers are the trained numbers of a program whose constants are bound at run
// time, in the order in which the code has them.
type numbers struct {
	prefix string
	locals *localNames // nil: they have no names
	data   []byte      // behind the header
	used   map[string]bool
	places []placeView
}

// readers are the functions of the weights header that read a number.
var readers = map[string]string{"int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "float": "f32", "double": "f64"}

// add puts a number into the file; the result is the C expression that reads it. what
// it is called after.
func (n *numbers) add(ctype string, bits []byte, what string) string {
	for len(n.data)%len(bits) != 0 {
		n.data = append(n.data, 0)
	}
	at := fileHeader + len(n.data)
	n.data = append(n.data, bits...)
	n.used[ctype] = true
	place := fmt.Sprintf("%du", at)
	if n.locals != nil {
		place = n.locals.name(strings.ToUpper(n.prefix + "_NUMBER_" + what))
		n.places = append(n.places, placeView{Name: place, Offset: at})
	}
	return fmt.Sprintf("%s_weights_%s(w, %s)", n.prefix, readers[ctype], place)
}

// trained puts a number of a call into the file.
func (n *numbers) trained(t call.Trained, what string) string {
	cast, t := t.Cast()
	le, s, ctype := binary.LittleEndian, string(t), t.CType()
	number := strings.TrimRight(strings.TrimSuffix(strings.TrimPrefix(s, "INT64_C("), ")"), "Luf")
	var bits []byte
	var err error
	switch ctype {
	case "int32_t", "uint32_t", "int64_t":
		var v int64
		v, err = strconv.ParseInt(number, 10, 64)
		if bits = le.AppendUint64(nil, uint64(v)); ctype != "int64_t" {
			bits = bits[:4]
		}
	case "float":
		var v float64
		v, err = strconv.ParseFloat(number, 32)
		bits = le.AppendUint32(nil, math.Float32bits(float32(v)))
	case "double":
		var v float64
		v, err = strconv.ParseFloat(s, 64)
		bits = le.AppendUint64(nil, math.Float64bits(v))
	}
	bug.If(err != nil, "trained number %s: %w", s, err)
	return cast + n.add(ctype, bits, what)
}

// boundView is what templates print where constants are bound at run time.
type boundView struct {
	File    string // its name
	Bytes   int    // of the file
	Align   int
	Header  int
	Version int
	Digest  string   // of the layout, in hexadecimal
	Layout  []string // the same as C bytes, in lines
	Readers []readerView
	Numbers []placeView
	Scales  []scaleView
	data    []byte
	prefix  string
}

// Sketch is the file as C text for a sketch of Arduino, which has no other way to bring it;
// "": it has too many bytes.
func (v *boundView) Sketch() string {
	if v.Bytes > fallbackLimit {
		return ""
	}
	return v.prefix + "_weights_bin.h"
}

// readerView is a function that reads a number of the file.
type readerView struct{ CType, Func string }

// scaleView is a function that reads a scale or zero point of an input or output.
type scaleView struct{ Proto, CType, Value, Doc string }

// ioNumbers puts the scales and zero points of the inputs and outputs into the
// file, so that the code of one training converts for another one, too.
func (e *emitter) ioNumbers(v *modelView) []scaleView {
	var out []scaleView
	one := func(io *ioView, what, doc, ctype string, bits uint32, text *string) {
		read := e.bound.add(ctype, binary.LittleEndian.AppendUint32(nil, bits), what+"_"+io.CName)
		fn := fmt.Sprintf("%s_%s_%s", e.prefix, what, io.CName)
		out = append(out, scaleView{Proto: ctype + " " + fn + "(void)", CType: ctype, Value: read,
			Doc: doc + " of " + io.CName})
		*text = fn + "()"
	}
	all := func(info []IOInfo, views []ioView) {
		for i := range views {
			io, q := &views[i], info[i].Type.Quant
			switch {
			case io.PerAxis:
				out = append(out, e.ioChannels(io, q)...)
			case io.Quantised:
				one(io, "scale", "Scale", "float", math.Float32bits(q.Scale[0]), &io.Scale)
				one(io, "zero_point", "Zero point", "int32_t", uint32(q.Zero[0]), &io.Zero)
			}
		}
	}
	all(v.inputs, v.Inputs)
	all(v.outputs, v.Outputs)
	return out
}

// ioChannels puts the scales and zero points of the channels of an input into the file, one behind
// the other.
func (e *emitter) ioChannels(io *ioView, q *types.Quant) []scaleView {
	le := binary.LittleEndian
	list := func(what, doc, ctype string, bits func(i int) uint32, text *string) scaleView {
		first := ""
		for i := range q.Scale {
			read := e.bound.add(ctype, le.AppendUint32(nil, bits(i)), fmt.Sprintf("%s_%s_%d", what, io.CName, i))
			first = cmp.Or(first, read)
		}
		fn := fmt.Sprintf("%s_%s_%s", e.prefix, what, io.CName)
		*text = fn + "((uint32_t)(c))"
		return scaleView{Proto: ctype + " " + fn + "(uint32_t c)", CType: ctype,
			Doc:   doc + " of channel c of " + io.CName,
			Value: strings.TrimSuffix(first, ")") + " + 4u * c)"}
	}
	return []scaleView{
		list("scales", "Scale", "float", func(i int) uint32 { return math.Float32bits(q.Scale[i]) }, &io.Scales),
		list("zero_points", "Zero point", "int32_t", func(i int) uint32 { return uint32(q.Zero[i]) }, &io.Zeros),
	}
}

// weightsFile is the view of a program's weights file; the layout is written later.
func (e *emitter) weightsFile(m Model, scales []scaleView) *boundView {
	start := fileHeader + len(e.bound.data)
	end := e.arrays.from(start)
	v := &boundView{File: m.Prefix + "_weights.bin", Bytes: (end + fileAlign - 1) &^ (fileAlign - 1), Align: fileAlign,
		Header: fileHeader, Version: fileVersion, Scales: scales, prefix: m.Prefix}
	v.Numbers = e.bound.places
	v.data = make([]byte, v.Bytes)
	copy(v.data, fileMagic)
	binary.LittleEndian.PutUint32(v.data[4:], fileVersion)
	binary.LittleEndian.PutUint32(v.data[8:], uint32(v.Bytes))
	model, err := hex.DecodeString(m.SHA256)
	if err != nil || len(model) > sha256.Size {
		model = nil // a model without a file
	}
	copy(v.data[48:], model)
	copy(v.data[fileHeader:], e.bound.data)
	for _, x := range e.arrays {
		copy(v.data[x.Offset:], x.data)
	}
	for _, ctype := range sortedKeys(e.bound.used) {
		v.Readers = append(v.Readers, readerView{ctype, e.prefix + "_weights_" + readers[ctype]})
	}
	return v
}

// seal writes layout and checksum into the weights file of a model, if it has one.
func (v *modelView) seal(m Model, o Options) {
	if v.Bound == nil {
		return
	}
	digest := fail.Must(layout(m, o))
	b := v.Bound
	b.Digest = hex.EncodeToString(digest[:])
	copy(b.data[16:], digest[:])
	binary.LittleEndian.PutUint32(b.data[12:], crc32.ChecksumIEEE(b.data[16:]))
	for row := range slices.Chunk(digest[:], 8) {
		s := lists.Map(row, func(x byte) string { return fmt.Sprintf("0x%02xu", x) })
		b.Layout = append(b.Layout, strings.Join(s, ", "))
	}
}

// layout is the digest of all in the code that the constants of a weights file have
// to match: steps as C, without the names of this model, places and types of inputs,
// outputs and arrays, and the kernels. Two models with the same digest have the same
// code, whatever the constants: where something that a training decides is in the
// code, their digests differ.
func layout(m Model, o Options) ([sha256.Size]byte, error) {
	m.Prefix = "model"
	names := newIONaming(m.Prefix)
	e := newEmitter(m.Program, m.Prefix, o, names, true)
	v, err := e.model(m, o, names)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	runtime, err := o.Library.Files(v.kernels...)
	if err != nil {
		return [sha256.Size]byte{}, bug.Errorf("runtime sources: %w", err)
	}
	h := sha256.New()
	f := func(what string, x ...any) { fmt.Fprintf(h, "%s %q\n", what, fmt.Sprint(x...)) }
	f("form", fileVersion, v.Bound.Bytes, v.Arena, v.State, v.Align)
	for _, x := range v.Parts {
		f("part", x.Field, x.Bytes)
	}
	for _, s := range v.Steps {
		f("step", s.Index, s.Locals, s.Calls, s.Status)
	}
	if v.Staged != nil {
		f("staged", v.Staged.Bytes, v.Staged.Copies)
	}
	for _, s := range v.Structs {
		f("struct", s.Type, s.Name, s.Init)
	}
	for _, x := range v.Code {
		f("code", x.Name, x.Params, x.Body, x.Status)
	}
	for _, s := range v.States {
		s.Comment = ""
		f("state", s)
	}
	for _, x := range e.arrays {
		f("array", x.CType, x.Len(), x.Align, x.Offset)
	}
	for _, x := range slices.Concat(v.inputs, v.outputs) {
		axis := -1
		if q := x.Type.Quant; q.PerAxis() {
			axis = q.Axis
		}
		f("io", x.CType, x.Type.DType, x.Type.Shape, x.Type.Order, x.Offset, x.Type.Quant != nil, axis)
	}
	v.processing(f)
	for _, x := range runtime {
		f("kernel", x.Path, sha256.Sum256(x.Data))
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// processing hands what surrounds the model to the digest of its layout: tables and thresholds
// are made of scales.
func (v *modelView) processing(f func(what string, x ...any)) {
	number := func(views []ioView, fn string) int { // in place of its name
		return slices.IndexFunc(views, func(x ioView) bool { return x.Fn == fn })
	}
	for _, x := range v.Pre { // its tables are code
		f("preprocessing", number(v.Inputs, x.Fn), x.Kernel, x.Params, x.Type, x.Table, x.FrameBytes, x.Samples)
	}
	for _, x := range v.Post { // so are its thresholds
		from := lists.Map(x.Outputs, func(fn string) int { return number(v.Outputs, fn) })
		f("postprocessing", x.Kind, from, x.Kernel, x.Params, x.Tables, x.Candidates, x.Most, x.Count, x.Window)
	}
}

// HasWeights reports that there is a source of constants, or of their binding.
func (v *modelView) HasWeights() bool { return len(v.Weights.Blobs) > 0 || v.Bound != nil }

// weightsTemplate is the beginning of its templates' names.
func (v *modelView) weightsTemplate() string {
	if v.Bound != nil {
		return "bound"
	}
	return "weights"
}

// isWeightsFile reports a file that firmware binds at run time.
func (v *firmwareView) isWeightsFile(file string) bool {
	return slices.ContainsFunc(v.Models, func(m *modelView) bool { return m.Bound != nil && m.Bound.File == file })
}

// isSketchData reports the text of such a file.
func (v *firmwareView) isSketchData(file string) bool {
	return slices.ContainsFunc(v.Models, func(m *modelView) bool { return m.Bound != nil && m.Bound.Sketch() == file })
}
