// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	onnx "github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// variable is a value that lives from one run to the next: an input that holds what an
// output gave the run before.
type variable struct {
	name string        // for messages
	like *model.Tensor // its type, once something reads or writes it
	init *tensor.Dense // what the first run finds
	in   *ir.Value     // the graph's input for it, nil where there is none
	// last is the value that it has at the point of the graph that is being made, nil
	// before anything wrote it.
	last *ir.Value
}

// variables are those of the model in order, by what names them: a tensor that keeps its
// value, or container and name in the file; what an operator keeps has no such name.
type variables struct {
	by     map[any]*variable
	order  []*variable
	handle map[*model.Tensor]*variable
}

func newVariables() *variables {
	return &variables{by: map[any]*variable{}, handle: map[*model.Tensor]*variable{}}
}

func (v *variables) add(name string) *variable {
	x := &variable{name: name}
	v.order = append(v.order, x)
	return x
}

// shared is the variable that a key names.
func (v *variables) shared(key any, name string) *variable {
	x := v.by[key]
	if x == nil {
		x = v.add(name)
		v.by[key] = x
	}
	return x
}

// varHandle binds a tensor to a variable.
func varHandle(n *node) {
	var o fb.VarHandleOptions
	n.options("VarHandleOptions", o.Init)
	key := [2]string{string(o.Container()), string(o.SharedName())}
	n.c.vars.handle[n.out()] = n.c.vars.shared(key, strings.TrimPrefix(key[0]+"/"+key[1], "/"))
}

// variable is the one that input 0 names, which gets the type of its values.
func (n *node) variable(like *model.Tensor) *variable {
	x := n.c.vars.handle[n.in(0)]
	n.refuse(x == nil, "%q names no variable", n.in(0).Name)
	x.like = cmp.Or(x.like, like)
	n.refuse(x.like.DType != like.DType || !slices.Equal(x.like.Shape, like.Shape),
		"variable %q is %s%v here and %s%v elsewhere, want one type", x.name, like.DType, like.Shape, x.like.DType,
		x.like.Shape)
	return x
}

func readVariable(n *node) { n.give("Identity", vals{n.c.value(n.variable(n.out()))}) }

// value is what a variable holds here: an input of the graph before anything wrote it.
func (c *converter) value(v *variable) *ir.Value {
	switch {
	case v.last != nil:
		return v.last
	case v.in != nil:
		return v.in
	}
	if tensor.Count(v.like.Shape) > maxMade {
		stop("too-large", fmt.Sprintf("variable %q", v.name), "it has shape %v, want at most %d elements", v.like.Shape,
			maxMade)
	}
	v.in = c.Graph.AddInput(c.free("state/"+v.name), ir.T(v.like.DType, v.like.Shape...))
	return v.in
}

func assignVariable(n *node) {
	n.refuse(len(n.o.In) < 2 || n.in(1) == nil, "no value is assigned")
	n.variable(n.in(1)).last = n.raw(1)
}

// callOnce reads the graph that runs before the first one: it gives variables constants.
func callOnce(n *node) {
	var o fb.CallOnceOptions
	n.options("CallOnceOptions", o.Init)
	i := int(o.InitSubgraphIndex())
	n.refuse(i < 1 || i >= len(n.c.m.Graphs), "it calls graph %d of %d", i, len(n.c.m.Graphs))
	for _, op := range n.c.m.Graphs[i].Ops {
		once := &node{c: n.c, o: op}
		switch {
		case op.Name == "VAR_HANDLE" && len(op.Out) == 1:
			varHandle(once)
		case op.Name == "ASSIGN_VARIABLE" && len(op.In) == 2 && op.In[0] != nil && op.In[1] != nil:
			once.variable(once.in(1)).init = once.data(once.in(1), "the value")
		default:
			n.failf("graph %d, %s: nncc runs nothing before the first run but VAR_HANDLE, and ASSIGN_VARIABLE of "+
				"constants", i, op)
		}
	}
}

// state adds an output for every variable that a run leaves changed. Without a value
// of its own a variable begins with zero, as a real number.
func (c *converter) state(out *[]*ir.Value) []onnx.State {
	var states []onnx.State
	for _, v := range c.vars.order {
		if v.in == nil {
			continue
		}
		if v.init == nil {
			v.init = tensor.New(v.like.DType, v.like.Shape)
			for i := range v.init.Len() {
				if v.like.Quantized() {
					v.init.SetInt(i, v.like.Zero[0])
				}
			}
		}
		name := c.free(v.in.Name + "/next")
		*out = append(*out, c.add("Identity", []string{name}, vals{cmp.Or(v.last, v.in)})...)
		states = append(states, onnx.State{Out: name, In: v.in.Name, Init: v.init})
	}
	return states
}
