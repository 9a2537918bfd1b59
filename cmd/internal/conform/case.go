// SPDX-License-Identifier: Apache-2.0

// Package conform runs ONNX's backend tests through nncc: interpreter, emitted
// C on the host, and on Cortex-M under QEMU. See README.md.
package conform

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// Case is a test on its way through nncc.
type Case struct {
	*Test
	Model *onnx.Model
	In    []*tensor.Dense // of every input of the model
	Want  []*tensor.Dense
	Graph *ir.Graph // as imported
	// Bound are the inputs that had to be known at compile time.
	Bound []string
	Args  []*tensor.Dense // of the inputs that are left, in the graph's order
}

// ErrOutside marks a test that is not among those with numeric and bool
// tensors only.
var ErrOutside = errors.New("not a test of numeric and bool tensors")

// Load decodes a test. The error wraps ErrOutside where the test has values
// other than tensors of numbers and bools, or operators of a preview domain.
func Load(t *Test) (*Case, error) {
	c := &Case{Test: t}
	var err error
	if c.Model, err = onnx.Parse(t.Model, onnx.Limits{}); err != nil {
		return nil, err
	}
	if why := c.Model.Beyond(); why != "" {
		return nil, fmt.Errorf("%w: %s", ErrOutside, why)
	}
	for _, s := range []struct {
		files [][]byte
		to    *[]*tensor.Dense
	}{{t.In, &c.In}, {t.Out, &c.Want}} {
		for _, b := range s.files {
			d, _, err := onnx.ParseTensor(b, onnx.Limits{})
			if err != nil {
				return nil, fmt.Errorf("stored data: %w", err)
			}
			*s.to = append(*s.to, d)
		}
	}
	if n := len(c.Model.Inputs()); n != len(c.In) {
		return nil, fmt.Errorf("stored data: %d inputs for %d of the model", len(c.In), n)
	}
	return c, nil
}

// named finds the inputs that an error tells to bind.
var named = regexp.MustCompile(`--set (\S+)=`)

// Import imports the model with the shapes of the stored inputs. Inputs on
// which shapes depend (axes, sizes, counts) are bound to the stored values:
// those that the messages name, and no others.
func (c *Case) Import() error {
	opt := onnx.ImportOptions{Shapes: map[string][]int{}, Set: map[string]*tensor.Dense{}}
	given := map[string]*tensor.Dense{}
	for i, name := range c.Model.Inputs() {
		opt.Shapes[name] = c.In[i].Shape
		given[name] = c.In[i]
	}
	for {
		g, err := onnx.OpenModel(c.Model, opt)
		if err == nil {
			c.Graph = g
			break
		}
		grown := false
		for _, m := range named.FindAllStringSubmatch(err.Error(), -1) {
			if d := given[m[1]]; d != nil && opt.Set[m[1]] == nil {
				opt.Set[m[1]], grown = d, true
			}
		}
		if !grown {
			return err
		}
	}
	c.Bound = lists.Filter(c.Model.Inputs(), func(name string) bool { return opt.Set[name] != nil })
	if errs := c.Graph.Verify(); len(errs) > 0 {
		return bug.Errorf("%v", errs)
	}
	c.Args = lists.Map(c.Graph.In, func(v *ir.Value) *tensor.Dense { return given[v.Name] })
	return nil
}

// Interpret runs the reference interpreter and compares.
func (c *Case) Interpret() error {
	got, err := interp.Run(c.Graph, c.Args, nil)
	if err != nil {
		return err
	}
	return c.Compare(got)
}

// Compile makes firmware of the imported model: float as it is, quantised
// models on integers, inputs and outputs as the model has them.
func (c *Case) Compile(spec *boards.Spec, prefix string) (o *driver.Compiled, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = bug.Recovered(r)
		}
	}()
	cfg := driver.Defaults()
	cfg.Model, cfg.Board, cfg.Name, cfg.Precision, cfg.OwnIO = c.Name+".onnx", spec.Name, prefix, option.Model,
		true
	return cfg.CompileGraph(c.Model, c.Graph.Clone(), spec)
}

// Compare holds outputs against the stored ones.
func (c *Case) Compare(got []*tensor.Dense) error {
	if len(got) != len(c.Want) {
		return fmt.Errorf("wrong: %d outputs, want %d", len(got), len(c.Want))
	}
	for i, w := range c.Want {
		d := Differs(cut(got[i], w), w)
		if d == "" {
			continue
		}
		if c.random() {
			return errors.New("random numbers: ONNX does not say which, the stored ones are those of another generator")
		}
		return fmt.Errorf("wrong: output %d: %s", i, d)
	}
	return nil
}

func (c *Case) random() bool {
	for _, n := range c.Model.Proto.GetGraph().GetNode() {
		if o := n.GetOpType(); strings.HasPrefix(o, "Random") || o == "Bernoulli" || o == "Multinomial" {
			return true
		}
	}
	return false
}

// cut takes away what an output of fixed capacity has behind the results
// (NonMaxSuppression, Unique): zeros, or -1 in lists of indices.
func cut(got, want *tensor.Dense) *tensor.Dense {
	if len(got.Shape) != len(want.Shape) || got.DType != want.DType {
		return got
	}
	for d, n := range want.Shape {
		if n > got.Shape[d] {
			return got
		}
	}
	y := tensor.New(got.DType, want.Shape)
	k := 0
	at := make([]int, len(got.Shape))
	for i := range got.Len() {
		inside := true
		for d, v := range at {
			inside = inside && v < want.Shape[d]
		}
		switch {
		case inside && got.DType.IsFloat():
			y.SetFloat(k, got.Float(i))
			k++
		case inside:
			y.SetInt(k, got.Int(i))
			k++
		case got.DType.IsFloat() && got.Float(i) != 0, !got.DType.IsFloat() && got.Int(i) != 0 && got.Int(i) != -1:
			return got // not filler
		}
		next(at, got.Shape)
	}
	return y
}

// next steps to the element behind one.
func next(at, shape []int) {
	for d := len(at) - 1; d >= 0; d-- {
		if at[d]++; at[d] < shape[d] {
			return
		}
		at[d] = 0
	}
}

// Differs says how got differs from want, or "". Tolerances are those of
// ONNX's own runner for float32 and float64 (relative 1e-3), two steps for
// types of 16 bits; integers and bools are exact.
func Differs(got, want *tensor.Dense) string {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Sprintf("got %s%v, want %s%v", got.DType, got.Shape, want.DType, want.Shape)
	}
	abs, rel := 1e-5, 1e-3
	switch {
	case !want.DType.IsFloat():
		abs, rel = 0, 0
	case want.DType == tensor.F16:
		abs, rel = 1e-3, 2e-3
	case want.DType == tensor.BF16:
		abs, rel = 1e-2, 1.6e-2
	}
	for i := range got.Len() {
		if !want.DType.IsFloat() {
			if a, b := got.Int(i), want.Int(i); a != b {
				return fmt.Sprintf("element %d is %d, want %d", i, a, b)
			}
			continue
		}
		a, b := got.Float(i), want.Float(i)
		if a == b || a != a && b != b {
			continue
		}
		if !(math.Abs(a-b) <= abs+rel*math.Abs(b)) {
			return fmt.Sprintf("element %d is %v, want %v", i, a, b)
		}
	}
	return ""
}

// reason is the first line of an error, short enough for a table.
func reason(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	if len(s) > 200 {
		s = s[:200] + "..."
	}
	return s
}
