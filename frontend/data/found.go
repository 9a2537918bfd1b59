// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"

	"github.com/nncc/nncc/ir/postprocess"
)

// Found is what was found in the outputs of one run.
type Found struct {
	Boxes    []postprocess.Box   `json:"boxes,omitempty"`
	Classes  []postprocess.Class `json:"classes,omitempty"`
	Keywords []postprocess.Class `json:"keywords,omitempty"`
}

// Reader looks at the outputs of runs that follow each other.
type Reader struct {
	post  *Post
	heard *postprocess.Heard
}

// NewReader begins: nothing was heard.
func (p *Post) NewReader() *Reader {
	r := &Reader{post: p}
	if p.Keywords != nil {
		r.heard = p.Keywords.NewHeard()
	}
	return r
}

// Read looks at the values of all outputs of a run.
func (r *Reader) Read(outputs [][]float32) Found {
	var f Found
	if b := r.post.Boxes; b != nil {
		f.Boxes = b.Of(outputs)
	}
	if c := r.post.Classes; c != nil {
		f.Classes = c.Of(outputs[c.Output])
	}
	if r.heard != nil {
		if x := r.heard.Add(outputs[r.post.Keywords.Output]); x.Label >= 0 {
			f.Keywords = []postprocess.Class{x}
		}
	}
	return f
}

// mostSaid bounds what is said of a run.
const mostSaid = 20

// Lines say what was found, for people.
func (p *Post) Lines(f Found) []string {
	var out []string
	if p.Boxes != nil {
		out = append(out, fmt.Sprintf("%d boxes", len(f.Boxes)))
	}
	for k, x := range f.Boxes[:min(len(f.Boxes), mostSaid)] {
		out = append(out, fmt.Sprintf("  box %d: class %d, score %.4f, (%.1f, %.1f) to (%.1f, %.1f)", k, x.Label,
			x.Score, x.X0, x.Y0, x.X1, x.Y1))
	}
	for _, x := range f.Classes[:min(len(f.Classes), mostSaid)] {
		out = append(out, fmt.Sprintf("class %d, score %.4f", x.Label, x.Score))
	}
	for _, x := range f.Keywords {
		out = append(out, fmt.Sprintf("keyword %d, mean score %.4f", x.Label, x.Score))
	}
	return out
}
