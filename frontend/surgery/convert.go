// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Conversion is a change of a constant's layout.
type Conversion struct {
	Name string
	Doc  string
	// Perm permutes the dimensions, nil leaves them.
	Perm []int
	// Shape gives the shape after that from the permuted one; nil where it does
	// not fit.
	Shape func(s []int) []int
}

func keep(s []int) []int { return s }

// Conversions are those that have a name. Letters are dimensions of the
// constant: w width, b batch (or height), c channels, h height, k filters, x
// anything.
var Conversions = []Conversion{
	{"wbc_to_chw", "tokens [W,B,C] → a feature map [C,B,W], batch 1 becoming height 1", []int{2, 1, 0}, keep},
	{"ck_to_kchw", "the matrix [C,K] of x·W → filters [K,C,1,1] of a 1×1 Conv", []int{1, 0},
		func(s []int) []int { return []int{s[0], s[1], 1, 1} }},
	{"xc_to_xchw", "the matrix [X,C] of W·x, or rows of channels → [X,C,1,1]", []int{0, 1},
		func(s []int) []int { return []int{s[0], s[1], 1, 1} }},
	{"hwc_to_nchw", "a map [H,W,C] → [1,C,H,W]", []int{2, 0, 1},
		func(s []int) []int { return []int{1, s[0], s[1], s[2]} }},
	{"nchw_to_hwc", "a map [1,C,H,W] → [H,W,C]", []int{0, 2, 3, 1}, func(s []int) []int {
		if s[0] != 1 {
			return nil
		}
		return s[1:]
	}},
	{"c_to_chw", "a vector [C] for channels last → [C,1,1] for channels first", []int{0},
		func(s []int) []int { return []int{s[0], 1, 1} }},
}

func conversion(name string) *Conversion {
	var all []string
	for i := range Conversions {
		if Conversions[i].Name == name {
			return &Conversions[i]
		}
		all = append(all, Conversions[i].Name)
	}
	fail.Errorf("conversion %s is unknown%s; there are %s, and transpose and reshape for others",
		quote(name), near(name, all), quoted(all))
	return nil
}

// of is the shape that a conversion makes of another.
func (c *Conversion) of(shape []int) []int {
	var out []int
	if len(shape) == len(c.Perm) {
		p := make([]int, len(shape))
		for i, k := range c.Perm {
			p[i] = shape[k]
		}
		out = c.Shape(p)
	}
	fail.If(out == nil, "conversion %s (%s) does not fit shape %v", c.Name, c.Doc, shape)
	return out
}

// Convert applies a conversion by its name to a constant.
func Convert(d *tensor.Dense, name string) *tensor.Dense {
	c := conversion(name)
	shape := c.of(d.Shape)
	return d.Transpose(c.Perm).Reshaped(shape)
}

// TransposeReshape permutes the dimensions of a constant (nil perm leaves
// them) and gives it another shape (nil leaves it; one size may be -1).
func TransposeReshape(d *tensor.Dense, perm, shape []int) *tensor.Dense {
	if perm != nil {
		err := checkPerm(perm, len(d.Shape))
		fail.If(err != nil, "%w (the constant has shape %v)", err, d.Shape)
		d = d.Transpose(perm)
	}
	if shape == nil {
		return d
	}
	shape = slices.Clone(shape)
	free, n := -1, 1
	for i, k := range shape {
		switch {
		case k == -1 && free < 0:
			free = i
		case k < 0:
			fail.Errorf("shape %v has a negative size; one may be -1", shape)
		case k > 0 && n > tensor.MaxElems/k:
			fail.Errorf("shape %v is too large", shape)
		default:
			n *= k
		}
	}
	if free >= 0 && n > 0 {
		shape[free] = d.Len() / n
		n *= shape[free]
	}
	fail.If(n != d.Len() || free >= 0 && shape[free] < 0, "shape %v has %d elements, the constant of shape %v has %d",
		shape, n, d.Shape, d.Len())
	return d.Reshaped(shape)
}

func checkPerm(perm []int, rank int) (err error) {
	defer fail.Catch(&err)
	seen := make([]bool, len(perm))
	for _, p := range perm {
		fail.If(p < 0 || p >= len(perm) || seen[p], "%v is no permutation; want each of 0 to %d once", perm,
			len(perm)-1)
		seen[p] = true
	}
	fail.If(len(perm) != rank, "permutation %v has %d places, want %d", perm, len(perm), rank)
	return nil
}

// SliceAxis takes indices start to end (exclusive) of one dimension; negative
// ones count from the end.
func SliceAxis(d *tensor.Dense, axis, start, end int) *tensor.Dense {
	axis = normAxis(axis, len(d.Shape))
	size := d.Shape[axis]
	for _, p := range []*int{&start, &end} {
		if *p < 0 {
			*p += size
		}
	}
	fail.If(start < 0 || end > size || start >= end, "indices %d to %d do not lie within the %d of axis %d (shape %v)",
		start, end, size, axis, d.Shape)
	return d.Slice(axis, start, end)
}

func normAxis(axis, rank int) int {
	fail.If(axis < -rank || axis >= rank, "axis %d is outside rank %d", axis, rank)
	if axis < 0 {
		axis += rank
	}
	return axis
}

// ConvertInitializer changes a constant by f: in place, so that all its readers
// see the new one, or with a new name beside the old one.
func (m *Model) ConvertInitializer(name, as string, f func(*tensor.Dense) *tensor.Dense) {
	d := m.Constant(name)
	fail.Under("initializer "+quote(name), func() { d = f(d) })
	if as != "" && as != name {
		m.AddInitializer(model.TensorProto(as, d))
		return
	}
	m.SetInitializer(model.TensorProto(name, d))
}

// SplitToMaps cuts a constant whose axis lists the flattened places of several
// feature maps one after the other (a head over several scales: anchors,
// strides) into one constant per map, in which height and width of the map
// replace the axis. maps are the values whose last two dimensions
// say how large each map is.
func (m *Model) SplitToMaps(name string, axis int, maps, as []string) {
	fail.If(len(maps) != len(as), "%d maps and %d names for the parts; want as many", len(maps), len(as))
	d := m.Constant(name)
	fail.Under("initializer "+quote(name), func() { axis = normAxis(axis, len(d.Shape)) })
	var sizes [][2]int
	total := 0
	for _, v := range maps {
		s, ok := m.Shapes().Static(v)
		if !ok {
			fail.Check(m.noShape(v))
		}
		fail.If(len(s) < 2, "map %s has shape %v; want height and width as its last dimensions", quote(v), s)
		hw := [2]int{s[len(s)-2], s[len(s)-1]}
		sizes = append(sizes, hw)
		total += hw[0] * hw[1]
	}
	fail.If(total != d.Shape[axis], "initializer %s: axis %d has %d places (shape %v), the maps have %d (%v)",
		quote(name), axis, d.Shape[axis], d.Shape, total, sizes)
	from := 0
	for i, hw := range sizes {
		var part *tensor.Dense
		fail.Under("initializer "+quote(name), func() { part = SliceAxis(d, axis, from, from+hw[0]*hw[1]) })
		from += hw[0] * hw[1]
		shape := slices.Replace(slices.Clone(part.Shape), axis, axis+1, hw[0], hw[1])
		m.AddInitializer(model.TensorProto(as[i], part.Reshaped(shape)))
	}
}

// noShape explains that a value's shape is not known.
func (m *Model) noShape(value string) (err error) {
	defer fail.Catch(&err)
	fail.Check(m.wantValue(value))
	t, ok := m.Shapes().Type(value)
	fail.If(ok, "value %s has shape %s; want fixed sizes (pin_dims)", quote(value), ShapeText(t.Shape))
	why := ""
	if s := m.Shapes(); len(s.Problems) > 0 {
		why = ": " + s.Problems[0].Error()
	} else if len(s.Unknown) > 0 {
		why = ": " + s.Unknown[0].Error()
	}
	return fmt.Errorf("the shape of %s cannot be inferred%s", quote(value), why)
}
