// SPDX-License-Identifier: Apache-2.0

package data

import (
	"cmp"
	"fmt"
	"math"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/preprocess"
	"github.com/nncc/nncc/ir/tensor"
)

// Sound says how recordings become an input.
type Sound struct {
	Rate   int     // samples a second; 0: those of the files, which have to agree
	First  bool    // the first channel alone, instead of the mean of all
	Align  string  // the part that is taken of a long one, and where a short one lies: start, centre, end
	Window int     // samples of a frame; 0: the input is one frame
	Hop    int     // from one frame to the next; 0: Window
	Scale  float64 // sample * scale is the value, samples from -32768 to 32767
	Emit   bool    // C is wanted that makes the input of samples
	told
}

// NewSound is a recording of which nothing is declared.
func NewSound() *Sound { return &Sound{Align: "start", Scale: 1. / 32768} }

const maxRate = 768_000

func (x *Sound) keys() []key {
	return []key{
		{"rate", whole(&x.Rate, 1, maxRate)},
		{"channels", truth(&x.First, "first", "mean", "first")},
		{"align", british(oneOf(&x.Align, "start", "centre", "end"))},
		{"window", whole(&x.Window, 1, preprocess.MaxSound)},
		{"hop", whole(&x.Hop, 1, preprocess.MaxSound)},
		{"emit", yes(&x.Emit)},
		{"scale", number(&x.Scale, "want a number above 0", func(v float64) bool { return v > 0 })},
	}
}

// Recording is how recordings become an input.
type Recording struct {
	Spec  Sound
	Sound preprocess.Sound
	input *ir.Value
	rate  int    // of the files; 0: none was read
	from  string // the file that says so
}

// NewRecording says how recordings become an input; so is what is declared, nil for
// nothing. An error says why the input takes none.
func NewRecording(v *ir.Value, so *Sound) (*Recording, error) {
	r := &Recording{input: v, Spec: *NewSound()}
	if so != nil {
		r.Spec = *so
	} else if t := v.Type; !t.DType.IsFloat() && (t.Quant == nil || t.Quant.ScaleAt(0) >= 1) {
		r.Spec.Scale = 1
	}
	s, why := r.frames(so != nil)
	if why == "" {
		if err := s.Check(); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		return nil, fmt.Errorf("input %s of shape %s takes no recordings: %s", v.Name, shapeText(v.Type.Shape), why)
	}
	r.Sound = s
	return r, nil
}

// frames are those of the input; why says what is wrong with them.
func (r *Recording) frames(declared bool) (s preprocess.Sound, why string) {
	t, w := r.input.Type, r.Spec.Window
	n := t.Elems()
	s = preprocess.Sound{Frames: 1, Window: n, Hop: max(n, 1), Scale: float32(r.Spec.Scale)}
	switch {
	case t.DType == tensor.Bool:
		return s, "it is of truth values"
	case w == 0 && r.Spec.Hop > 0:
		return s, "audio.hop wants audio.window, the samples of a frame"
	case w == 0 && !declared && wide(t.Shape) > 1:
		return s, "it wants features, or frames of samples: audio.window says which; features come as .npy"
	case w > 0 && (n < w || n%w != 0):
		return s, fmt.Sprintf("its %d values are no frames of audio.window, %d samples", n, w)
	case w > 0:
		s.Frames, s.Window, s.Hop = n/w, w, cmp.Or(r.Spec.Hop, w)
	}
	return s, ""
}

// wide is how many axes are longer than 1.
func wide(shape []int) (n int) {
	for _, d := range shape {
		if d > 1 {
			n++
		}
	}
	return n
}

// String says what becomes of a recording, for messages.
func (r *Recording) String() string {
	channels := "the mean of channels"
	if r.Spec.First {
		channels = "the first channel"
	}
	return fmt.Sprintf("%s, %s, from the %s", r.said(), channels, r.Spec.Align)
}

// said is what becomes of samples.
func (r *Recording) said() string {
	s := fmt.Sprintf("%d samples", r.Sound.Length())
	if r.Spec.Rate > 0 {
		s += fmt.Sprintf(" at %d Hz", r.Spec.Rate)
	} else {
		s += " at their own rate"
	}
	if r.Sound.Frames > 1 {
		s += fmt.Sprintf(" in %d frames of %d, %d apart", r.Sound.Frames, r.Sound.Window, r.Sound.Hop)
	}
	return s + fmt.Sprintf(", values %.4g to %.4g", r.Sound.Of(-32768), r.Sound.Of(32767))
}

// recordings adds files with a recording each, read when they are asked for.
func (s *Set) recordings(list []file) {
	v := s.only(list[0].path, "a recording")
	declared := s.opt.Spec.Of(v.Name)
	if declared.Sound != nil {
		declared.Sound.used = true
	}
	r, err := NewRecording(v, declared.Sound)
	s.refuse(err != nil, list[0].path, "%w", err)
	if declared.Sound == nil {
		s.assume(v.Name, "audio", "recordings are taken as %s", r)
	}
	s.each(list, r.Read)
}

// Read reads a recording as the input's tensor.
func (r *Recording) Read(path string) (_ *tensor.Dense, err error) {
	defer fail.Catch(&err)
	x, rate := fail.Must2(ReadWAV(path, r.Spec.First))
	want := r.Spec.Rate
	if want == 0 {
		if r.rate == 0 {
			r.rate, r.from = rate, path
		}
		want = r.rate
		fail.If(rate != want, "%d samples a second, and %s has %d; audio.rate says which it shall be", rate, r.from,
			want)
	}
	return toType(r.Sound.Tensor(cut(x, rate, want, r.Sound.Length(), r.Spec.Align), r.input.Type.Shape), r.input), nil
}

// ReadWAV reads a recording: samples of 16 bits and how many a second; of several
// channels the mean or the first.
func ReadWAV(path string, first bool) (_ []int16, _ int, err error) {
	defer fail.Catch(&err)
	b := fail.Must(files.Read(path, maxWAVBytes))
	return decodeWAV(b, first)
}

// cut gives n samples at another rate: of a long recording the part that align says, a
// short one between zeros.
func cut(x []int16, from, to, n int, align string) []int16 {
	have := int(int64(len(x)) * int64(to) / int64(from))
	shift := 0 // sample i of the result is i+shift of the recording
	switch align {
	case "centre":
		shift = (have - n) / 2
	case "end":
		shift = have - n
	}
	out := make([]int16, n)
	for i := range out {
		if k := i + shift; k >= 0 && k < have {
			out[i] = at(x, k, from, to)
		}
	}
	return out
}

// lobes is how many zeros of the sinc function a filter has on each side.
const lobes = 16

// at is sample k of a recording at another rate: a sum of sines over x under Hann's
// window, without what the lower of the two rates cannot hold.
func at(x []int16, k, from, to int) int16 {
	if from == to {
		return x[k]
	}
	middle := float64(k) * float64(from) / float64(to)
	low := min(1, float64(to)/float64(from))
	half := lobes / low
	sum, weights := 0., 0.
	for i := max(int(math.Ceil(middle-half)), 0); i <= min(int(middle+half), len(x)-1); i++ {
		d := float64(i) - middle
		w := 1.
		if d != 0 {
			p := math.Pi * d * low
			w = math.Sin(p) / p
		}
		w *= 0.5 + float64(0.5*math.Cos(math.Pi*d/half))
		sum += float64(w * float64(x[i])) // the conversion keeps machines from fusing it
		weights += w
	}
	if weights != 0 {
		sum /= weights
	}
	return int16(min(max(math.RoundToEven(sum), -32768), 32767))
}
