// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"conv1/Relu:0":               "conv1/Relu:0",
		"Größe 入力 é":                 "Größe 入力 é",
		"a\x1b[2Jb":                  `a\x1b[2Jb`,
		"a\x00b\rc\x7f":              `a\x00b\rc\x7f`,
		"\u0085\u009b31m":            `\u0085\u009b31m`,
		"user\u202egnp.exe\u2066":    `user\u202egnp.exe\u2066`,
		"\u2028\u2029\ufeff\u200f":   `\u2028\u2029\ufeff\u200f`,
		"\xff\xc3(":                  `\xff\xc3(`,
		"two\nlines\tand a tab":      "two\nlines\tand a tab",
		"\U000e0041 tag, \ue000 own": `\U000e0041 tag, \ue000 own`,
	} {
		testenv.Equal(t, Visible(in), want, "%q", in)
	}
	testenv.Equal(t, Line("a\nb\tc"), `a\nb\tc`)
}

// FuzzVisible: whatever comes in, nothing but shapes comes out, and what was
// visible stays as it is.
func FuzzVisible(f *testing.F) {
	f.Add("a\x1bb")
	f.Fuzz(func(t *testing.T, s string) {
		v := Visible(s)
		if !utf8.ValidString(v) || strings.ContainsFunc(v, func(r rune) bool {
			return r != '\n' && r != '\t' && !unicode.IsGraphic(r)
		}) {
			t.Errorf("%q", v)
		}
		testenv.Check(t, Visible(v) == v, "%q changes again", v)
	})
}

type broken struct{ n int }

func (b *broken) Write(p []byte) (int, error) {
	if b.n--; b.n < 0 {
		return 0, errors.New("full")
	}
	return len(p), nil
}

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	io.WriteString(w, "a\x1b\n")
	io.WriteString(w.Exact(), "a\x1b\n")
	if b.String() != "a\\x1b\na\x1b\n" || w.Err() != nil {
		t.Errorf("%q, %v", b.String(), w.Err())
	}
	w = NewWriter(&broken{1})
	io.WriteString(w, "a")
	io.WriteString(w.Exact(), "b")
	io.WriteString(w, "c")
	testenv.Check(t, w.Err() != nil, "an error was lost")
}

// TestLines: strings are made safe wherever they stand, and the original stays.
func TestLines(t *testing.T) {
	type inner struct{ S []string }
	type outer struct {
		Name string
		In   *inner
		M    map[string]any
		A    [2]inner
		Err  error
		own  string
	}
	v := outer{"a\nb", &inner{[]string{"c\nd"}}, map[string]any{"e\n": []string{"f\n"}}, [2]inner{{[]string{"g\n"}}},
		errors.New("h\n"), "i\n"}
	got := Lines(&v)
	if got.Name != `a\nb` || got.In.S[0] != `c\nd` || got.M[`e\n`].([]string)[0] != `f\n` || got.A[0].S[0] != `g\n` ||
		got.own != "i\n" {
		t.Errorf("%+v", got)
	}
	testenv.Check(t, v.Name == "a\nb" && v.In.S[0] == "c\nd" && v.A[0].S[0] == "g\n", "the original changed: %+v", v)
}

// embedded stands in another structure.
type embedded struct{ X float64 }

// TestFinite: numbers that JSON has not are the nearest ones wherever they stand, and the
// original stays.
func TestFinite(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	type inner struct {
		F []float32
		P *float64
	}
	type outer struct {
		embedded
		In  *inner
		M   map[string]any
		A   [2]float64
		S   []string
		Err error
	}
	low := -inf
	v := outer{embedded{nan}, &inner{[]float32{1, float32(inf)}, &low},
		map[string]any{"a": inf, "b": []float64{nan, 2}}, [2]float64{3, -inf}, []string{"s"}, errors.New("e")}
	testenv.Check(t, testenv.Err(json.Marshal(v)) != nil, "the test has nothing to change")
	b, err := json.Marshal(Finite(&v))
	const most32, most = "3.4028235e+38", "1.7976931348623157e+308"
	want := `{"X":` + most + `,"In":{"F":[1,` + most32 + `],"P":-` + most + `},"M":{"a":` + most + `,"b":[` + most +
		`,2]},"A":[3,-` + most + `],"S":["s"],"Err":{}}`
	testenv.Check(t, err == nil && string(b) == want, "%v\n%s\nwant\n%s", err, b, want)
	testenv.Check(t, v.X != v.X && v.In.F[1] == float32(inf) && v.M["a"] == inf && v.A[1] == -inf,
		"the original changed: %+v", v)
}

// TestWriterGivesNoCommands: no name at the beginning of a line is a command to a CI service.
func TestWriterGivesNoCommands(t *testing.T) {
	for in, want := range map[string]string{
		"::error::x  relu\n":            "\\x3a:error::x  relu\n",
		"a\n  ::stop-commands::x\n":     "a\n  \\x3a:stop-commands::x\n",
		"a\n\t::set-output name=b::c\n": "a\n\t\\x3a:set-output name=b::c\n",
		"x ##[error]y ##vso[task.x]\n":  "x #\\x23[error]y #\\x23vso[task.x]\n",
		"std::vector, ## a [b]\n":       "std::vector, ## a [b]\n",
	} {
		var b strings.Builder
		if _, err := NewWriter(&b).Write([]byte(in)); err != nil || b.String() != want {
			t.Errorf("%q becomes %q, want %q (%v)", in, b.String(), want, err)
		}
	}
}

// TestNearest: slips of the keyboard, names cut short, another case, and a part of a path are
// understood; nothing is made of a word that is like none.
func TestNearest(t *testing.T) {
	boards := []string{"cortex-m4", "cortex-m0plus", "cortex-m55", "stm32f411", "host"}
	nodes := []string{"/Stem/Conv", "/stem/bn/BatchNormalization", "/Head/fc/Gemm",
		strings.Repeat("/backbone/layer", 8) + "/Relu"}
	for _, c := range []struct {
		s    string
		all  []string
		want string
	}{
		{"m4", boards, "cortex-m4"}, {"cortexm55", boards, "cortex-m55"}, {"M0+", boards, "cortex-m0plus"},
		{"stm32", boards, "stm32f411"}, {"f411", boards, "stm32f411"}, {"hots", boards, "host"},
		{"hsot", boards, "host"}, {"tsoh", boards, ""}, {"esp32", boards, ""},
		{"", boards, ""}, {"----", boards, ""}, {"host", nil, ""},
		{"/stem/conv", nodes, "/Stem/Conv"}, {"/Stem/Cnov", nodes, "/Stem/Conv"}, {"batchnorm", nodes, nodes[1]},
		{"/Head/fc", nodes, "/Head/fc/Gemm"}, {"Head.fc.Gemm", nodes, "/Head/fc/Gemm"},
		{strings.Repeat("/backbone/layer", 8) + "/Relv", nodes, nodes[3]}, {"decoder", nodes, ""},
		{"ic.onnx", []string{"vad_static.onnx"}, ""},
	} {
		testenv.Equal(t, Nearest(c.s, c.all), c.want, "%q", c.s)
	}
}
