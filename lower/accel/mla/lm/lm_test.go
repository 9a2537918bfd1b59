// SPDX-License-Identifier: Apache-2.0

package lm_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/accel/mla/lm"
)

var le = binary.LittleEndian

// sample is a small valid segment: a table, then a copy of it beside itself.
func sample() *lm.Segment {
	shape := func(n ...int) ([]int, []int) {
		o := make([]int, len(n))
		for i := range o {
			o[i] = i
		}
		return n, o
	}
	s := &lm.Segment{Name: "seg", Memory: 64}
	add := func(t lm.Tensor, dims ...int) {
		t.Shape, t.Order = shape(dims...)
		s.Tensors = append(s.Tensors, t)
	}
	add(lm.Tensor{Name: "in", DType: lm.I8, Role: lm.Input, Scale: 0.5, Zero: -3}, 1, 2, 2, 4)
	add(lm.Tensor{Name: "out\nput", DType: lm.I8, Role: lm.Output, Scale: 0.25, Offset: 32}, 1, 2, 2, 8)
	add(lm.Tensor{Name: "table", DType: lm.U8, Role: lm.Const, Data: make([]byte, 256)}, 256)
	add(lm.Tensor{Name: "scale", DType: lm.F64, Role: lm.Const, Data: make([]byte, 32)}, 4)
	s.Tensors[0].Order = []int{0, 2, 3, 1}
	for i := range s.Tensors[2].Data {
		s.Tensors[2].Data[i] = byte(255 - i)
	}
	s.Place()
	words := func(f ...float64) (w []int32) {
		for _, x := range f {
			b := math.Float64bits(x)
			w = append(w, int32(uint32(b)), int32(uint32(b>>32)))
		}
		return w
	}
	s.Commands = []lm.Command{
		{Op: lm.Table256, Name: "n1", Operands: []lm.Operand{{Tensor: 0}, {Tensor: 2}, {Tensor: 0}},
			Params: []int32{16}},
		{Op: lm.CopyRows, Name: "n2", Operands: []lm.Operand{{Tensor: 0}, {Tensor: 1}}, Params: []int32{4, 4, 4, 8}},
		{Op: lm.CopyRows, Name: "n2", Operands: []lm.Operand{{Tensor: 0}, {Tensor: 1, Offset: 4}},
			Params: []int32{4, 4, 4, 8}},
		{Op: lm.ReduceSum, Name: "n3", Operands: []lm.Operand{{Tensor: 0}, {Tensor: 1}},
			Params: append(words(math.NaN(), math.Inf(1)), 4, 4, 1, 1, -3, 5, 1, -128, 127)},
		{Op: lm.LayerNorm, Name: "n4", Operands: []lm.Operand{{Tensor: 0}, {Tensor: 3}, {Tensor: 0}},
			Params: []int32{1, 0, 20, 30, 16, 4, 4, 1, -3}},
	}
	if err := s.Count(); err != nil {
		panic(err)
	}
	return s
}

func encoded(t testing.TB, s *lm.Segment) []byte {
	t.Helper()
	b := testenv.Must(lm.Encode(s))(t)
	return b
}

func TestRoundTrip(t *testing.T) {
	s := sample()
	b := encoded(t, s)
	again := encoded(t, sample())
	testenv.Check(t, bytes.Equal(b, again), "not the same bytes twice")
	d := testenv.Must(lm.Decode(b))(t)
	testenv.Check(t, reflect.DeepEqual(d, s), "got  %+v\nwant %+v", d, s)
	testenv.Check(t, bytes.Equal(encoded(t, d), b), "decoded and encoded again it differs")
	testenv.Equal(t, len(b)%lm.Align, 0, "%d bytes", len(b))
}

func TestPrint(t *testing.T) {
	text := sample().String()
	for _, want := range []string{`segment "seg", format 2.1`, "memory 64 bytes, weights 288 bytes, 0 MACs, 96 steps",
		"[1,2,2,4] NHWC", "0.5:-3",
		"x=#0 table=#2 y=#0  count=16", "y=#1+4", "in_scale=NaN", `out\nput`} {
		testenv.Check(t, strings.Contains(text, want), "lacks %q:\n%s", want, text)
	}
	data := testenv.Must(json.Marshal(sample()))(t)
	var v struct {
		Memory  int `json:"memory_bytes"`
		Tensors []struct {
			Name, Layout string
		}
		Commands []struct {
			Op     string
			Params map[string]any
		}
	}
	testenv.OK(t, json.Unmarshal(data, &v))
	if v.Memory != 64 || v.Tensors[0].Layout != "NHWC" || v.Commands[3].Params["out_scale"] != "+Inf" ||
		v.Commands[0].Params["count"] != 16.0 {
		t.Errorf("%s", data)
	}
}

// repair sets the checksums right again.
func repair(b []byte) {
	for i := range 4 {
		h := b[40+12*i:]
		off, n := uint64(le.Uint32(h)), uint64(le.Uint32(h[4:]))
		if off+n <= uint64(len(b)) {
			le.PutUint32(h[8:], crc32.ChecksumIEEE(b[off:off+n]))
		}
	}
	le.PutUint32(b[12:], 0)
	le.PutUint32(b[12:], crc32.ChecksumIEEE(b[:128]))
}

func TestDecodeRefuses(t *testing.T) {
	good := encoded(t, sample())
	for want, edit := range map[string]func(b []byte) []byte{
		"begins with":             func(b []byte) []byte { b[0] = 'X'; return b },
		"version 1.1":             func(b []byte) []byte { b[4] = 1; return b },
		"version 2.9":             func(b []byte) []byte { b[6] = 9; return b },
		"checksum of the header":  func(b []byte) []byte { b[20]++; return b },
		"checksum of the weights": func(b []byte) []byte { b[le.Uint32(b[64:])+3] ^= 1; return b },
		"a header has 128":        func(b []byte) []byte { return b[:100] },
		"the header says":         func(b []byte) []byte { return b[:len(b)-16] },
		"behind the last section": func(b []byte) []byte {
			b = append(b, make([]byte, 16)...)
			le.PutUint32(b[16:], uint32(len(b)))
			repair(b)
			return b
		},
		"steps and 0 MACs are noted": func(b []byte) []byte { b[96]++; repair(b); return b },
		"opcode 999 is unknown": func(b []byte) []byte {
			le.PutUint16(b[le.Uint32(b[52:]):], 999)
			repair(b)
			return b
		},
		"of a memory of 16": func(b []byte) []byte { le.PutUint32(b[20:], 16); repair(b); return b },
	} {
		_, err := lm.Decode(edit(bytes.Clone(good)))
		testenv.Refused(t, err, want)
	}
	for n := range good {
		_, err := lm.Decode(good[:n])
		testenv.Check(t, err != nil, "the first %d bytes are accepted", n)
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x40
		_, err := lm.Decode(b)
		testenv.Check(t, err != nil, "accepted with byte %d changed", i)
	}
}

func TestValidateRefuses(t *testing.T) {
	for want, edit := range map[string]func(s *lm.Segment){
		"multiple of 16":       func(s *lm.Segment) { s.Memory = 65 },
		"of a memory of 64":    func(s *lm.Segment) { s.Tensors[1].Offset = 40 },
		"no permutation":       func(s *lm.Segment) { s.Tensors[0].Order = []int{0, 1, 1, 2} },
		"dimension 3 is 0":     func(s *lm.Segment) { s.Tensors[0].Shape = []int{1, 2, 2, 0} },
		"element type 77":      func(s *lm.Segment) { s.Tensors[0].DType = 77 },
		"role 9":               func(s *lm.Segment) { s.Tensors[0].Role = 9 },
		"bytes of data":        func(s *lm.Segment) { s.Tensors[2].Data = s.Tensors[2].Data[1:] },
		"scale NaN":            func(s *lm.Segment) { s.Tensors[0].Scale = float32(math.NaN()) },
		"0 inputs":             func(s *lm.Segment) { s.Tensors[0].Role = lm.Temp },
		"is a input tensor":    func(s *lm.Segment) { s.Commands[0].Operands[1].Tensor = 0 },
		"is a const tensor":    func(s *lm.Segment) { s.Commands[0].Operands[2].Tensor = 2 },
		"operand x is missing": func(s *lm.Segment) { s.Commands[0].Operands[0].Tensor = lm.None },
		"tensor 9 of 4":        func(s *lm.Segment) { s.Commands[0].Operands[0].Tensor = 9 },
		"2 operands, want 3":   func(s *lm.Segment) { s.Commands[0].Operands = s.Commands[0].Operands[:2] },
		"2 parameter words":    func(s *lm.Segment) { s.Commands[0].Params = []int32{16, 0} },
		"elements 0 to 16":     func(s *lm.Segment) { s.Commands[0].Params[0] = 17 },
		"count is 0":           func(s *lm.Segment) { s.Commands[0].Params[0] = 0 },
		"overlaps": func(s *lm.Segment) {
			s.Commands[1].Operands[1].Tensor = 0
			s.Commands[1].Params[0] = 1
		},
		"begins at byte 16 of 16": func(s *lm.Segment) { s.Commands[1].Operands[0].Offset = 16 },
		"not aligned": func(s *lm.Segment) {
			s.Commands[4].Operands[1].Offset = 2
		},
		"with other content": func(s *lm.Segment) { s.Tensors[3].Offset = 16 },
	} {
		s := sample()
		edit(s)
		testenv.Refused(t, testenv.Err(lm.Encode(s)), want)
	}
}

// TestSameAsC compares the tables of operations with those of the C sources.
func TestSameAsC(t *testing.T) {
	header := testenv.Must(os.ReadFile("../../../../runtime_c/include/mla/mla_format.h"))(t)
	table := testenv.Must(os.ReadFile("../../../../runtime_c/src/mla/mla_table.c"))(t)
	defined := map[string]int{}
	for _, m := range regexp.MustCompile(`#define MLA_(\w+) (\d+)`).FindAllStringSubmatch(string(header), -1) {
		defined[m[1]], _ = strconv.Atoi(m[2])
	}
	rows := regexp.MustCompile(
		`\{(\d+), (\d+), 0x([0-9a-f]+), 0x([0-9a-f]+), ([01]), mla_do_(\w+)\}`).FindAllStringSubmatch(string(table), -1)
	flat := strings.Join(strings.Fields(strings.ReplaceAll(string(header), "\n *", " ")), " ")
	ops := lm.Ops()
	testenv.Require(t, len(rows) == len(ops), "mla_table.c has %d operations, want %d", len(rows), len(ops))
	for i, o := range ops {
		testenv.Check(t, defined["OP_"+o.Name] == int(o.Op), "MLA_OP_%s is %d, want %d", o.Name,
			defined["OP_"+o.Name], o.Op)
		constant, optional, text := 0, 0, o.Name+":"
		for k, x := range o.Operands {
			text += " "
			if x.Out {
				text += ">"
				testenv.Check(t, k == len(o.Operands)-1, "%s writes operand %d, which is not the last", o.Name, k)
			}
			text += x.Name
			if x.Const {
				constant |= 1 << k
				text += "!"
			}
			if x.Optional {
				optional |= 1 << k
				text += "?"
			}
		}
		for _, f := range o.Fields {
			text += " " + f.Name + []string{"", ":d", ":8"}[f.Kind]
		}
		testenv.Check(t, strings.Contains(flat, text), "mla_format.h lacks %q", text)
		inPlace := "0"
		if o.InPlace {
			inPlace = "1"
		}
		want := []string{strconv.Itoa(len(o.Operands)), strconv.Itoa(o.Words), hex2(constant), hex2(optional), inPlace,
			strings.ToLower(o.Name)}
		got := rows[i][1:]
		testenv.Check(t, reflect.DeepEqual(got, want), "%s: mla_table.c has %v, want %v", o.Name, got, want)
	}
	for name, want := range map[string]int{"MAJOR": lm.Major, "MINOR": lm.Minor, "DIMS": lm.MaxDims,
		"MAX_BYTES": lm.MaxBytes, "MAX_COUNT": lm.MaxTensors, "MAX_WORK": lm.MaxWork,
		"I8": int(lm.I8), "AFFINE": int(lm.Affine), "INPUT": int(lm.Input), "CONST": int(lm.Const), "HEADER_BYTES": 128,
		"TENSOR_BYTES": 64} {
		testenv.Equal(t, defined[name], want, "MLA_%s", name)
	}
}

func hex2(v int) string {
	s := strconv.FormatInt(int64(v), 16)
	return strings.Repeat("0", 2-len(s)) + s
}

// FuzzDecode: any bytes are refused or are a valid segment, which prints and
// encodes again to the same content.
func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, sample()), false)
	f.Add([]byte("NMLA"), true)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		if fix && len(b) >= 128 {
			b = bytes.Clone(b)
			repair(b)
		}
		s, err := lm.Decode(b)
		if err != nil {
			return
		}
		_ = s.String()
		testenv.OK(t, testenv.Err(json.Marshal(s)))
		again, err := lm.Encode(s)
		testenv.Require(t, err == nil, "decoded, but not encoded: %v", err)
		d, err := lm.Decode(again)
		testenv.Require(t, err == nil, "encoded, but not decoded: %v", err)
		testenv.Require(t, d.String() == s.String(), "changed by encoding")
	})
}
