// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/preprocess"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// Preprocess says how what a device gives becomes an input: one of Image and Sound.
type Preprocess struct {
	Input  string // its name in the model
	Image  *preprocess.Image
	Values []preprocess.Values // of Image, by channel
	// Strides are those of Image's pixels in the input's logical order.
	Strides preprocess.Strides
	Sound   *preprocess.Sound
	Rate    int    // of Sound, samples a second; 0: not said
	Says    string // what becomes of it, for the comment
}

// PreprocessInfo is what was emitted for an input.
type PreprocessInfo struct {
	Input      string `json:"input"`
	Function   string `json:"function"` // C, with its prefix
	File       string `json:"file"`
	TableBytes int    `json:"table_bytes"`
	Says       string `json:"says"`
}

// preView is the preprocessing of an input, as the templates print it.
type preView struct {
	ioView
	PreprocessInfo
	Image       bool
	Width       int // of frames
	Height      int
	FrameBytes  int
	Format      string
	Samples     int
	Rate        int
	Kernel      string
	Params      []string // lines of its initialiser
	Type        string   // of the table's entries
	Table       []string // rows of its initialiser
	TableLen    int
	TableDoc    []string // lines
	Out         string   // the input's place as the kernel takes it
	ParamsName  string
	TableName   string
	KernelTable string // the argument, with the comma behind it
}

// Preprocesses reports whether there is preprocessing to print.
func (v *modelView) Preprocesses() bool { return len(v.Pre) > 0 }

// preprocess is the view of what o asks for.
func preprocessViews(o Model, inputs []IOInfo, views []ioView) ([]preView, error) {
	var out []preView
	for _, p := range o.Preprocess {
		i := slices.IndexFunc(inputs, func(x IOInfo) bool { return x.Name == p.Input })
		if i < 0 {
			return nil, bug.Errorf("preprocessing for %s, which is no input", p.Input)
		}
		t := inputs[i].Type
		v := preView{ioView: views[i], ParamsName: fmt.Sprintf("%s_preprocess_params_%d", o.Prefix, len(out)),
			TableName: fmt.Sprintf("%s_preprocess_table_%d", o.Prefix, len(out))}
		v.PreprocessInfo = PreprocessInfo{Input: p.Input, Function: o.Prefix + "_preprocess_" + v.CName,
			File: o.Prefix + "_preprocess.c", Says: comment(p.Says)}
		kind, ctype, err := kernelType(t)
		if err != nil {
			return nil, err
		}
		if t.Quant.PerAxis() && (p.Image == nil || len(t.Quant.Scale) != p.Image.Channels) {
			return nil, fmt.Errorf("input %s has a scale for each index of dimension %d; want one for each colour, or "+
				"one: normalise outside the model, or --io float", p.Input, t.Quant.Axis)
		}
		v.Out = fmt.Sprintf("(%s *)(void *)%s_%s(%s)", ctype, o.Prefix, v.CName, v.Arg)
		if p.Image != nil {
			v.image(p, t, kind, ctype)
		} else {
			v.sound(p, t, kind)
		}
		out = append(out, v)
	}
	return out, nil
}

// kernelType is the end of a kernel's name for inputs of a type, and the C type of the
// elements that it writes.
func kernelType(t types.Type) (kind, ctype string, err error) {
	switch {
	case t.DType == tensor.F32:
		return "f32", "float", nil
	case t.DType.IsInt() && t.DType.Bits() == 8:
		return "u8", "uint8_t", nil
	case t.DType.IsInt() && t.DType.Bits() == 16:
		return "s16", "uint16_t", nil
	}
	return "", "", fmt.Errorf("an input of type %s; want float32 or integers of 8 or 16 bits", t.DType)
}

// Preprocessable says why no C is written for an input of a type; nil: it is.
func Preprocessable(t types.Type) error {
	_, _, err := kernelType(t)
	return err
}

// image is the view of frames.
func (v *preView) image(p Preprocess, t types.Type, kind, ctype string) {
	m := p.Image
	v.Image, v.Width, v.Height, v.Format = true, m.Width, m.Height, m.Format.String()
	v.FrameBytes = m.Format.RowBytes(m.Width) * m.Height
	v.Kernel = fmt.Sprintf("nncc_image_%s_%s", v.Format, kind)
	x, y := m.Axes()
	tables := 1
	for _, c := range p.Values {
		if c != p.Values[0] || t.Quant.PerAxis() {
			tables = m.Channels
		}
	}
	var place, table [3]int
	for c := range m.Channels {
		to := c // the input's channel that has red, green or blue
		if m.BGR {
			to = m.Channels - 1 - c
		}
		place[c] = memory(t, to*p.Strides.Channel)
		table[c] = 256 * (to % tables)
	}
	k := m.YUV()
	mix := 1
	if m.Nearest {
		mix = 0
	}
	v.Params = []string{
		fmt.Sprintf(".row_bytes = %d, .crop_x = %d, .crop_y = %d", m.Format.RowBytes(m.Width), m.Crop.X, m.Crop.Y),
		fmt.Sprintf(".start_x = %d, .step_x = %d, .last_x = %d", x.Start, x.Step, x.Last),
		fmt.Sprintf(".start_y = %d, .step_y = %d, .last_y = %d", y.Start, y.Step, y.Last),
		fmt.Sprintf(".at_x = %d, .at_y = %d, .at_width = %d, .at_height = %d", m.At.X, m.At.Y, m.At.Width, m.At.Height),
		fmt.Sprintf(".width = %d, .height = %d", m.OutWidth, m.OutHeight),
		fmt.Sprintf(".stride_x = %d, .stride_y = %d", memory(t, p.Strides.Column), memory(t, p.Strides.Row)),
		fmt.Sprintf(".channels = %d, .place = {%d, %d, %d}", m.Channels, place[0], place[1], place[2]),
		fmt.Sprintf(".table = {%d, %d, %d}, .pad = %d, .mix = %d", table[0], table[1], table[2], m.Pad, mix),
		fmt.Sprintf(".yuv_offset = %d, .yuv_y = %d, .yuv_rv = %d", k.Offset, k.Y, k.RV),
		fmt.Sprintf(".yuv_gu = %d, .yuv_gv = %d, .yuv_bu = %d", k.GU, k.GV, k.BU)}
	var entries []string
	for c := range tables {
		for pixel := range 256 {
			entries = append(entries, entry(p.Values[c].Of(uint8(pixel)), ofChannel(t, c)))
		}
	}
	doc := []string{"What a pixel is worth: (pixel * scale - mean) / std"}
	if !t.Quant.PerAxis() {
		doc[0] += quantisedText(t)
	}
	for c, x := range p.Values[:tables] {
		which := "Every channel"
		if tables > 1 {
			which = fmt.Sprintf("Channel %d", c)
		}
		text := fmt.Sprintf("%s: scale %.9g, mean %.9g, std %.9g", which, x.Scale, x.Mean, x.Std)
		if t.Quant.PerAxis() {
			text += quantisedText(ofChannel(t, c))
		}
		doc = append(doc, text)
	}
	v.table(ctype, entries, kind, doc)
}

// ofChannel is a type with the scale and zero point of a channel.
func ofChannel(t types.Type, c int) types.Type {
	if t.Quant.PerAxis() {
		t.Quant = types.PerTensor(t.Quant.Scale[c], t.Quant.Zero[c])
	}
	return t
}

// quantisedText is part of a comment on values of a type.
func quantisedText(t types.Type) string {
	if t.Quant == nil {
		return ""
	}
	return fmt.Sprintf(", / %v (scale of the input), half to even, + %d (zero point)", t.Quant.ScaleAt(0),
		t.Quant.ZeroAt(0))
}

// entry is a real as an element of the input, in C.
func entry(x float32, t types.Type) string {
	if t.DType.IsFloat() {
		return FloatLit(x)
	}
	q := preprocess.Quantise(x, t)
	if t.DType.Bits() == 8 {
		return fmt.Sprint(uint8(q))
	}
	return fmt.Sprint(uint16(q))
}

// table sets the table.
func (v *preView) table(ctype string, entries []string, kind string, doc []string) {
	v.Type, v.TableLen, v.TableDoc = ctype, len(entries), doc
	v.TableBytes = len(entries) * map[string]int{"u8": 1, "s16": 2, "f32": 4, "steps": 4}[kind]
	for from := 0; from < len(entries); from += 16 {
		v.Table = append(v.Table, strings.Join(entries[from:min(from+16, len(entries))], ", "))
	}
	v.KernelTable = v.TableName + ", "
}

// sound is the view of samples.
func (v *preView) sound(p Preprocess, t types.Type, kind string) {
	s := p.Sound
	v.Kernel, v.Samples, v.Rate = "nncc_sound_"+kind, s.Length(), p.Rate
	lo, hi := int64(0), int64(0)
	step, zero := float32(1), int32(0)
	if !t.DType.IsFloat() {
		lo, hi = t.DType.IntRange()
	}
	if t.Quant != nil {
		step, zero = t.Quant.ScaleAt(0), t.Quant.ZeroAt(0)
	}
	v.Params = []string{
		fmt.Sprintf(".length = %d, .frames = %d, .window = %d, .hop = %d", s.Length(), s.Frames, s.Window, s.Hop),
		fmt.Sprintf(".low = %d, .high = %d, .zero = %d", lo, hi, zero),
		fmt.Sprintf(".step = %s, .scale = %s", FloatLit(step), FloatLit(s.Scale))}
	if kind != "u8" {
		return
	}
	entries := lists.Map(s.Steps(t), func(x int32) string { return fmt.Sprint(x) })
	v.table("int32_t", entries, "steps", []string{"The smallest sample that gives each value of the input",
		fmt.Sprintf("A value is sample * %.9g%s", s.Scale, quantisedText(t))})
}

// memory is the place of a logical element of an input in memory.
func memory(t types.Type, logical int) int {
	at, stride := 0, 1
	index := make([]int, t.Rank())
	for d := t.Rank() - 1; d >= 0; d-- {
		index[d] = logical % t.Shape[d]
		logical /= t.Shape[d]
	}
	order := t.OrderOrIdentity()
	for i := t.Rank() - 1; i >= 0; i-- {
		at += index[order[i]] * stride
		stride *= t.Shape[order[i]]
	}
	return at
}

// preFunctions are the kernels that preprocessing calls.
func preFunctions(list []preView) []string {
	return lists.Map(list, func(v preView) string { return v.Kernel })
}
