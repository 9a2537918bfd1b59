// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ioSteps edit the interface of the graph.
func ioSteps() []*stepDef {
	type io struct {
		Name  string
		DType string
		Shape shapeArg
	}
	type setShape struct {
		io         `yaml:",inline"`
		Conversion string
	}
	type removeOutputs struct {
		Names []string
		Keep  []string
	}
	type removeInputs struct {
		Names []string
		Only  bool
	}
	return []*stepDef{
		def("add_input", func(s *session, a *io) string {
			dt := s.elemType(a.DType)
			s.m().AddInput(a.Name, dt, a.Shape)
			return fmt.Sprintf("input %s: %s%s", quote(a.Name), model.ElemTypeName(dt), ShapeText(a.Shape))
		}),
		def("add_output", func(s *session, a *io) string {
			s.m().AddOutput(a.Name, s.elemType(a.DType), a.Shape)
			return "output " + quote(a.Name)
		}),
		def("remove_inputs", func(s *session, a *removeInputs) string {
			s.m().RemoveInputs(a.Names, a.Only)
			return "removed " + quoted(a.Names)
		}),
		def("remove_outputs", func(s *session, a *removeOutputs) string {
			s.oneOf(a.Names != nil, a.Keep != nil, "names or keep")
			if a.Keep != nil {
				s.m().KeepOutputs(a.Keep)
				return "kept " + quoted(a.Keep)
			}
			s.m().RemoveOutputs(a.Names)
			return "removed " + quoted(a.Names)
		}),
		def("set_io_shape", func(s *session, a *setShape) string {
			m, dt, shape := s.m(), s.elemType(a.DType), []Dim(a.Shape)
			s.oneOf(a.Shape != nil, a.Conversion != "", "shape or conversion")
			if a.Conversion != "" {
				shape = m.convertedShape(a.Name, a.Conversion)
			}
			t, known := m.Shapes().Type(a.Name)
			s.want(!known || m.input(a.Name) != nil || agree(shape, t.Shape) && (dt == 0 || dt == t.Elem),
				"%s is declared %s, but what makes it gives %s", quote(a.Name), ShapeText(shape), t)
			m.SetIOShape(a.Name, dt, shape)
			return fmt.Sprintf("%s is declared %s", quote(a.Name), ShapeText(shape))
		}),
		def("pin_dims", func(s *session, a *map[string]int64) string { return s.pinDims(*a) }),
	}
}

// pinDims fixes dimensions in the file. The model that it is compared with is looked
// at with these sizes, too.
func (s *session) pinDims(dims map[string]int64) string {
	s.want(len(dims) > 0, "no dimension is named; want NAME: SIZE")
	for _, k := range sortedKeys(dims) {
		s.want(dims[k] >= 0 && dims[k] <= tensor.MaxElems, "dimension %s is %d; want 0 to %d", quote(k), dims[k],
			tensor.MaxElems)
	}
	ref := s.cur().ref.Clone()
	if ref.Dims == nil {
		ref.Dims = map[string]int{}
	}
	for k, v := range dims {
		ref.Dims[k] = int(v)
	}
	s.m().PinDims(dims)
	for k := range dims {
		delete(s.m().Dims, k)
	}
	if s.cur().ref == s.original {
		s.original = ref
	}
	s.cur().ref = ref
	return "pinned " + quoted(sortedKeys(dims))
}

// convertedShape is the declared shape of an input or output after a conversion.
func (m *Model) convertedShape(name, conv string) []Dim {
	c := conversion(conv)
	_, decl := m.IOShape(name)
	sizes := make([]int, len(decl))
	for i, d := range decl {
		fail.If(d.Size < 0, "%s has shape %s; want fixed sizes (pin_dims)", quote(name), ShapeText(decl))
		sizes[i] = int(d.Size)
	}
	var shape []int
	fail.Under(quote(name), func() { shape = c.of(sizes) })
	return ints(shape)
}
