// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Text adds a constant of text: its elements are their places in a list, which Texts has.
func (b *Builder) Text(name string, shape []int, texts []string) *ir.Value {
	d, list, place := tensor.New(tensor.I64, shape), []string{}, map[string]int{}
	for i, s := range texts {
		p, met := place[s]
		if !met {
			p, list, place[s] = len(list), append(list, s), len(list)
		}
		d.SetInt(i, int64(p))
	}
	v := b.Const(name, d)
	b.Texts[v] = list
	return v
}

// Text is a constant of text.
func (n *Node) Text(shape []int, texts []string) *ir.Value {
	v := n.Data(tensor.New(tensor.I64, nil))
	return n.Builder.Text(v.Name, shape, texts)
}

// moved are the texts of an operator's result: it may move text, and do nothing else with it.
func (n *Node) moved(x *ir.Node) (texts []string) {
	data := x.Op.DataInputs(x)
	for i, v := range x.In {
		if t, is := n.Texts[v]; is {
			n.Want(x.Op.Quant == ir.QMove && slices.Contains(data, i), "dtype-unsupported",
				"input %d (%s) of %s is text; firmware moves text, as the numbers of its list, and computes with "+
					"numbers only; want numbers", i, v, x.Op.Name)
			texts = t
		}
	}
	for _, i := range data {
		n.Want(texts == nil || slices.Equal(n.Texts[x.Input(i)], texts), "dtype-unsupported",
			"input %d (%s) of %s is not of the same text as the others; want one list of texts", i, x.Input(i),
			x.Op.Name)
	}
	return texts
}
