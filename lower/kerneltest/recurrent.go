package kerneltest

import (
	"fmt"
	"math"
	"strings"

	"github.com/nncc/nncc/ir"
)

// LSTM writes a QLSTM with random quantisation, with and without bias, given
// states, and its second and third output.
func (b *Writer) LSTM(steps, batch, inputs, units int) {
	b.n++
	n := b.n
	xs := b.One(1, 4, 16, 64) // large scales shift the sums to the left
	x := fmt.Sprintf("q(%g:%d)", float32(xs)*0.004*float32(0.5+b.Float64()), b.Zero())
	hidden := fmt.Sprintf("q(0.0078125:%d)", b.One(0, 0, b.In(-30, 30)))
	power := b.In(-15, -8)
	cell := fmt.Sprintf("q(%g:0)", math.Ldexp(1, power))
	gates := func(name string, size int) {
		var s []string
		for u := range 4 * units {
			s = append(s, fmt.Sprintf("%g:0", float32(b.n%3+1)*0.002*float32(1+u/units)))
		}
		v := make([]int, 4*units*size)
		all := b.Chance(5)
		for i := range v {
			if v[i] = b.In(-127, 127); all {
				v[i] = 127
			}
		}
		fmt.Fprintf(&b.text, "const %%%s%d : i8[%d,%d] q(axis=0,%s) = {%s}\n", name, n, 4*units, size,
			strings.Join(s, ","), commas(v...))
	}
	args := fmt.Sprintf("%%x%d, %%w%d, %%r%d", n, n, n)
	fmt.Fprintf(&b.text, "in %%x%d : i8[%d,%d,%d] %s\n", n, steps, batch, inputs, x)
	gates("w", inputs)
	gates("r", units)
	given := b.IntN(4)
	if b.Chance(70) {
		v := make([]int, 4*units)
		for i := range v {
			v[i] = b.In(-4000, 4000)
		}
		fmt.Fprintf(&b.text, "const %%b%d : i32[%d] = {%s}\n", n, 4*units, commas(v...))
		args += fmt.Sprintf(", %%b%d", n)
	} else if given > 0 {
		args += ", -"
	}
	state := fmt.Sprintf("[%d,%d]", batch, units)
	if given&1 != 0 {
		fmt.Fprintf(&b.text, "in %%h%d : i8%s %s\n", n, state, hidden)
		args += fmt.Sprintf(", %%h%d", n)
	} else if given > 0 {
		args += ", -"
	}
	if given&2 != 0 {
		fmt.Fprintf(&b.text, "in %%c%d : i16%s %s\n", n, state, cell)
		args += fmt.Sprintf(", %%c%d", n)
	}
	outs := []string{fmt.Sprintf("o%d", n), fmt.Sprintf("p%d", n), fmt.Sprintf("q%d", n)}[:b.In(1, 3)]
	types := []string{fmt.Sprintf("i8[%d,%d,%d] %s", steps, batch, units, hidden), "i8" + state + " " + hidden,
		"i16" + state + " " + cell}
	var results []string
	for i, o := range outs {
		results = append(results, "%"+o+" : "+types[i])
	}
	fmt.Fprintf(&b.text, "%s = nncc.QLSTM(%s) {cell_scale_power=%d, direction=%q}\n", strings.Join(results, ", "), args,
		power, []string{"forward", "reverse"}[b.IntN(2)])
	b.outs = append(b.outs, outs...)
}

// Written is a layer that a Writer writes.
func (b *Builder) Written(write func(w *Writer)) {
	w := NewWriter(b.Uint64())
	write(w)
	g := w.Graph(b.T)
	values := map[*ir.Value]*ir.Value{}
	for _, v := range g.In {
		values[v] = b.G.AddInput(b.Name+"_"+v.Name, v.Type)
	}
	for _, n := range g.Nodes {
		in := make([]*ir.Value, len(n.In))
		for i, v := range n.In {
			if v == nil {
				continue
			}
			if in[i] = values[v]; in[i] == nil {
				in[i] = b.G.AddConst(b.Name+"_"+v.Name, v.Const)
				in[i].Type = v.Type
			}
		}
		m, err := b.G.Add(n.Op, b.Name, n.Attrs, len(n.Out), in...)
		if err != nil {
			b.T.Fatal(err)
		}
		for i, v := range n.Out {
			m.Out[i].Type, values[v] = v.Type, m.Out[i]
		}
	}
	for _, v := range g.Out {
		b.Output(values[v])
	}
}
