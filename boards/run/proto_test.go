// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// stream builds results as the harness writes them.
type stream struct {
	b []byte
	n uint32
}

func (s *stream) record(typ, index uint32, payload []byte) {
	start := len(s.b)
	for _, w := range []uint32{recordMagic, typ, index, uint32(len(payload))} {
		s.b = binary.LittleEndian.AppendUint32(s.b, w)
	}
	s.b = append(s.b, payload...)
	s.b = binary.LittleEndian.AppendUint32(s.b, crc32.ChecksumIEEE(s.b[start:]))
	s.n++
}

func (s *stream) words(typ, index uint32, w ...uint32) {
	var p []byte
	for _, v := range w {
		p = binary.LittleEndian.AppendUint32(p, v)
	}
	s.record(typ, index, p)
}

func goodResults() ([]byte, []encoded) {
	var s stream
	s.words(recHello, 0, version, 64, 2, 1, 1, 20, 10)
	s.record(recDump, 0, []byte{1, 2})
	s.words(recStep, 0, 100, 0, 0)
	s.words(recStep, 1, 200, 1, 3)
	s.words(recCase, 0, 0, 400, 0, 0, 96, 1)
	s.record(recOutput, 0, []byte("abc"))
	s.words(recCase, 1, 0xFFFFFFFF, 5, 0, 0, 80, 1)
	s.words(recEnd, 0, s.n)
	return s.b, []encoded{{trace: true}, {}}
}

func TestResultsThatAreNotWhole(t *testing.T) {
	b, cases := goodResults()
	r := testenv.Must(decodeResults(b, cases, []int{1}))(t)
	if c := r.cases[0]; string(c.outputs[0]) != "abc" || c.steps[1].ticks != 200+1<<32 || len(c.dumps[0]) != 2 ||
		r.cases[1].status != -1 {
		t.Errorf("%+v", r)
	}
	for n := range b {
		_, err := decodeResults(b[:n], cases, []int{1})
		testenv.Check(t, err != nil, "the first %d bytes are accepted", n)
	}
	for i := range b {
		c := append([]byte(nil), b...)
		c[i] ^= 0x10
		_, err := decodeResults(c, cases, []int{1})
		testenv.Check(t, err != nil, "a flipped bit in byte %d is accepted", i)
	}
	_, err := decodeResults(append(b, 0), cases, []int{1})
	testenv.Check(t, err != nil, "a byte too many is accepted")
	testenv.Check(t, testenv.Err(decodeResults(b, append(cases, encoded{}), []int{1})) != nil,
		"a missing case is accepted")
	testenv.Check(t, testenv.Err(decodeResults(b, cases, []int{2})) != nil, "a missing dump is accepted")
}

func FuzzResults(f *testing.F) {
	b, cases := goodResults()
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decodeResults(b, cases, []int{1})
	})
}

func TestParseMap(t *testing.T) {
	f := testenv.Must(os.Open("testdata/kws.map"))(t)
	defer f.Close()
	s := testenv.Must(parseMap(f, map[string]Origin{
		"0000-kws.c.o": ModelCode, "0001-kws_weights.S.o": ModelCode, "0002-model_glue.c.o": Harness,
		"0003-startup.c.o": Harness, "libcmsis-nn.a": Kernels}))(t)
	want := map[Origin]Section{
		ModelCode: {Text: 0x20, Weights: 0x30},
		Kernels:   {Text: 0x60},
		Harness:   {Text: 0x60, BSS: 4},
		Libc:      {Text: 0x38, Data: 8},
	}
	for o, w := range want {
		testenv.Equal(t, s.By[o], w, o)
	}
	testenv.Check(t, len(s.By) == len(want) && s.Arena == 0x400 && s.Code() == 0x80 && s.Weights() == 0x30, "%+v", s)
	_, err := parseMap(strings.NewReader("nothing"), nil)
	testenv.Check(t, err != nil, "a file without a map is accepted")
}
