// SPDX-License-Identifier: Apache-2.0

package data_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// wav is a file of samples as they stand in it, in one of WAV's formats.
func wav(tag, channels uint16, rate uint32, bits uint16, sound []byte, more ...byte) []byte {
	var b bytes.Buffer
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) }
	b.WriteString("RIFF")
	put(uint32(36 + len(sound) + len(more)))
	b.WriteString("WAVE")
	b.Write(more)
	b.WriteString("fmt ")
	put(uint32(16))
	put([]uint16{tag, channels})
	put([]uint32{rate, rate * uint32(channels*bits/8)})
	put([]uint16{channels * bits / 8, bits})
	b.WriteString("data")
	put(uint32(len(sound)))
	b.Write(sound)
	return b.Bytes()
}

// pcm is 16-bit sound.
func pcm(x ...int16) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, x)
	return b
}

// TestWAV: every format of samples gives the same 16 bits.
func TestWAV(t *testing.T) {
	dir := t.TempDir()
	floats, _ := binary.Append(nil, binary.LittleEndian, []float32{0.5, -1, 2})
	doubles, _ := binary.Append(nil, binary.LittleEndian, []float64{0.5, -1, 2})
	for name, c := range map[string]struct {
		b    []byte
		want []float64
	}{
		"16":       {wav(1, 1, 8000, 16, pcm(16384, -32768, 32767)), []float64{16384, -32768, 32767}},
		"8":        {wav(1, 1, 8000, 8, []byte{192, 0, 255}), []float64{16384, -32768, 32512}},
		"24":       {wav(1, 1, 8000, 24, []byte{0, 0, 64, 0, 0, 128, 255, 255, 127}), []float64{16384, -32768, 32767}},
		"32":       {wav(1, 1, 8000, 32, []byte{0, 0, 0, 64, 0, 0, 0, 128, 0, 0, 1, 0}), []float64{16384, -32768, 1}},
		"float":    {wav(3, 1, 8000, 32, floats), []float64{16384, -32768, 32767}},
		"double":   {wav(3, 1, 8000, 64, doubles), []float64{16384, -32768, 32767}},
		"stereo":   {wav(1, 2, 8000, 16, pcm(1, 3, 5, 8, -3, -4)), []float64{2, 6, -4}},
		"list":     {wav(1, 1, 8000, 16, pcm(7, 8, 9), 'L', 'I', 'S', 'T', 3, 0, 0, 0, 1, 2, 3, 0), []float64{7, 8, 9}},
		"streamed": {patched(wav(1, 1, 8000, 16, pcm(7, 8, 9)), 40, 0xffffffff), []float64{7, 8, 9}},
		"long":     {wav(1, 1, 8000, 16, pcm(1, 2, 3, 4, 5)), []float64{1, 2, 3}},
		"short":    {wav(1, 1, 8000, 16, pcm(1)), []float64{1, 0, 0}},
	} {
		s := open(t, input(1, 3), []string{"audio.scale=1"}, write(t, c.b, dir, name+".wav"))
		testenv.Same(t, sample(t, s, 0).Inputs[0].Floats(), c.want, name)
	}
	for spec, want := range map[string][]float64{
		"audio.align=end":                   {3, 4, 5, 6},
		"audio.align=centre":                {2, 3, 4, 5},
		"audio.window=2 audio.hop=3":        {1, 2, 4, 5},
		"audio.window=2 audio.hop=1":        {1, 2, 2, 3},
		"audio.window=2":                    {1, 2, 3, 4},
		"audio.scale=0.5":                   {0.5, 1, 1.5, 2},
		"audio.channels=first":              {1, 2, 3, 4},
		"audio.rate=8000 audio.align=start": {1, 2, 3, 4},
	} {
		fields := strings.Fields(spec)
		if !strings.Contains(spec, "scale") {
			fields = append(fields, "audio.scale=1")
		}
		s := open(t, input(2, 2), fields, write(t, wav(1, 1, 8000, 16, pcm(1, 2, 3, 4, 5, 6)), dir, "spec.wav"))
		testenv.Same(t, sample(t, s, 0).Inputs[0].Floats(), want, spec)
	}
	p := write(t, wav(1, 1, 8000, 16, pcm(16384, 0, 0)), dir, "plain.wav")
	s := open(t, input(1, 3, 1), nil, p)
	if x := sample(t, s, 0).Inputs[0]; x.Float(0) != 0.5 ||
		!strings.Contains(fmt.Sprint(s.Diags), "3 samples at their own rate, values -1 to 1, "+
			"the mean of channels, from the start; --preprocess says otherwise (nncc help audio)") {
		t.Errorf("%v, %v", x.Floats(), s.Diags)
	}
}

// patched is a file with other 32 bits at a place.
func patched(b []byte, at int, v uint32) []byte {
	b = slices.Clone(b)
	binary.LittleEndian.PutUint32(b[at:], v)
	return b
}

// TestRates: a tone keeps its pitch and height at another rate, and one that the
// lower rate cannot hold is gone.
func TestRates(t *testing.T) {
	dir := t.TempDir()
	tone := func(rate, hz float64) []byte {
		x := make([]int16, int(rate/4))
		for i := range x {
			x[i] = int16(math.Round(20000 * math.Sin(2*math.Pi*hz*float64(i)/rate)))
		}
		return wav(1, 1, uint32(rate), 16, pcm(x...))
	}
	for _, c := range []struct{ from, hz, height float64 }{{44100, 1000, 20000}, {8000, 1000, 20000},
		{48000, 3000, 20000}, {48000, 13000, 0}} {
		s := open(t, input(1, 4000), []string{"audio.rate=16000", "audio.scale=1"},
			write(t, tone(c.from, c.hz), dir, "tone.wav"))
		got := sample(t, s, 0).Inputs[0].Floats()
		worst := 0.
		for i := 100; i < 3900; i++ {
			worst = max(worst, math.Abs(got[i]-c.height*math.Sin(2*math.Pi*c.hz*float64(i)/16000)))
		}
		testenv.Check(t, !(worst > 200), "%g Hz from %g samples a second: %g off", c.hz, c.from, worst)
	}
	write(t, tone(8000, 100), dir, "two", "a.wav")
	write(t, tone(16000, 100), dir, "two", "b.wav")
	_, err := open(t, input(1, 100), nil, dir+"/two").All()
	testenv.Refused(t, err, "b.wav: 16000 samples a second, and ", "audio.rate says which it shall be")
}

// TestWAVRefused: files that are no recordings, with the reason.
func TestWAVRefused(t *testing.T) {
	dir := t.TempDir()
	good := wav(1, 1, 8000, 16, pcm(1, 2, 3))
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":    {nil, "does not begin with RIFF"},
		"text":     {[]byte("hello, this is no sound"), "does not begin with RIFF"},
		"cut":      {good[:len(good)-2], "cut short: 4 bytes of sound, 6 are said to be there"},
		"nothing":  {good[:36], "holds no sound"},
		"huge":     {patched(good, 16, 1<<31), "cut short: a part \"fmt \" of 2147483648 bytes"},
		"adpcm":    {wav(2, 1, 8000, 16, pcm(1)), "packed by method 2"},
		"bits":     {wav(1, 1, 8000, 12, pcm(1)), "samples of 12 bits"},
		"channels": {wav(1, 0, 8000, 16, pcm(1)), "0 channels"},
		"rate":     {wav(1, 1, 0, 16, pcm(1)), "0 samples a second"},
		"silent":   {wav(1, 1, 8000, 16, nil), "holds no sound"},
		"nan":      {wav(3, 1, 8000, 32, []byte{0, 0, 192, 127}), "sample 0: NaN; want finite numbers"},
	} {
		p := write(t, c.b, dir, name+".wav")
		s, err := data.Open([]string{p}, input(1, 8), data.Options{})
		if err == nil {
			_, err = s.All()
		}
		testenv.Refused(t, err, c.want, name+".wav")
	}
	p := write(t, good, dir, "good.wav")
	for _, c := range []struct {
		spec  string
		shape []int
		want  string
	}{
		{"", []int{1, 49, 10}, "it wants features, or frames of samples: audio.window says which"},
		{"audio.window=3", []int{1, 49, 10}, "its 490 values are no frames of audio.window, 3 samples"},
		{"audio.hop=3", []int{1, 49}, "audio.hop wants audio.window"},
		{"audio.hop=16777216 audio.window=7", []int{7, 7}, "samples; at most 16777216 are taken"},
		{"audio.scale=-1", []int{7}, "want a number above 0"},
		{"audio.wndow=1", []int{7}, "unknown key wndow (did you mean window?)"},
	} {
		sp, err := data.Parse(strings.Fields(c.spec))
		if err == nil {
			_, err = data.Open([]string{p}, input(c.shape...), data.Options{Spec: sp})
		}
		testenv.Refused(t, err, c.want)
	}
}
