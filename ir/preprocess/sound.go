// SPDX-License-Identifier: Apache-2.0

package preprocess

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// Sound is how samples of 16 bits, as microphones give them, become one input: frames
// of Window samples that begin Hop samples apart, one behind the other in the input.
// A sample's value is sample * Scale, in float32.
type Sound struct {
	Frames, Window, Hop int
	Scale               float32
}

// MaxSound bounds the samples of an input.
const MaxSound = 1 << 24

// Length is how many samples an input is made of.
func (s *Sound) Length() int { return (s.Frames-1)*s.Hop + s.Window }

// Check says what is wrong with the numbers.
func (s *Sound) Check() error {
	most := float64(s.Scale) * 32768
	switch {
	case s.Frames < 1 || s.Window < 1 || s.Hop < 1:
		return fmt.Errorf("%d frames of %d samples, %d apart: want at least 1 of each", s.Frames, s.Window, s.Hop)
	case s.Hop > MaxSound || s.Window > MaxSound || s.Frames > MaxSound || s.Length() > MaxSound:
		return fmt.Errorf("an input is made of %d samples; at most %d are taken", s.Length(), MaxSound)
	case math.IsInf(most, 0) || s.Scale == 0:
		return fmt.Errorf("scale %v makes %v of the largest sample", s.Scale, most)
	}
	return nil
}

// Of is the value of a sample.
func (s *Sound) Of(sample int16) float32 { return float32(sample) * s.Scale }

// Tensor gives the input of a shape from Length samples.
func (s *Sound) Tensor(samples []int16, shape []int) *tensor.Dense {
	d := tensor.New(tensor.F32, shape)
	out := tensor.As[float32](d)
	for f := range s.Frames {
		for i := range s.Window {
			out[f*s.Window+i] = s.Of(samples[f*s.Hop+i])
		}
	}
	return d
}

// Steps are, for an input of 8 bits, the smallest samples that give each value: entry
// i that of the type's lowest value plus i; 32768 where no sample does. The values do
// not fall from one sample to the next (Scale is positive), so these 256 numbers are
// the function.
func (s *Sound) Steps(t types.Type) []int32 {
	lo, _ := t.DType.IntRange()
	out := make([]int32, 256)
	for i := range out {
		a, b := -32768, 32768
		for a < b { // the first sample that gives as much
			m := (a + b) >> 1
			if Quantise(s.Of(int16(m)), t) >= lo+int64(i) {
				b = m
			} else {
				a = m + 1
			}
		}
		out[i] = int32(a)
	}
	return out
}

// Quantise is ONNX QuantizeLinear of a real for a type with one scale, in float32: what
// the interpreter makes of float inputs. Types without a scale take the nearest whole
// number.
func Quantise(x float32, t types.Type) int64 {
	lo, hi := t.DType.IntRange()
	scale, zero := float32(1), int32(0)
	if t.Quant != nil {
		scale, zero = t.Quant.ScaleAt(0), t.Quant.ZeroAt(0)
	}
	q := math.RoundToEven(float64(x/scale)) + float64(zero)
	if q != q {
		q = float64(zero)
	}
	return int64(min(max(q, float64(lo)), float64(hi)))
}
