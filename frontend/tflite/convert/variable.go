// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/tflite/fb"
	tflite "github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/tensor"
)

// variable is a value that lives from one run to the next: an input that holds what an
// output gave the run before.
type variable struct {
	name string         // for messages
	in   string         // the name of the graph's input for it, "" where there is none
	like *tflite.Tensor // its type, once something reads or writes it
	init *tensor.Dense  // what the first run finds
	// last is the value that it has at the point of the graph that is being written, ""
	// before anything wrote it.
	last string
}

// variables are those of the model in order, by what names them: a tensor that keeps its
// value, or container and name in the file; what an operator keeps has no such name.
type variables struct {
	by     map[any]*variable
	order  []*variable
	handle map[*tflite.Tensor]*variable
}

func newVariables() *variables {
	return &variables{by: map[any]*variable{}, handle: map[*tflite.Tensor]*variable{}}
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
func varHandle(n *operands) error {
	v, err := n.c.vars.named(n.o)
	if err == nil {
		n.c.vars.handle[n.out()] = v
	}
	return err
}

func (v *variables) named(o *tflite.Op) (*variable, error) {
	t, ok, err := o.Options("VarHandleOptions")
	if err != nil {
		return nil, err
	}
	if !ok {
		return v.shared([2]string{}, ""), nil
	}
	var opt fb.VarHandleOptions
	opt.Init(t.Bytes, t.Pos)
	key := [2]string{string(opt.Container()), string(opt.SharedName())}
	return v.shared(key, strings.TrimPrefix(key[0]+"/"+key[1], "/")), nil
}

// of is the variable that a tensor names, which gets the type of its values.
func (v *variables) of(handle, like *tflite.Tensor) (*variable, error) {
	x := v.handle[handle]
	if x == nil {
		return nil, fmt.Errorf("%q names no variable", handle.Name)
	}
	if x.like == nil {
		x.like = like
	}
	if x.like.DType != like.DType || !slices.Equal(x.like.Shape, like.Shape) {
		return nil, fmt.Errorf("variable %q is %s%v here and %s%v elsewhere, want one type", x.name, like.DType,
			like.Shape, x.like.DType, x.like.Shape)
	}
	return x, nil
}

func readVariable(n *operands) error {
	v, err := n.c.vars.of(n.in(0), n.out())
	if err != nil {
		return err
	}
	n.c.node("Identity", n.out().Name, []string{n.c.value(v)})
	return nil
}

// value is what a variable holds here: an input of the graph before anything wrote it.
func (c *converter) value(v *variable) string {
	if v.last != "" {
		return v.last
	}
	if v.in == "" {
		if err := room(v.like.Shape...); err != nil {
			c.fail("too-large", c.at.String(), "variable %q: %v", v.name, err)
		}
		v.in = c.free("state/" + v.name)
		at := *v.like
		at.Name = v.in
		c.out.Input = append(c.out.Input, c.info(&at))
	}
	return v.in
}

func assignVariable(n *operands) error {
	if len(n.o.In) < 2 || n.in(1) == nil {
		return fmt.Errorf("no value is assigned")
	}
	v, err := n.c.vars.of(n.in(0), n.in(1))
	if err == nil {
		v.last = n.raw(1)
	}
	return err
}

// callOnce reads the graph that runs before the first one: it gives variables constants.
func callOnce(n *operands) error {
	var o fb.CallOnceOptions
	if err := n.options("CallOnceOptions", o.Init); err != nil {
		return err
	}
	i := int(o.InitSubgraphIndex())
	if i < 1 || i >= len(n.c.m.Graphs) {
		return fmt.Errorf("it calls graph %d of %d", i, len(n.c.m.Graphs))
	}
	for _, op := range n.c.m.Graphs[i].Ops {
		if err := n.c.vars.initial(op); err != nil {
			return fmt.Errorf("graph %d, %s: %w", i, op, err)
		}
	}
	return nil
}

func (v *variables) initial(o *tflite.Op) error {
	switch {
	case o.Name == "VAR_HANDLE" && len(o.Out) == 1:
		x, err := v.named(o)
		if err == nil {
			v.handle[o.Out[0]] = x
		}
		return err
	case o.Name == "ASSIGN_VARIABLE" && len(o.In) == 2 && o.In[0] != nil && o.In[1] != nil:
		x, err := v.of(o.In[0], o.In[1])
		if err != nil {
			return err
		}
		x.init, err = o.In[1].Const()
		return err
	}
	return fmt.Errorf("nncc runs nothing before the first run but VAR_HANDLE, and ASSIGN_VARIABLE of constants")
}

// state writes an output for every variable that a run leaves changed. Without a value
// of its own a variable begins with zero, as a real number.
func (c *converter) state() []model.State {
	var out []model.State
	for _, v := range c.vars.order {
		if v.in == "" {
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
		at := *v.like
		at.Name = c.free(v.in + "/next")
		c.node("Identity", at.Name, []string{cmp.Or(v.last, v.in)})
		c.out.Output = append(c.out.Output, c.info(&at))
		out = append(out, model.State{Out: at.Name, In: v.in, Init: v.init})
	}
	return out
}
