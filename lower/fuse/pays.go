package fuse

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// A loop over single elements replaces a kernel a node. It saves a load and a
// store of every value in between, and the kernels' own loops; but kernels
// work on vectors, or on four bytes at a time, where a loop does not. The
// prices here decide: instructions an element, measured under QEMU with GCC
// 12.2 -O2 (TestPrices repeats the measurement). Functions of the C library
// cost the same on both sides and are left out.

// rate is the price on cores without and with the DSP extension, and with Helium.
type rate struct{ c, dsp, mve float64 }

func (r rate) on(isa string) float64 {
	switch isa {
	case "mve":
		return r.mve
	case "dsp":
		return r.dsp
	}
	return r.c
}

// alone are the prices of functions that compute a node by themselves.
var alone = map[string]rate{
	"nncc_lut_s8":                    {3.5, 3.5, 0.25},
	"nncc_pair_linear_s8":            {15, 8.3, 2.3},
	"nncc_pair_mul_s8":               {40, 12.3, 2.3},
	"nncc_pair_ratio_s8":             {40, 9.3, 2.5},
	"nncc_pair_max_s8":               {8, 1.8, 0.3},
	"nncc_pair_min_s8":               {8, 1.8, 0.3},
	"nncc_pairs_s8":                  {30, 12, 3},
	"nncc_helium_add_linear_s8":      {0, 0, 2.3},
	"nncc_helium_add_linear_away_s8": {0, 0, 2.7},
	"nncc_dsp_add_s8":                {0, 12, 0},
	"nncc_sum_s8":                    {17, 17, 17},
	"nncc_div_s8":                    {60, 40, 40},
	"nncc_lut2_s8":                   {13, 13, 12},
	"arm_elementwise_add_s8":         {61, 61, 61},
	"arm_elementwise_mul_s8":         {30, 30, 32},
	"arm_elementwise_add_s16":        {63, 63, 65},
	"arm_elementwise_mul_s16":        {24, 24, 26},
	"arm_maximum_s8":                 {12, 12, 12},
	"arm_minimum_s8":                 {12, 12, 12},
	"nncc_interpolated_lut_s16":      {13, 13, 12},
	"nncc_piecewise_linear_s16":      {35, 35, 29},
	"nncc_binary_s16":                {760, 760, 60},
	"nncc_scale_shift_s8":            {35, 35, 31},
	"nncc_channel_lines_s8":          {12, 8, 2.5},
	"nncc_where":                     {13, 11, 1},
	"nncc_cast":                      {20, 20, 20},
}

// separate is the price of a node by the function that computes it alone;
// false where it is not known.
func separate(function, isa string) (float64, bool) {
	r, ok := alone[function]
	switch {
	case ok && r.on(isa) > 0:
		return r.on(isa), true
	case strings.HasPrefix(function, "loops_"):
		return 12, true // a loop like the one that would take its place
	case strings.HasPrefix(function, "nncc_quantize_f32"):
		return 35, true
	case strings.HasPrefix(function, "nncc_") && (strings.HasSuffix(function, "_f32") ||
		strings.HasSuffix(function, "_bool")):
		return 8, true
	}
	return 0, false
}

// inside is the price of a node within a loop.
func inside(n *ir.Node) float64 {
	y := n.Out[0].Type
	switch {
	case n.Op == op.QuantizeLinear:
		return 26
	case y.Quant == nil || n.Op == op.Where: // a reduction among them
		return 3
	case n.Op == op.Min || n.Op == op.Max:
		return 5
	case n.Op == op.Add && y.DType == tensor.I16:
		return 46
	case n.Op == op.Mul && y.DType == tensor.I16:
		return 18
	case y.DType == tensor.I16:
		return 8
	case computed(n) < 2: // a table
		return 3
	case n.Op == op.Add:
		return 37
	}
	return 25
}

// computed counts the operands that differ between elements.
func computed(n *ir.Node) int {
	k := 0
	for _, v := range n.In {
		if v == nil {
			continue
		}
		if v.Const != nil {
			if _, one := v.Const.Uniform(); one || n.Op == op.Lookup {
				continue
			}
		}
		k++
	}
	return k
}

// Pays says why a loop for the given nodes would be slower than the functions
// that compute them one by one, "" when it is faster. inputs counts the
// operands that the loop reads; isa is mve, dsp or c.
func Pays(isa string, nodes []*ir.Node, functions []string, inputs int) string {
	loop, sum := 5+1.5*float64(inputs), 0.0
	for i, n := range nodes {
		p, ok := separate(functions[i], isa)
		if !ok {
			return fmt.Sprintf("no price is known for %s, which computes %s", functions[i], n.Op.Name)
		}
		sum += p
		loop += inside(n)
	}
	if loop < sum {
		return ""
	}
	return fmt.Sprintf("a loop would take about %.0f instructions an element, %s %.0f", loop,
		strings.Join(unique(functions), " and "), sum)
}

func unique(s []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, x := range s {
		if !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	return out
}
