// SPDX-License-Identifier: Apache-2.0

package lm

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	visible "github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
)

// String is the segment for people: header, tensors, commands.
func (s *Segment) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "segment %q, format %d.%d\n", s.Name, Major, Minor)
	fmt.Fprintf(&b, "memory %d bytes, weights %d bytes, %d MACs, %d steps\n\n", s.Memory, s.WeightBytes(), s.MACs,
		s.Work)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tensor\trole\ttype\tshape\toffset\tbytes\tquantisation\tname")
	for i := range s.Tensors {
		t := &s.Tensors[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", i, t.Role, t.DType, t.shapeText(), t.Offset, t.Bytes(),
			t.quantText(), printable(t.Name))
	}
	w.Flush()
	b.WriteByte('\n')
	w = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "command\toperation\tnode\toperands\tparameters")
	for i := range s.Commands {
		c := &s.Commands[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", i, c.Op, printable(c.Name), c.operandText(), c.paramText())
	}
	w.Flush()
	return b.String()
}

// printable is a name on one line, whatever a file holds.
func printable(s string) string { return visible.Short(visible.Line(s), 400) }

// shapeText is [1,8,8,16], with the layout where it is not the logical order.
func (t *Tensor) shapeText() string {
	s := strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ",")
	if l := t.Layout(); l != "" {
		s += " " + l
	}
	return s
}

// Layout names the memory order: NHWC, a permutation such as 0.2.1, or "" for
// the logical order.
func (t *Tensor) Layout() string {
	var p []string
	plain := true
	for i, o := range t.Order {
		plain = plain && i == o
		p = append(p, fmt.Sprint(o))
	}
	switch s := strings.Join(p, "."); {
	case plain:
		return ""
	case s == "0.2.3.1":
		return "NHWC"
	default:
		return s
	}
}

func (t *Tensor) quantText() string {
	if t.Scale == 0 {
		return "-"
	}
	return fmt.Sprintf("%v:%d", t.Scale, t.Zero)
}

func (c *Command) operandText() string {
	info := InfoOf(c.Op)
	var p []string
	for i, o := range c.Operands {
		name := fmt.Sprint(i)
		if info != nil && i < len(info.Operands) {
			name = info.Operands[i].Name
		}
		s := fmt.Sprintf("%s=#%d", name, o.Tensor)
		if o.Tensor == None {
			continue
		}
		if o.Offset != 0 {
			s += fmt.Sprintf("+%d", o.Offset)
		}
		p = append(p, s)
	}
	return strings.Join(p, " ")
}

func (c *Command) paramText() string {
	p := lists.Map(c.Fields(), func(f Field) string { return fmt.Sprintf("%s=%s", f.Name, f.text()) })
	return strings.Join(p, " ")
}

// Field is a parameter with its name and value: int32, float64, or []int32.
type Field struct {
	Name  string
	Value any
}

func (f Field) text() string {
	if l, ok := f.Value.([]int32); ok {
		return strings.ReplaceAll(fmt.Sprint(l), " ", ",")
	}
	return fmt.Sprint(f.Value)
}

// Fields are the parameters of a command by name. Lists are cut to the rank
// that stands before them.
func (c *Command) Fields() []Field {
	info := InfoOf(c.Op)
	if info == nil || len(c.Params) != info.Words {
		return nil
	}
	var out []Field
	at, rank := 0, MaxDims
	for _, f := range info.Fields {
		w := c.Params[at : at+f.Kind.Words()]
		at += len(w)
		switch f.Kind {
		case Float64:
			out = append(out, Field{f.Name, math.Float64frombits(uint64(uint32(w[1]))<<32 | uint64(uint32(w[0])))})
		case List:
			out = append(out, Field{f.Name, append([]int32(nil), w[:rank]...)})
		default:
			if f.Name == "rank" {
				rank = int(min(max(w[0], 0), MaxDims))
			}
			out = append(out, Field{f.Name, w[0]})
		}
	}
	return out
}

// MarshalJSON is the segment without the bytes of the weights; numbers that
// JSON does not have (infinities) are strings.
func (s *Segment) MarshalJSON() ([]byte, error) {
	type jsonTensor struct {
		Index  int     `json:"index"`
		Name   string  `json:"name"`
		Role   string  `json:"role"`
		DType  string  `json:"dtype"`
		Shape  []int   `json:"shape"`
		Layout string  `json:"layout,omitempty"`
		Order  []int   `json:"order"`
		Scale  float32 `json:"scale,omitempty"`
		Zero   int32   `json:"zero_point"`
		Offset int     `json:"offset"`
		Bytes  int     `json:"bytes"`
	}
	type jsonOperand struct {
		Name   string `json:"name"`
		Tensor int    `json:"tensor"`
		Offset int    `json:"offset"`
	}
	type jsonCommand struct {
		Index    int            `json:"index"`
		Op       string         `json:"op"`
		Node     string         `json:"node"`
		Operands []jsonOperand  `json:"operands"`
		Params   map[string]any `json:"params"`
	}
	out := struct {
		Name        string        `json:"name"`
		Version     string        `json:"version"`
		MemoryBytes int           `json:"memory_bytes"`
		WeightBytes int           `json:"weight_bytes"`
		MACs        uint64        `json:"macs"`
		Work        uint64        `json:"work"`
		Tensors     []jsonTensor  `json:"tensors"`
		Commands    []jsonCommand `json:"commands"`
	}{Name: s.Name, Version: fmt.Sprintf("%d.%d", Major, Minor), MemoryBytes: s.Memory, WeightBytes: s.WeightBytes(),
		MACs: s.MACs, Work: s.Work}
	for i := range s.Tensors {
		t := &s.Tensors[i]
		out.Tensors = append(out.Tensors, jsonTensor{i, t.Name, t.Role.String(), t.DType.String(), t.Shape,
			t.Layout(), t.Order, t.Scale, t.Zero, t.Offset, t.Bytes()})
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		j := jsonCommand{Index: i, Op: c.Op.String(), Node: c.Name, Params: map[string]any{}}
		for k, o := range c.Operands {
			j.Operands = append(j.Operands, jsonOperand{InfoOf(c.Op).Operands[k].Name, o.Tensor, o.Offset})
		}
		for _, f := range c.Fields() {
			v := f.Value
			if x, ok := v.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
				v = fmt.Sprint(x)
			}
			j.Params[f.Name] = v
		}
		out.Commands = append(out.Commands, j)
	}
	return json.Marshal(out)
}
