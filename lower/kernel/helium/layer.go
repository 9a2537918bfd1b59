// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// vector is the size of a vector register in bytes.
const vector = 16

// layer is a product with constant weights.
type layer struct {
	quantised.Layer
	form    form
	options *kernel.Options
}

// form is how a layer's operands lie in memory.
type form uint8

const (
	eights  form = iota // inputs and weights of a byte each
	fours               // weights of 4 bits, two channels' in a byte
	sixteen             // inputs and outputs of 16 bits
)

// String ends the names of kernels.
func (f form) String() string { return [...]string{"_s8", "_w4_s8", "_s16"}[f] }

// layerOf is a node's layer of so many groups. Weights of 4 bits that do not fit two to a byte are bytes, and so are
// those of few channels, which go four rows at a time.
func layerOf(n *kernel.Node, l quantised.Layer, groups int) *layer {
	switch {
	case n.In[0].Type.DType == tensor.I16:
		return &layer{l, sixteen, n.Options}
	case n.In[1].Type.DType == tensor.I4:
		f := &layer{l, fours, n.Options}
		if len(l.Rows)/groups >= fewest && f.paired(groups) && f.shifts() == "" {
			return f
		}
	}
	return &layer{l, eights, n.Options}
}

// bytes are those of an input or an output.
func (l *layer) bytes() int {
	if l.form == sixteen {
		return 2
	}
	return 1
}

// channel gives the start of the sum, the multiplier and the shift of a channel.
func (l *layer) channel(c int) (start, mult, shift int32) {
	start, mult, shift = l.Channel(c)
	start = int32(pack.Bias(l.Rows[c], l.Params.InOff, start)) // sums wrap, here and on the core
	if mult == 0 && shift > -1 {
		shift = -1 // a product of 0 may be shifted as it pleases the kernel
	}
	return start, mult, shift
}

// left reports a channel that is requantised by a shift that is not to the right:
// an effective scale of 0.5 or more.
func (l *layer) left() bool {
	for c := range l.Rows {
		if _, _, s := l.channel(c); s > -1 {
			return true
		}
	}
	return false
}

// shifts is the rule of the kernels' requantisation.
func (l *layer) shifts() string {
	for c := range l.Rows {
		if _, _, s := l.channel(c); s > -1 || s < -31 {
			return fmt.Sprintf("channel %d is requantised by a shift of %d, want 1 to 31 to the right: an effective "+
				"scale below 0.5", c, s)
		}
	}
	return ""
}

// relu: no value below the zero point survives the clamp, after any training.
func (l *layer) relu() bool { return !l.options.Bound && l.Params.ActMin >= l.Params.OutOff }

// fromZero: outputs are the integers from zero on, after any training.
func (l *layer) fromZero() bool { return !l.options.Bound && l.Params.OutOff == math.MinInt8 }

// words appends 32-bit words.
func words(b []byte, v ...int32) []byte { return append(b, pack.Words(v)...) }

// head appends what stands in front of the weights of a record.
func (l *layer) head(b []byte, first int) []byte {
	h := [12]int32{8: -1, 9: -1, 10: -1, 11: -1} // of channels that are not there
	for i := 0; i < 4 && first+i < len(l.Rows); i++ {
		if l.form == sixteen {
			h[i] = l.Bias[first+i]
			h[4+i], h[8+i] = l.shifted(first + i)
		} else {
			h[i], h[4+i], h[8+i] = l.channel(first + i)
		}
	}
	return words(b, h[:]...)
}

// shifted are the multiplier and the shift of channel c on int16 data.
func (l *layer) shifted(c int) (mult, shift int32) {
	mult, shift = l.Shifted16(c, 0)
	return mult, -shift
}

// vector appends the weights of four channels for a vector of inputs.
func (l *layer) vector(b []byte, first, at int) []byte {
	step := 1
	if l.form == fours {
		step = 2
	}
	for c := first; c < first+4; c += step {
		for k := at; k < at+vector/l.bytes(); k++ {
			w := l.weight(c, k)
			if l.form == fours {
				w += 16 * l.weight(c+1, k)
			}
			b = append(b, byte(w))
		}
	}
	return b
}

// weight is that of channel c for input k, 0 behind the last ones.
func (l *layer) weight(c, k int) int8 {
	if c >= len(l.Rows) || k >= len(l.Rows[c]) {
		return 0
	}
	return l.Rows[c][k]
}

// paired: weights of 4 bits fit a byte with those of the channel before; the channels of every
// group go by fours.
func (l *layer) paired(groups int) bool {
	per := len(l.Rows) / groups
	for g := range groups {
		for at := 0; at < per; at += 4 {
			first := g*per + max(min(at, per-4), 0)
			for c := first; c < first+4 && c+1 < (g+1)*per; c += 2 {
				for k, w := range l.Rows[c] {
					if w < 0 && l.Rows[c+1][k] == -8 {
						return false
					}
				}
			}
		}
	}
	return true
}

// part are n channels of the layer from first on.
func (l *layer) part(first, n int) *layer { return &layer{l.Pick(first, 1, n), l.form, l.options} }

// mac is nncc_helium_matmul_params for rows of depth bytes, at least step bytes apart (or
// so far), of which the input has no more behind the last one.
func (l *layer) mac(pitch call.Arg, channels, depth, step, vectors int, apart call.Arg) *param.HeliumMatmul {
	return &param.HeliumMatmul{Pitch: pitch, Zero: call.T(l.Params.OutOff), ActMin: call.T(l.Params.ActMin),
		ActMax: call.T(l.Params.ActMax), Channels: channels, Step: apart, Vectors: vectors,
		Tail: depth - (roundUp(depth, vector) - vector), Single: (vectors*vector - depth + step - 1) / step}
}

// inRows and outRows are input 0 and output 0 in rows of n bytes: the channels
// of a pixel.
func inRows(n int) (call.Pitch, call.Rows) { return call.Pitch{Row: n}, call.Rows{Bytes: n} }
func outRows(n int) (call.Pitch, call.Rows) {
	return call.Pitch{Output: true, Row: n}, call.Rows{Output: true, Bytes: n}
}
