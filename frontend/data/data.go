// SPDX-License-Identifier: Apache-2.0

// Package data reads samples as people have them, for calibration, evaluation and
// runs: NumPy arrays, folders of pictures and recordings, tables, with labels.
//
// Files are untrusted input: sizes are looked at before memory is taken, and what
// cannot be read is refused with its name. Pictures and recordings are read when they are asked
// for, so that memory does not grow with their number.
package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// maxSamples bounds how many samples a set has.
const maxSamples = 1 << 16

// mostRead is how many samples of a folder of pictures All reads.
const mostRead = 256

// Options of Open.
type Options struct {
	What   string // what the paths are, for messages: calibration by default
	Spec   *Spec  // nil: nothing is declared
	Limits npz.Limits
	// Labelled asks for labels: by a file of them (Labels), a file among the data, or the
	// folders that the samples lie in.
	Labelled bool
	Labels   string
	Classes  []string // names of the classes in their order; nil: as the data have them
	Split    bool     // Inputs takes arrays apart that hold several samples
	Every    bool     // All reads every sample, however many pictures there are
}

// Sample is one inference.
type Sample struct {
	Name   string          // of the file, with its folder; of one of many in a file, and its number
	Inputs []*tensor.Dense // in the order of the inputs, of their types and shapes
	Label  int             // index of its class; -1: not known
}

// Set is an ordered list of samples.
type Set struct {
	Classes []string // names by label; nil: there are no labels
	// Sorted says that the classes are numbered in the order of their names, since nothing
	// says otherwise.
	Sorted bool
	// Diags say what was assumed.
	Diags diag.List

	in    []*ir.Value
	items []item
	opt   Options
	bytes int64 // of samples that are held
	lazy  bool
	// said are assumptions by input, said once.
	said    map[string]bool
	missing map[*ir.Value]bool // inputs of which NaN stands for nothing
}

// item is a sample that may have to be read first.
type item struct {
	name  string
	path  string
	class string // "": none
	label int
	read  func() ([]*tensor.Dense, error)
	// picture is how one becomes the input; nil: it is none.
	picture *Picture
}

// Open finds the samples of files and folders, in the order given, folders by
// names, numbers in names by value. in are the inputs that a sample has.
//
//   - .npz: arrays called as the inputs are (or input_0, input_1, ... in graph
//     order), and "labels"; others are ignored.
//   - .npy: the input of a model that has one; of other models the one that the
//     file is called after.
//   - .png, .jpg, .jpeg, .wav: the input of a model that has one.
//   - .csv: the same; a row a sample, or a file.
//   - a folder of these, of one kind. .npy files named after inputs belong together.
//     Where every file lies in a subfolder, these are the classes, labels.txt and
//     labels.csv say what else is known of them (labels.go).
//
// An array holds one sample in the input's shape, samples along a first axis
// beyond the input's rank, or batches: its first axis is a multiple of the
// input's, the rest is equal. The number of samples must be the same for all
// inputs of one file or folder.
func Open(paths []string, in []*ir.Value, o Options) (_ *Set, err error) {
	defer fail.Catch(&err)
	if o.What == "" {
		o.What = "calibration"
	}
	fail.Check(o.Spec.Check(ir.Names(in)))
	s := &Set{opt: o, said: map[string]bool{}, missing: map[*ir.Value]bool{}}
	for _, v := range in { // integers of a quantised model stand for reals
		w := &ir.Value{Name: v.Name, Type: op.Meant(v)}
		s.in, s.missing[w] = append(s.in, w), op.AsksForNaN(v)
	}
	if len(in) == 0 && len(paths) > 0 {
		return nil, s.err(strings.Join(paths, ", "), "is for no input: the model has none, or all are bound to "+
			"constants (--set)")
	}
	for _, p := range paths {
		s.path(p)
	}
	if len(s.items) == 0 {
		return nil, s.err(strings.Join(paths, ", "), "holds no samples; want .npy, .npz, .png, .jpg, .wav or .csv "+
			"files")
	}
	if o.Labelled {
		s.label(paths)
	}
	return s, nil
}

// err is an error about a file or folder.
func (s *Set) err(where, format string, args ...any) error {
	return &ir.Diag{Code: "calibration-data", Node: s.opt.What + " " + where,
		Msg: text.Errorf(format, args...).Error()}
}

// refuse ends the function with such an error.
func (s *Set) refuse(is bool, where, format string, args ...any) {
	if is {
		fail.Check(s.err(where, format, args...))
	}
}

// Len is the number of samples.
func (s *Set) Len() int { return len(s.items) }

// Label is the class of a sample; -1: not known.
func (s *Set) Label(i int) int { return s.items[i].label }

// Name is that of a sample, see Sample.
func (s *Set) Name(i int) string { return s.items[i].name }

// Sample reads sample i.
func (s *Set) Sample(i int) (_ Sample, err error) {
	defer fail.Catch(&err)
	it := &s.items[i]
	in := fail.Must(it.read())
	return Sample{it.name, in, it.label}, nil
}

// All reads the samples. Of a long list of pictures it takes 256, spread evenly, and
// says so in Diags; the memory of all is bounded by the limits.
func (s *Set) All() (_ [][]*tensor.Dense, err error) {
	defer fail.Catch(&err)
	n := s.Len()
	take := n
	if s.lazy && n > mostRead && !s.opt.Every {
		take = mostRead
		s.Diags.Add(diag.Notef("samples-spread", "", "%d of the %d samples are taken, spread evenly", take, n))
	}
	var out [][]*tensor.Dense
	bytes := int64(0)
	for k := range take {
		i := (2*k + 1) * n / (2 * take)
		x := fail.Must(s.items[i].read())
		bytes += lists.Sum(x, func(d *tensor.Dense) int64 { return int64(d.Len()) * int64(d.DType.Size()) })
		if bytes > s.limit() {
			s.tooMuch(s.items[i].name, bytes)
		}
		out = append(out, x)
	}
	return out, nil
}

// limit is how many bytes samples may take in memory.
func (s *Set) limit() int64 {
	if s.opt.Limits.Bytes != 0 {
		return s.opt.Limits.Bytes
	}
	return npz.DefaultLimits.Bytes
}

func (s *Set) tooMuch(where string, bytes int64) {
	s.refuse(true, where, "the samples up to this one take %d bytes of memory, more than %d; a few hundred samples "+
		"are plenty (--limit data=N raises the limit)", bytes, s.limit())
}

// add appends a sample.
func (s *Set) add(it item) {
	s.refuse(len(s.items) >= maxSamples, it.name, "more than %d samples; a few hundred are plenty", maxSamples)
	it.label = -1
	s.items = append(s.items, it)
}

// path adds the samples of a file or folder.
func (s *Set) path(p string) {
	st, err := os.Stat(p)
	s.refuse(err != nil, p, "%w", err)
	if !st.IsDir() {
		k := extensions[strings.ToLower(filepath.Ext(p))]
		switch {
		case convertTo(p) != "":
			s.notRead(p)
		case k == arrays || k == unknown:
			s.arrayFile(p, "")
		default:
			s.files(&listing{kind: k, files: []file{{path: p, rel: p}}})
		}
		return
	}
	s.files(s.survey(p))
}

// files adds what a folder holds.
func (s *Set) files(l *listing) {
	switch l.kind {
	case pictures:
		s.pictures(l.files)
	case recordings:
		s.recordings(l.files)
	case tables:
		s.tables(l.files)
	default:
		s.arrays(l)
	}
}

// each adds files with a sample each, read when they are asked for.
func (s *Set) each(list []file, read func(path string) (*tensor.Dense, error)) {
	s.lazy = true
	for _, f := range list {
		it := item{name: f.rel, path: f.path, class: f.class, read: func() ([]*tensor.Dense, error) {
			d, err := read(f.path)
			if err != nil {
				return nil, s.err(f.path, "%w", err)
			}
			return []*tensor.Dense{d}, nil
		}}
		s.add(it)
	}
}

// only is the input of a model that has one.
func (s *Set) only(where, what string) *ir.Value {
	if len(s.in) != 1 {
		s.refuse(true, where, "%s is one input, and the model has %d (%s): want .npz files with an array for each",
			what, len(s.in), strings.Join(ir.Names(s.in), ", "))
	}
	return s.in[0]
}

// assume warns once for an input that nothing was declared.
func (s *Set) assume(input, topic, format string, args ...any) {
	if s.said[input] {
		return
	}
	s.said[input] = true
	s.Diags.Add(
		diag.Warnf("preprocess-assumed", "--preprocess", "input %s: nothing is declared, so %s; --preprocess "+
			"says otherwise (nncc help %s)", input, fmt.Sprintf(format, args...), topic),
	)
}

// toType gives reals in the type of an input.
func toType(d *tensor.Dense, v *ir.Value) *tensor.Dense {
	switch t := v.Type; {
	case t.Quant != nil:
		return ir.QuantiseEven(d, t)
	case t.DType.IsFloat():
		return d.Cast(t.DType)
	default:
		return ir.QuantiseEven(d, t.WithQuant(t.DType, unit))
	}
}

// shapeText is a shape as people write it: 1x3x32x32.
func shapeText(shape []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(slices.Concat([]int{}, shape)), "[]"), " ", "x")
}
