// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"html/template"

	"github.com/nncc/nncc/ir/bug"
)

// packed is what a page of hundreds of layers has only for its script: as JSON, deflated, in base64. Nodes is made
// by the template of nodes, which escapes it.
type packed struct {
	Values  []figureRow `json:"values"`
	Weights []figureRow `json:"weights"`
	Nodes   string      `json:"nodes"`
	Buffers []string    `json:"buffers"` // what the rectangles of the arena are
}

// alwaysTitled is how many buffers say what they are without the script, too.
const alwaysTitled = 64

// pack takes from the page what a reader without scripts can do without: figures but the first, nodes that the
// drawing and the table of layers show and that no kernel refused, what many small rectangles are.
func (p *page) pack() {
	b := packed{Values: p.MoreValues, Weights: p.MoreWeights}
	if len(p.Arena.Boxes) > alwaysTitled {
		for i := range p.Arena.Boxes {
			x := &p.Arena.Boxes[i]
			b.Buffers, x.Title = append(b.Buffers, x.Title), ""
		}
	}
	if p.Drawing != nil {
		var nodes bytes.Buffer
		for _, n := range p.Nodes {
			if n.Packed = len(n.Reasons) == 0; !n.Packed {
				continue
			}
			if err := pageTemplates().ExecuteTemplate(&nodes, "node", n); err != nil {
				panic(bug.Errorf("node: %w", err))
			}
		}
		b.Nodes = nodes.String()
	}
	if len(b.Values)+len(b.Weights)+len(b.Nodes)+len(b.Buffers) == 0 {
		return
	}
	plain, err := json.Marshal(b)
	if err != nil {
		panic(bug.Errorf("page: %w", err))
	}
	p.Packed = template.HTML(base64.StdEncoding.EncodeToString(deflated(plain)))
}

// deflated is the raw form of DEFLATE.
func deflated(plain []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(bug.Errorf("page: %w", err))
	}
	return b.Bytes()
}
