// SPDX-License-Identifier: Apache-2.0

package data

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/nncc/nncc/ir/fail"
)

// maxWAVBytes bounds a file.
const maxWAVBytes = 256 << 20

// wavFormat is what the chunk "fmt " says (RIFF, WAVE_FORMAT_PCM, _IEEE_FLOAT and
// _EXTENSIBLE).
type wavFormat struct {
	float    bool
	channels int
	rate     int
	bits     int
}

// decodeWAV gives a recording as samples of 16 bits: what is deeper is rounded. Of
// several channels it is the mean or the first.
func decodeWAV(b []byte, first bool) (_ []int16, rate int, err error) {
	defer fail.Catch(&err)
	fail.If(len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE",
		"no WAV file: it does not begin with RIFF and WAVE")
	var f *wavFormat
	open := slices.Contains([]uint32{0, math.MaxUint32}, binary.LittleEndian.Uint32(b[4:])) // the recorder did not end
	for rest := b[12:]; len(rest) >= 8; {
		id, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		body := rest[8:]
		if id == "data" {
			fail.If(f == nil, "broken: sound comes before its format")
			if size != math.MaxUint32 && !(size == 0 && open) { // else a recorder wrote what it could not know yet
				fail.If(size > uint64(len(body)), "cut short: %d bytes of sound, %d are said to be there", len(body),
					size)
				body = body[:size]
			}
			return f.samples(body, first), f.rate, nil
		}
		fail.If(size > uint64(len(body)), "cut short: a part %q of %d bytes, %d are there", id, size, len(body))
		if id == "fmt " {
			f = parseFormat(body[:size])
		}
		rest = body[min(size+size&1, uint64(len(body))):]
	}
	return nil, 0, errors.New("holds no sound (no part \"data\")")
}

func parseFormat(b []byte) *wavFormat {
	fail.If(len(b) < 16, "broken: a format of %d bytes, want 16", len(b))
	le := binary.LittleEndian
	tag := le.Uint16(b)
	if tag == 0xfffe && len(b) >= 26 {
		tag = le.Uint16(b[24:])
	}
	f := &wavFormat{float: tag == 3, channels: int(le.Uint16(b[2:])), rate: int(le.Uint32(b[4:])),
		bits: int(le.Uint16(b[14:]))}
	fail.If(tag != 1 && tag != 3, "packed by method %d; want PCM or float samples", tag)
	known := []int{8, 16, 24, 32}
	if f.float {
		known = []int{32, 64}
	}
	switch align := int(le.Uint16(b[12:])); {
	case !slices.Contains(known, f.bits):
		fail.Errorf("samples of %d bits; want 8, 16, 24 or 32, or float of 32 or 64", f.bits)
	case f.channels < 1 || f.channels > 64:
		fail.Errorf("%d channels; want 1 to 64", f.channels)
	case f.rate < 1 || f.rate > maxRate:
		fail.Errorf("%d samples a second; want 1 to %d", f.rate, maxRate)
	case align != f.channels*f.bits/8:
		fail.Errorf("broken: %d bytes for %d channels of %d bits", align, f.channels, f.bits)
	}
	return f
}

// samples reads the sound.
func (f *wavFormat) samples(b []byte, first bool) []int16 {
	size := f.bits / 8
	n := len(b) / (size * f.channels)
	fail.If(n == 0, "holds no sound")
	take := f.channels
	if first {
		take = 1
	}
	out := make([]int16, n)
	for i := range out {
		sum := int32(0)
		for c := range take {
			sum += int32(f.sample(b[(i*f.channels+c)*size:], i))
		}
		out[i] = int16(math.RoundToEven(float64(sum) / float64(take)))
	}
	return out
}

// sample reads number i as 16 bits.
func (f *wavFormat) sample(b []byte, i int) int16 {
	le := binary.LittleEndian
	var x float64
	switch {
	case f.float && f.bits == 32:
		x = float64(math.Float32frombits(le.Uint32(b))) * 32768
	case f.float:
		x = math.Float64frombits(le.Uint64(b)) * 32768
	case f.bits == 8:
		return (int16(b[0]) - 128) << 8
	case f.bits == 16:
		return int16(le.Uint16(b))
	case f.bits == 24:
		x = float64(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)) / 65536
	default:
		x = float64(int32(le.Uint32(b))) / 65536
	}
	fail.If(math.IsNaN(x) || math.IsInf(x, 0), "sample %d: %v; want finite numbers", i, x)
	return int16(min(max(math.RoundToEven(x), -32768), 32767))
}
