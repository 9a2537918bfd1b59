// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// retyped is a test's model with one type variable of its only node bound to
// another element type, and its data converted.
type retyped struct {
	op, v string
	to    tensor.DType
	test  *Test // as stored
	c     *Case
}

// importable reports a test that can be imported as it is stored: what cannot,
// because its data do not fit its model or an operator is missing, says nothing
// about element types.
func importable(t *Test) bool {
	c, err := Load(t)
	return err == nil && c.Import() == nil
}

// retypes makes models of a test for all types that the operator's schema
// permits for a type variable of its inputs.
func retypes(t *testing.T, test *Test) []retyped {
	c, err := Load(test)
	if err != nil || len(c.Model.Proto.GetGraph().GetNode()) != 1 {
		return nil
	}
	n := c.Model.Proto.GetGraph().GetNode()[0]
	version := int64(1)
	for _, o := range c.Model.Proto.GetOpsetImport() {
		if strings.TrimPrefix(o.GetDomain(), "ai.onnx") == strings.TrimPrefix(n.GetDomain(), "ai.onnx") {
			version = o.GetVersion()
		}
	}
	s := schema.Lookup(n.GetDomain(), n.GetOpType(), version)
	if s == nil {
		return nil
	}
	var out []retyped
	for _, v := range s.Vars {
		at := map[string]bool{} // values of this type
		var now tensor.DType
		for i, name := range n.GetInput() {
			if p := s.Input(i); p != nil && p.Type == v.Name && name != "" {
				at[name] = true
				if k := slices.Index(c.Model.Inputs(), name); k >= 0 {
					now = c.In[k].DType
				}
			}
		}
		if len(at) == 0 || now == tensor.Invalid {
			continue
		}
		for i, name := range n.GetOutput() {
			if p := s.Output(i); p != nil && p.Type == v.Name {
				at[name] = true
			}
		}
		for code := range int32(32) {
			to, ok := tensor.FromONNX(int(code))
			if ok && to != now && v.Types.HasTensor(code) {
				out = append(out, retyped{n.GetOpType(), v.Name, to, test, retype(c, at, to)})
			}
		}
	}
	return out
}

func retype(c *Case, at map[string]bool, to tensor.DType) *Case {
	m := &onnx.Model{}
	*m = *c.Model
	m.Proto = proto.Clone(c.Model.Proto).(*pb.ModelProto)
	r := &Case{Test: &Test{Folder: c.Folder, Name: c.Name + " of " + to.ONNXName()}, Model: m}
	for i, name := range m.Inputs() {
		d := c.In[i]
		if at[name] {
			d = converted(d, to)
		}
		r.In = append(r.In, d)
	}
	g := m.Proto.GetGraph()
	for _, v := range append(slices.Clone(g.GetInput()), g.GetOutput()...) {
		if tt := v.GetType().GetTensorType(); tt != nil && at[v.GetName()] {
			tt.ElemType = proto.Int32(int32(to.ONNXCode()))
		}
	}
	return r
}

// converted are values of another type: integers of floats are spread out and
// not zero, so that divisions and remainders have a meaning.
func converted(d *tensor.Dense, to tensor.DType) *tensor.Dense {
	y := tensor.New(to, d.Shape)
	for i := range d.Len() {
		switch x := d.Float(i); {
		case to.IsFloat():
			y.SetFloat(i, x)
		case to == tensor.Bool:
			y.SetInt(i, int64(i)%2)
		case !d.DType.IsFloat():
			y.SetInt(i, d.Int(i))
		default:
			v := math.Round(x * 3)
			if v == 0 || v != v || math.IsInf(v, 0) {
				v = 1
			}
			if !to.IsSigned() {
				v = math.Abs(v)
			}
			y.SetInt(i, int64(v))
		}
	}
	return y
}

// refusals are the reasons for which models of other types may not compile.
var refusals = []string{
	"want the same size",              // BitCast to a type of another size
	"floats want fmod 1",              // Mod
	"input 0 (%data) is of type bool", // ScatterND that multiplies or adds
	`"Loop_0/`, `"Scan_0/`,            // a body that adds values of the type before
}

// TestElementTypes takes every operator through every element type that its
// schema permits: the first and the last of ONNX's tests of it with the types
// changed, emitted C on the host against the interpreter. All of them with
// NNCC_LONG=1, else every fifteenth.
func TestElementTypes(t *testing.T) {
	p := Plan{Targets: []string{"host"}}
	if require(t, &p); len(p.Targets) == 0 {
		t.Skip("no compiler")
	}
	set := Find()
	if set == "" {
		testenv.Lacks(t, "onnx-tests", "no ONNX backend tests")
	}
	tests := testenv.Must(Read(set))(t)
	models := map[string][]retyped{} // by operator, variable and type
	var keys []string
	for _, test := range tests {
		if test.Folder != "node" {
			continue
		}
		for _, r := range retypes(t, test) {
			key := fmt.Sprintf("%s %s %s", r.op, r.v, r.to)
			if models[key] == nil {
				keys = append(keys, key)
			}
			models[key] = append(models[key], r)
		}
	}
	sort.Strings(keys)
	step := 15
	if testenv.Long() {
		step = 1
	}
	var cases []*Case
	for i, key := range keys {
		list := models[key]
		if i%step != 0 {
			continue
		}
		if len(list) > 2 {
			list = []retyped{list[0], list[len(list)-1]}
		}
		for _, r := range list {
			if !importable(r.test) {
				continue // TestConformance says so of the test itself
			}
			err := r.c.Import()
			if err == nil {
				r.c.Want, err = interp.Run(r.c.Graph, r.c.Args, nil)
			}
			if err == nil {
				cases = append(cases, r.c)
			} else if !slices.ContainsFunc(refusals, func(s string) bool { return strings.Contains(err.Error(), s) }) {
				t.Errorf("%s: %s: %v", key, r.c.ID(), reason(err))
			}
		}
	}
	t.Logf("%d operators with a type, %d models", len(keys), len(cases))
	compare(t, cases)
}
