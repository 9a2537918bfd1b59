package kerneltest

import (
	"fmt"
	"math"
	"strings"
)

// WideRefused are layers on int16 data that the rows of a family refuse, whose
// codes begin with its name: convolutions, depthwise ones, and products.
func WideRefused(family string) []Refused {
	const x, w = "in %x : i16[1,4,5,5] q(0.01:0)\n", "const %w : i8[4,4,3,3] q(0.01:0) = rand 1\n"
	layers := []Refused{
		{"CONV16-01", "in %x : i8[1,4,5,5] q(0.01:0)\n" + w + "%o : i8[1,4,3,3] q(0.7:0) = Conv(%x, %w)"},
		{"CONV16-02", x + "in %w : i8[4,4,3,3] q(0.01:0)\n%o : i16[1,4,3,3] q(0.01:0) = Conv(%x, %w)"},
		{"CONV16-03", x + w + "const %b : i32[4] q(0.0001:0) = {1,2,3,4}\n" +
			"%o : i16[1,4,3,3] q(0.01:0) = Conv(%x, %w, %b)"},
		{"CONV16-04", "in %x : i16[1,601,1,1] q(0.01:0)\nconst %w : i8[3,601,1,1] q(0.01:0) = splat 127\n" +
			"%o : i16[1,3,1,1] q(0.01:0) = Conv(%x, %w)"},
		{"CONV16-05", "in %x : i16[1,4,5,5,5] q(0.01:0)\nconst %w : i8[4,4,3,3,3] q(0.01:0) = rand 1\n" +
			"%o : i16[1,4,3,3,3] q(0.01:0) = Conv(%x, %w)"},
		{"CONV16-06", x + "const %w : i8[4,1,3,3] q(0.01:0) = rand 1\n" +
			"%o : i16[1,4,3,3] q(0.01:0) = Conv(%x, %w) {group=4}"},
		{"CONV16-07", x + "const %w : i8[4,4,3,3] q(2:0) = rand 1\n%o : i16[1,4,3,3] q(0.01:0) = Conv(%x, %w)"},
		{"FC16-01", "in %x : i8[2,5] q(0.01:0)\nconst %w : i8[5,3] q(0.01:0) = rand 1\n" +
			"%o : i8[2,3] q(0.7:0) = Gemm(%x, %w)"},
		{"FC16-02", "in %x : i16[2,5] q(0.01:0)\nin %w : i8[5,3] q(0.01:0)\n" +
			"%o : i16[2,3] q(0.01:0) = MatMul(%x, %w)"},
		{"FC16-03", "in %x : i16[2,5] q(0.01:0)\nconst %w : i8[5,3] q(0.01:0) = rand 1\n" +
			"%o : i16[2,3] q(0.01:0) = Gemm(%x, %w) {alpha=0.5}"},
		{"FC16-04", "in %x : i16[2,601] q(0.01:0)\nconst %w : i8[601,3] q(0.01:0) = splat 127\n" +
			"%o : i16[2,3] q(0.01:0) = Gemm(%x, %w)"},
		{"FC16-05", "in %x : i16[2,5] q(0.01:0)\nconst %w : i8[5,3] q(2:0) = rand 1\n" +
			"%o : i16[2,3] q(0.01:0) = Gemm(%x, %w)"},
	}
	for _, l := range layers[:7] {
		text := strings.NewReplacer("i8[4,4,3,3] ", "i8[4,1,3,3] ", "i8[4,4,3,3,3]", "i8[4,1,3,3,3]",
			"Conv(%x, %w)", "Conv(%x, %w) {group=4}",
			"Conv(%x, %w, %b)", "Conv(%x, %w, %b) {group=4}").Replace(l[1])
		switch l[0] {
		case "CONV16-04":
			text = "in %x : i16[1,2,30,30] q(0.01:0)\nconst %w : i8[2,1,30,30] q(0.01:0) = splat 127\n" +
				"%o : i16[1,2,1,1] q(0.01:0) = Conv(%x, %w) {group=2}"
		case "CONV16-06":
			text = x + w + "%o : i16[1,4,3,3] q(0.01:0) = Conv(%x, %w)"
		}
		layers = append(layers, Refused{strings.Replace(l[0], "CONV", "DW", 1), text})
	}
	for i := range layers {
		layers[i][0] = family + "-" + layers[i][0]
	}
	return layers
}

// Add16 writes an addition of int16 tensors, of any scales.
func (b *Writer) Add16(shape ...int) {
	b.n++
	n, s := b.n, commas(shape...)
	scale := func() float64 { return math.Exp2(b.Float64()*12-9) / 256 }
	x, y := scale(), scale()
	z := max(x, y) * (0.3 + 2*b.Float64())
	act := strings.TrimPrefix(b.act(z*256), ", ")
	fmt.Fprintf(&b.text, "in %%x%d : i16[%s] q(%g:0)\nin %%v%d : i16[%s] q(%g:0)\n%%y%d : i16[%s] q(%g:0) = "+
		"Add(%%x%d, %%v%d) {%s}\n", n, s, float32(x), n, s, float32(y), n, s, float32(z), n, n, act)
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
}
