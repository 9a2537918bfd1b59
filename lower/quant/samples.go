package quant

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// SyntheticSource is the report's source of samples that nobody gave.
const SyntheticSource = "synthetic"

// maxSamples bounds how many samples are read.
const maxSamples = 1 << 16

func sampleErr(where, format string, args ...any) error {
	return &ir.Diag{Code: "calibration-data", Node: where, Msg: fmt.Sprintf(format, args...)}
}

// checkSamples compares samples with the graph's inputs.
func checkSamples(in []*ir.Value, samples []Sample) error {
	if len(samples) == 0 {
		return sampleErr("calibration", "there are no samples")
	}
	for k, s := range samples {
		if len(s) != len(in) {
			return sampleErr(fmt.Sprintf("calibration sample %d", k), "has %d tensors, the graph %d inputs", len(s),
				len(in))
		}
		for i, d := range s {
			if d.DType != in[i].Type.DType || !slices.Equal(d.Shape, in[i].Type.Shape) {
				return sampleErr(fmt.Sprintf("calibration sample %d", k), "input %s is %s, want %s%v", in[i].Name, d,
					in[i].Type.DType, in[i].Type.Shape)
			}
		}
	}
	return nil
}

// SyntheticSamples are n seeded samples: the first half roughly standard
// normal, the second uniform in [0, 1) as images often are. Integer inputs are
// zeros and ones, which are valid indices; bools, often masks, are random in the
// first half and true in the second.
func SyntheticSamples(in []*ir.Value, n int, seed uint64) []Sample {
	out := make([]Sample, n)
	for k := range out {
		for i, v := range in {
			d := ir.Rand(seed+uint64(k*len(in)+i)*7919+1, v.Type.DType, v.Type.Shape)
			for e, m := 0, d.Len(); e < m; e++ {
				switch {
				case v.Type.DType.IsFloat() && k >= (n+1)/2:
					f := d.Float(e) // a normal number to a uniform one
					d.SetFloat(e, 0.5*(1+math.Erf(f/math.Sqrt2)))
				case v.Type.DType.IsInt():
					d.SetInt(e, d.Int(e)&1)
				case k >= (n+1)/2: // bool
					d.SetInt(e, 1)
				}
			}
			out[k] = append(out[k], d)
		}
	}
	return out
}

// ReadSamples reads calibration inputs from files and folders, in the order
// given (folders by name). in are the graph's inputs.
//
//   - .npz: arrays called as the inputs are (or input_0, input_1, ... in graph
//     order); others are ignored.
//   - .npy: the input of a model that has one; of other models the one that the
//     file is called after.
//   - a folder of these. .npy files named after inputs belong together.
//
// An array holds one sample in the input's shape, samples along a first axis
// beyond the input's rank, or batches: its first axis is a multiple of the
// input's, the rest is equal. The number of samples must be the same for all
// inputs of one file or folder.
func ReadSamples(paths []string, in []*ir.Value, lim npz.Limits) ([]Sample, error) {
	r := &sampleReader{in: in, lim: lim}
	for _, p := range paths {
		if err := r.path(p, 0); err != nil {
			return nil, err
		}
	}
	if len(r.out) == 0 {
		return nil, sampleErr("calibration "+strings.Join(paths, ", "), "holds no samples; want .npy or .npz files")
	}
	return r.out, nil
}

type sampleReader struct {
	in    []*ir.Value
	lim   npz.Limits
	out   []Sample
	bytes int64 // of these
}

func (r *sampleReader) path(p string, depth int) error {
	st, err := os.Stat(p)
	if err != nil {
		return sampleErr("calibration "+p, "%v", err)
	}
	if !st.IsDir() {
		e, err := npz.ReadFileNamed(p, r.lim, func(name string) bool { return r.index(name) >= 0 })
		if err != nil {
			return sampleErr("calibration "+p, "%v", err)
		}
		if len(e) == 1 && e[0].Name == "" {
			e[0].Name = strings.TrimSuffix(filepath.Base(p), filepath.Ext(p))
			if len(r.in) == 1 {
				e[0].Name = r.in[0].Name
			}
		}
		return r.entries(p, e)
	}
	if depth > 2 {
		return sampleErr("calibration "+p, "folders are nested more than three deep")
	}
	list, err := os.ReadDir(p)
	if err != nil {
		return sampleErr("calibration "+p, "%v", err)
	}
	sort.Slice(list, func(a, b int) bool { return natural(list[a].Name(), list[b].Name()) })
	var together []npz.Entry // .npy files of a model with several inputs
	for _, f := range list {
		name, full := f.Name(), filepath.Join(p, f.Name())
		ext := strings.ToLower(filepath.Ext(name))
		base := strings.TrimSuffix(name, filepath.Ext(name))
		switch {
		case strings.HasPrefix(name, "."):
		case f.IsDir(), ext == ".npz":
			err = r.path(full, depth+1)
		case ext == ".npy" && len(r.in) == 1 && !strings.HasPrefix(base, "output_"):
			err = r.path(full, depth+1)
		case ext == ".npy" && r.index(base) >= 0:
			var a *npz.Array
			if a, err = npz.ReadNpyFile(full, r.lim); err != nil {
				err = sampleErr("calibration "+full, "%v", err)
			}
			together = append(together, npz.Entry{Name: base, Array: a})
		}
		if err != nil {
			return err
		}
	}
	if len(together) > 0 {
		return r.entries(p, together)
	}
	return nil
}

// natural orders names with numbers in them by the numbers.
func natural(a, b string) bool {
	digits := func(s string) int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return n
	}
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if len(x) != len(y) {
				return len(x) < len(y)
			}
			if x != y {
				return x < y
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

// index is the input called name, or input_<i> for the i-th; -1 for none.
func (r *sampleReader) index(name string) int {
	for i, v := range r.in {
		if v.Name == name {
			return i
		}
	}
	for i := range r.in {
		if name == fmt.Sprintf("input_%d", i) {
			return i
		}
	}
	return -1
}

// entries appends the samples of one set of arrays.
func (r *sampleReader) entries(where string, list []npz.Entry) error {
	arrays := make([]*npz.Array, len(r.in))
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
		if i := r.index(e.Name); e.Array != nil && i >= 0 && (arrays[i] == nil || r.in[i].Name == e.Name) {
			arrays[i] = e.Array
		}
	}
	count := -1
	per := make([][]*tensor.Dense, len(r.in))
	for i, v := range r.in {
		if arrays[i] == nil {
			return sampleErr("calibration "+where, "no array is called %q as the model's input is; found %s", v.Name,
				quoted(names))
		}
		s, err := r.split(where, v, arrays[i])
		if err != nil {
			return err
		}
		if count >= 0 && len(s) != count {
			return sampleErr("calibration "+where, "%d samples for input %s, but %d for input %s", count, r.in[0].Name,
				len(s), v.Name)
		}
		per[i], count = s, len(s)
	}
	for k := 0; k < count; k++ {
		s := make(Sample, len(r.in))
		for i := range s {
			s[i] = per[i][k]
		}
		r.out = append(r.out, s)
	}
	return nil
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	if len(names) > 8 {
		names = append(slices.Clone(names[:8]), "...")
	}
	return fmt.Sprintf("%.200q", names)
}

// split cuts an array into samples of v's shape.
func (r *sampleReader) split(where string, v *ir.Value, a *npz.Array) ([]*tensor.Dense, error) {
	want := v.Type.Shape
	elems := v.Type.Elems()
	bad := func() ([]*tensor.Dense, error) {
		return nil, sampleErr("calibration "+where, "the array for input %s has shape %v; want %v, [samples %v], or "+
			"the input's shape with more samples along the first axis", v.Name, a.Shape, want, want)
	}
	if elems == 0 || a.Len() == 0 {
		return bad()
	}
	n := 0
	switch {
	case slices.Equal(a.Shape, want):
		n = 1
	case len(a.Shape) == len(want)+1 && slices.Equal(a.Shape[1:], want):
		n = a.Shape[0]
	case len(want) > 0 && len(a.Shape) == len(want) && slices.Equal(a.Shape[1:], want[1:]):
		n = (a.Shape[0] + want[0] - 1) / want[0]
	case len(want) > 0 && want[0] == 1 && slices.Equal(a.Shape, want[1:]):
		n = 1
	default:
		return bad()
	}
	if n > maxSamples-len(r.out) {
		return nil, sampleErr("calibration "+where, "more than %d samples; a few hundred are plenty", maxSamples)
	}
	limit := r.lim.Bytes
	if limit == 0 {
		limit = npz.DefaultLimits.Bytes
	}
	if r.bytes += int64(n) * int64(elems) * int64(v.Type.DType.Size()); r.bytes > limit {
		return nil, sampleErr("calibration "+where, "the samples up to this one take %d bytes of memory, more than "+
			"%d; a few hundred samples are plenty (--limit data=N raises the limit)", r.bytes, limit)
	}
	out := make([]*tensor.Dense, n)
	for k := range out {
		part := a.Part(k*elems, elems) // a last batch that is not full begins again
		all, err := convertArray(where, v, part, k*elems)
		if err != nil {
			return nil, err
		}
		out[k] = all.Cast(v.Type.DType).Reshaped(want)
	}
	return out, nil
}

// convertArray gives the array's numbers as a tensor that the input can take; at
// is the place of its first element, for messages.
func convertArray(where string, v *ir.Value, a *npz.Array, at int) (*tensor.Dense, error) {
	isFloat := strings.HasPrefix(a.DType, "float")
	switch {
	case v.Type.DType.IsFloat() && isFloat:
		f, err := a.Float64s()
		if err != nil {
			return nil, sampleErr("calibration "+where, "%v", err)
		}
		for i, x := range f {
			if x-x != 0 {
				return nil, sampleErr("calibration "+where, "element %d of the array for input %s is %v, want "+
					"finite numbers", at+i, v.Name, x)
			}
		}
		return tensor.Of(a.Shape, f), nil
	case v.Type.DType.IsFloat():
		return nil, sampleErr("calibration "+where, "the array for input %s is of type %s, want floats in the "+
			"model's own scaling (convert it with astype(\"float32\") and normalise as for training)", v.Name, a.DType)
	case isFloat:
		return nil, sampleErr("calibration "+where, "the array for input %s is of type %s, want %s", v.Name, a.DType,
			v.Type.DType)
	}
	x, err := a.Int64s()
	if err != nil {
		return nil, sampleErr("calibration "+where, "input %s: %v", v.Name, err)
	}
	if v.Type.DType != tensor.Bool {
		lo, hi := v.Type.DType.IntRange()
		for i, e := range x {
			if e < lo || e > hi {
				return nil, sampleErr("calibration "+where, "element %d of the array for input %s is %d, beyond %s",
					at+i, v.Name, e, v.Type.DType)
			}
		}
	}
	return tensor.Of(a.Shape, x), nil
}
