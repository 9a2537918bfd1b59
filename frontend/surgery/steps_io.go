package surgery

import (
	"errors"
	"fmt"

	"github.com/nncc/nncc/ir/tensor"
)

func ioSteps() []*stepDef {
	type io struct {
		Name  string   `yaml:"name"`
		DType string   `yaml:"dtype"`
		Shape shapeArg `yaml:"shape"`
	}
	type setShape struct {
		io         `yaml:",inline"`
		Conversion string `yaml:"conversion"`
	}
	type removeOutputs struct {
		Names []string `yaml:"names"`
		Keep  []string `yaml:"keep"`
	}
	type removeInputs struct {
		Names []string `yaml:"names"`
		Only  bool     `yaml:"only"`
	}
	elem := func(a *io) (int32, error) {
		if a.DType == "" {
			return 0, nil
		}
		return ElemType(a.DType)
	}
	return []*stepDef{
		def("add_input", "add a graph input of any element type; sizes, symbols and null in shape",
			`add_input: {name: mask, dtype: bool, shape: [N, 128]}`,
			func(s *session, a *io) (string, error) {
				dt, err := elem(a)
				if err == nil {
					err = s.cur().m.AddInput(a.Name, dt, a.Shape)
				}
				return fmt.Sprintf("input %s: %s%s", quote(a.Name), elemName(dt), ShapeText(a.Shape)), err
			}),
		def("add_output", "make a value a graph output; element type and shape are inferred where they are left out",
			`add_output: {name: /layer4/Relu_output_0}`,
			func(s *session, a *io) (string, error) {
				dt, err := elem(a)
				if err == nil {
					err = s.cur().m.AddOutput(a.Name, dt, a.Shape)
				}
				return fmt.Sprintf("output %s", quote(a.Name)), err
			}),
		def("remove_inputs", "take graph inputs away that nothing reads; only: true also those that an initializer is to replace",
			`remove_inputs: {names: [mask]}`,
			func(s *session, a *removeInputs) (string, error) {
				return fmt.Sprintf("removed %s", quoted(a.Names)), s.cur().m.RemoveInputs(a.Names, a.Only)
			}),
		def("remove_outputs", "take names out of the graph outputs, or all but those in keep, which also gives their order; prune then deletes what nothing reads",
			`remove_outputs: {keep: [boxes, scores]}`,
			func(s *session, a *removeOutputs) (string, error) {
				m := s.cur().m
				if (a.Names == nil) == (a.Keep == nil) {
					return "", errors.New("want names or keep, one of them")
				}
				if a.Keep != nil {
					return fmt.Sprintf("kept %s", quoted(a.Keep)), m.KeepOutputs(a.Keep)
				}
				return fmt.Sprintf("removed %s", quoted(a.Names)), m.RemoveOutputs(a.Names)
			}),
		def("set_io_shape", "declare the shape of a graph input or output: shape, or conversion of the one it has; what is known of an output must agree",
			`set_io_shape: {name: output, shape: [1, 2048, 1, 1]}`,
			func(s *session, a *setShape) (string, error) {
				m := s.cur().m
				dt, err := elem(&a.io)
				if err != nil {
					return "", err
				}
				shape := []Dim(a.Shape)
				if (a.Shape == nil) == (a.Conversion == "") {
					return "", errors.New("want shape or conversion, one of them")
				}
				if a.Conversion != "" {
					if shape, err = m.convertedShape(a.Name, a.Conversion); err != nil {
						return "", err
					}
				}
				if t, ok := m.Shapes().Type(a.Name); ok && m.input(a.Name) == nil {
					if !agree(shape, t.Shape) || dt != 0 && dt != t.Elem {
						return "", fmt.Errorf("%s is declared %s, but what makes it gives %s", quote(a.Name), ShapeText(shape), t)
					}
				}
				return fmt.Sprintf("%s is declared %s", quote(a.Name), ShapeText(shape)), m.SetIOShape(a.Name, dt, shape)
			}),
		def("pin_dims", "give symbolic dimensions of the file fixed sizes, by symbol or as input.axis",
			`pin_dims: {batch_size: 1}`,
			func(s *session, a *map[string]int64) (string, error) {
				dims := *a
				if len(dims) == 0 {
					return "", errors.New("no dimension is named; want NAME: SIZE")
				}
				for _, k := range sortedKeys(dims) {
					if dims[k] < 0 || dims[k] > tensor.MaxElems {
						return "", fmt.Errorf("dimension %s is %d; want 0 to %d", quote(k), dims[k], tensor.MaxElems)
					}
				}
				// The model that it is compared with is looked at with these sizes, too.
				ref := s.cur().ref.Clone()
				if ref.Dims == nil {
					ref.Dims = map[string]int{}
				}
				for k, v := range dims {
					ref.Dims[k] = int(v)
				}
				if err := s.cur().m.PinDims(dims); err != nil {
					return "", err
				}
				for k := range dims {
					delete(s.cur().m.Dims, k)
				}
				if s.cur().ref == s.original {
					s.original = ref
				}
				s.cur().ref = ref
				return fmt.Sprintf("pinned %s", quoted(sortedKeys(dims))), nil
			}),
	}
}

func initSteps() []*stepDef {
	type add struct {
		Name     string `yaml:"name"`
		constArg `yaml:",inline"`
	}
	type remove struct {
		Names  []string `yaml:"names"`
		Unused bool     `yaml:"unused"`
	}
	type slice struct {
		Axis  int  `yaml:"axis"`
		Start int  `yaml:"start"`
		End   *int `yaml:"end"`
	}
	type convert struct {
		Name       string   `yaml:"name"`
		Names      []string `yaml:"names"`
		As         string   `yaml:"as"`
		Slice      *slice   `yaml:"slice"`
		Conversion string   `yaml:"conversion"`
		Transpose  []int    `yaml:"transpose"`
		Reshape    []int    `yaml:"reshape"`
		DType      string   `yaml:"dtype"`
	}
	type split struct {
		Name string   `yaml:"name"`
		Axis int      `yaml:"axis"`
		Maps []string `yaml:"maps"`
		As   []string `yaml:"as"`
	}
	change := func(a *convert) (func(*tensor.Dense) (*tensor.Dense, error), error) {
		var dt tensor.DType
		if a.DType != "" {
			num, err := ElemType(a.DType)
			if err != nil {
				return nil, err
			}
			var ok bool
			if dt, ok = tensor.FromONNX(int(num)); !ok {
				return nil, fmt.Errorf("dtype %s: want a type of numbers", quote(a.DType))
			}
		}
		return func(d *tensor.Dense) (*tensor.Dense, error) {
			var err error
			if x := a.Slice; x != nil {
				end := 0
				if axis, err := normAxis(x.Axis, len(d.Shape)); err == nil {
					end = d.Shape[axis]
				}
				if x.End != nil {
					end = *x.End
				}
				if d, err = SliceAxis(d, x.Axis, x.Start, end); err != nil {
					return nil, err
				}
			}
			if a.Conversion != "" {
				if d, err = Convert(d, a.Conversion); err != nil {
					return nil, err
				}
			}
			if d, err = TransposeReshape(d, a.Transpose, a.Reshape); err != nil {
				return nil, err
			}
			if dt != tensor.Invalid {
				d = d.Cast(dt)
			}
			return d, nil
		}, nil
	}
	return []*stepDef{
		def("add_initializer", "add a constant of any element type: values written here, a .npy file, or seeded random ones",
			`add_initializer: {name: scale, dtype: float16, value: [0.5, 0.25]}`,
			func(s *session, a *add) (string, error) {
				t, err := a.make(a.Name, s.script.Dir)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("%s: %s%v", quote(a.Name), elemName(t.GetDataType()), t.Dims), s.cur().m.AddInitializer(t)
			}),
		def("remove_initializers", "delete constants by name, or with unused: true all that nothing reads",
			`remove_initializers: {unused: true}`,
			func(s *session, a *remove) (string, error) {
				m := s.cur().m
				if a.Unused == (a.Names != nil) {
					return "", errors.New("want names or unused: true, one of them")
				}
				if a.Unused {
					gone := m.RemoveUnusedInitializers()
					return fmt.Sprintf("removed %d: %s", len(gone), quoted(gone)), nil
				}
				return fmt.Sprintf("removed %s", quoted(a.Names)), m.RemoveInitializers(a.Names)
			}),
		def("convert_initializer", "change the layout of constants, in place or under another name (as): slice, then conversion ("+conversionNames()+"), transpose and reshape, dtype",
			`convert_initializer: {name: pos_embed, conversion: hwc_to_nchw}`,
			func(s *session, a *convert) (string, error) {
				list := a.Names
				if (a.Name == "") == (a.Names == nil) || len(list) > 1 && a.As != "" {
					return "", errors.New("want name, or names (without as)")
				}
				if a.Name != "" {
					list = []string{a.Name}
				}
				f, err := change(a)
				if err != nil {
					return "", err
				}
				for _, n := range list {
					if err := s.cur().m.ConvertInitializer(n, a.As, f); err != nil {
						return "", err
					}
				}
				return fmt.Sprintf("converted %s", quoted(list)), nil
			}),
		def("split_initializer", "cut a constant whose axis lists the places of several maps into one constant per map, with height and width in the place of the axis",
			`split_initializer: {name: anchors, axis: 2, maps: [p3, p4, p5], as: [anchors_0, anchors_1, anchors_2]}`,
			func(s *session, a *split) (string, error) {
				return fmt.Sprintf("%s is cut into %s", quote(a.Name), quoted(a.As)), s.cur().m.SplitToMaps(a.Name, a.Axis, a.Maps, a.As)
			}),
		def("deduplicate_initializers", "one constant for all that are equal to the bit",
			`deduplicate_initializers:`,
			func(s *session, a *struct{}) (string, error) {
				gone, err := s.cur().m.DeduplicateInitializers()
				return fmt.Sprintf("removed %d: %s", len(gone), quoted(sortedKeys(gone))), err
			}),
	}
}

func conversionNames() string {
	s := ""
	for i, c := range Conversions {
		if i > 0 {
			s += ", "
		}
		s += c.Name
	}
	return s
}

// convertedShape is the declared shape of an input or output after a conversion.
func (m *Model) convertedShape(name, conv string) ([]Dim, error) {
	c, err := conversion(conv)
	if err != nil {
		return nil, err
	}
	_, decl, err := m.IOShape(name)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, len(decl))
	for i, d := range decl {
		if d.Size < 0 {
			return nil, fmt.Errorf("%s has shape %s; want fixed sizes (pin_dims)", quote(name), ShapeText(decl))
		}
		sizes[i] = int(d.Size)
	}
	shape, err := c.of(sizes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote(name), err)
	}
	return ints(shape), nil
}
