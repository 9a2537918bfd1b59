// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"github.com/nncc/nncc/cmd/internal/eval"
	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/tensor"
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
func (c *Config) boxes(post *data.Post) (*boxes, error) {
	folder := c.Eval.Labels != "" && eval.Folder(c.Eval.Labels)
	switch {
	case folder && (post == nil || post.Boxes == nil):
		return nil, badInput("--labels %s: a folder of boxes, and nothing says where the outputs have boxes; "+
			"--postprocess does (nncc help vision)", c.Eval.Labels)
	case folder:
		return &boxes{dir: c.Eval.Labels, post: post}, nil
	case post != nil && post.Boxes != nil:
		c.warn("eval", "no-effect", "boxes", "boxes of --postprocess have no effect: eval compares them with "+
			"--labels DIR, a folder of boxes")
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

// look finds boxes in what the float model and the program gave; that of the program may be nil.
func (b *boxes) look(i int, floats, programs [][]float32) {
	if b == nil {
		return
	}
	if programs == nil {
		b.Found(i, b.post.Boxes.Of(floats), nil)
		return
	}
	b.Found(i, b.post.Boxes.Of(floats), b.post.Boxes.Of(programs))
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
