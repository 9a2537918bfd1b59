// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/cmd/internal/eval"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower/state"
)

// inOrder are the classes of the model in its order, where labels have no order of their own and name no others.
func (c *Config) inOrder(used []string, sorted bool) []string {
	names := c.source.ClassNames()
	if !sorted || slices.ContainsFunc(used, func(s string) bool { return !slices.Contains(names, s) }) {
		return nil
	}
	c.Diags.Add(diag.Notef("class-order", "", "classes are numbered as the model names them: %s",
		text.Short(strings.Join(names, ","), 200)))
	return names
}

// labelled reads the labels and finds the scores that they speak of.
func (e *evaluation) labelled(r *state.Runner) (err error) {
	defer fail.Catch(&err)
	var outs []eval.Output
	for _, i := range r.Outputs() {
		outs = append(outs, eval.Output{Name: r.Graph.OutNames[i], Shape: r.Graph.Out[i].Type.Shape})
	}
	l := input(e.readLabels(r))
	for _, name := range []string{"scores", "top-k"} {
		if l == nil && e.c.Told[name] {
			e.c.warn("eval", "no-effect", "--"+name, "--%s has no effect: there are no labels", name)
		}
	}
	each := 0
	if l != nil {
		l = input(l.For(e.names))
		each = l.Len() / len(e.samples)
		if l.Sorted {
			e.sorted = true
			e.c.warn("eval", "class-order", l.Source, "%s: the model does not name its classes, and they are "+
				"numbered in the order of their names: %s; where training had another order, --classes A,B,... "+
				"gives it", l.Source, text.Short(strings.Join(l.Classes, ", "), 200))
		}
	}
	s, task, err := e.scores(outs, l, each)
	fail.Check(asInput(err))
	e.begin(l, each)
	e.meter = eval.NewMeter(outs, l, s, task, each, e.c.Eval.TopK)
	return nil
}

// readLabels reads --labels, or an array of labels in the file of the data; nil: there
// are none.
func (e *evaluation) readLabels(r *state.Runner) (l *eval.Labels, err error) {
	c := e.c
	var classes []string
	if c.Eval.Classes != "" {
		if classes, err = eval.ReadClasses(c.Eval.Classes); err != nil {
			return nil, err
		}
	}
	switch {
	case e.boxes != nil: // these are the labels
	case e.folders != nil:
		l = e.folders
	case c.Eval.Labels != "":
		l, err = c.labelsFile(classes)
	case strings.EqualFold(filepath.Ext(c.Eval.Data), ".npz"):
		var es []npz.Entry
		es, err = npz.ReadFileNamed(c.Eval.Data, c.dataLimits(), func(name string) bool {
			return eval.IsLabelName(name) &&
				!slices.ContainsFunc(r.Inputs(), func(v *ir.Value) bool { return v.Name == name })
		})
		if a := eval.LabelArray(es); a != nil {
			l, err = eval.FromArray(c.Eval.Data, a)
		}
	}
	switch {
	case l != nil && l.Class != nil && l.Classes == nil:
		l.Classes = classes
	case classes != nil && (l == nil || l.Class == nil):
		c.warn("eval", "no-effect", "--classes", "--classes has no effect: there are no labels of classes")
	}
	return l, err
}

// labelsFile reads --labels.
func (c *Config) labelsFile(classes []string) (l *eval.Labels, err error) {
	if l, err = eval.ReadLabels(c.Eval.Labels, classes, c.dataLimits()); err != nil {
		return nil, err
	}
	if names := c.inOrder(l.Classes, l.Sorted); names != nil {
		return eval.ReadLabels(c.Eval.Labels, names, c.dataLimits())
	}
	return l, nil
}
