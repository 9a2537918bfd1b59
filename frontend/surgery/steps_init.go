// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// convertArgs say how constants are changed: slice, then conversion, transpose and
// reshape, dtype.
type convertArgs struct {
	Name       string
	Names      []string
	As         string
	Slice      *sliceArg
	Conversion string
	Transpose  []int
	Reshape    []int
	DType      string
}

type sliceArg struct {
	Axis  int
	Start int
	End   *int
}

// initSteps edit constants.
func initSteps() []*stepDef {
	type add struct {
		Name     string
		constArg `yaml:",inline"`
	}
	type remove struct {
		Names  []string
		Unused bool
	}
	type split struct {
		Name string
		Axis int
		Maps []string
		As   []string
	}
	return []*stepDef{
		def("add_initializer", func(s *session, a *add) string {
			t := a.make(a.Name, s.script.Dir)
			s.m().AddInitializer(t)
			return fmt.Sprintf("%s: %s%v", quote(a.Name), model.ElemTypeName(t.GetDataType()), t.Dims)
		}),
		def("remove_initializers", func(s *session, a *remove) string {
			s.oneOf(a.Names != nil, a.Unused, "names or unused: true")
			if a.Unused {
				gone := s.m().RemoveUnusedInitializers()
				return fmt.Sprintf("removed %d: %s", len(gone), quoted(gone))
			}
			s.m().RemoveInitializers(a.Names)
			return "removed " + quoted(a.Names)
		}),
		def("convert_initializer", func(s *session, a *convertArgs) string {
			list := a.Names
			s.want((a.Name == "") == (a.Names != nil) && (len(list) < 2 || a.As == ""),
				"want name, or names (without as)")
			if a.Name != "" {
				list = []string{a.Name}
			}
			f := a.change()
			for _, n := range list {
				s.m().ConvertInitializer(n, a.As, f)
			}
			return "converted " + quoted(list)
		}),
		def("split_initializer", func(s *session, a *split) string {
			s.m().SplitToMaps(a.Name, a.Axis, a.Maps, a.As)
			return fmt.Sprintf("%s is cut into %s", quote(a.Name), quoted(a.As))
		}),
		def("deduplicate_initializers", func(s *session, a *struct{}) string {
			gone := s.m().DeduplicateInitializers()
			return fmt.Sprintf("removed %d: %s", len(gone), quoted(sortedKeys(gone)))
		}),
	}
}

// change is what is done to one constant.
func (a *convertArgs) change() func(*tensor.Dense) *tensor.Dense {
	var dt tensor.DType
	if a.DType != "" {
		num := ElemType(a.DType)
		var ok bool
		dt, ok = tensor.FromONNX(int(num))
		fail.If(!ok, "dtype %s: want a type of numbers", quote(a.DType))
	}
	return func(d *tensor.Dense) *tensor.Dense {
		if x := a.Slice; x != nil {
			axis, end := normAxis(x.Axis, len(d.Shape)), x.End
			if end == nil {
				end = &d.Shape[axis]
			}
			d = SliceAxis(d, axis, x.Start, *end)
		}
		if a.Conversion != "" {
			d = Convert(d, a.Conversion)
		}
		if d = TransposeReshape(d, a.Transpose, a.Reshape); dt != tensor.Invalid {
			d = d.Cast(dt)
		}
		return d
	}
}

func conversionNames() string {
	names := lists.Map(Conversions, func(c Conversion) string { return c.Name })
	return strings.Join(names, ", ")
}
