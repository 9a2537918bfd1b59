// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"github.com/nncc/nncc/cmd/internal/eval"
	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/state"
)

// boxes compares the boxes in outputs with those in a folder of labels.
type boxes struct {
	*eval.Detector
	dir    string
	post   *data.Post
	truths [][]eval.Truth
	found  int // samples with a file
}

// boxes is nil where --labels names no folder, or no boxes are declared.
func (c *Config) boxes(r *state.Runner) (*boxes, error) {
	folder := c.Eval.Labels != "" && eval.Folder(c.Eval.Labels)
	post, _, err := c.resolvePost(r)
	switch {
	case err != nil:
		return nil, err
	case folder && (post == nil || post.Boxes == nil):
		return nil, badInput("--labels %s: a folder of boxes, and nothing says where the outputs have boxes; "+
			"--postprocess does (nncc help vision)", c.Eval.Labels)
	case folder:
		return &boxes{dir: c.Eval.Labels, post: post}, nil
	case post != nil && c.Told["postprocess"]:
		c.warn("eval", "no-effect", "--postprocess", "--postprocess has no effect: eval compares boxes, with "+
			"--labels DIR, a folder of them")
	}
	return nil, nil
}

// truth reads the boxes of a sample.
func (b *boxes) truth(set *data.Set, i int, name string) error {
	if b == nil {
		return nil
	}
	place, err := set.Place(i)
	if err != nil {
		return err
	}
	list, found, err := eval.ReadBoxes(b.dir, name, place, float64(b.post.Boxes.Width), float64(b.post.Boxes.Height))
	if found {
		b.found++
	}
	b.truths = append(b.truths, list)
	return err
}

// begin checks that there are labels at all.
func (b *boxes) begin() error {
	if b == nil {
		return nil
	}
	if b.found == 0 {
		return text.Errorf("--labels %s: no file belongs to a sample; want NAME.txt for NAME.png, with a class, the "+
			"middle, width and height of a box in each line", b.dir)
	}
	b.Detector = eval.NewDetector(b.truths)
	return nil
}

// look finds boxes in what the float model and the program gave; got may be nil.
func (b *boxes) look(i int, want, got []*tensor.Dense) {
	if b == nil {
		return
	}
	floats := b.post.Boxes.Of(values(want))
	if got == nil {
		b.Found(i, floats, nil)
		return
	}
	b.Found(i, floats, b.post.Boxes.Of(values(got)))
}

func values(outs []*tensor.Dense) [][]float32 {
	var list [][]float32
	for _, d := range outs {
		out := make([]float32, d.Len())
		for i := range out {
			out[i] = float32(d.Float(i))
		}
		list = append(list, out)
	}
	return list
}
