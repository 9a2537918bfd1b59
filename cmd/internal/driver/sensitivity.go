package driver

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/quant"
)

// Sensitivity ranks the layers of a float model by what their quantisation costs.
type Sensitivity struct {
	Samples int               `json:"samples"`
	Layers  []quant.LayerCost `json:"layers"`
	// All is the signal-to-noise ratio with every layer quantised, in dB.
	All float64 `json:"all_sqnr_db"`
}

// RankLayers quantises one layer of the model at a time (--sensitivity).
func (c *Config) RankLayers() (*Sensitivity, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.unquantised() && c.LayersConfig == "" {
		return nil, usage("--sensitivity ranks quantised layers; it does not go with --precision %s", c.Precision)
	}
	_, g, err := c.load(nil)
	if err != nil {
		return nil, err
	}
	if lower.Quantised(g) {
		return nil, c.precisionIsFixed()
	}
	ties, err := c.ties(g)
	if err != nil {
		return nil, err
	}
	q, err := c.quantOptions(g, ties)
	if err != nil {
		return nil, err
	}
	if _, err = c.single(g, &q); err != nil {
		return nil, err
	}
	if _, err := lower.Legalise(g, c.Legalize); err != nil {
		return nil, err
	}
	s := &Sensitivity{Samples: len(q.Samples)}
	if s.Layers,
		err = quant.Sensitivity(g, q, func(done, all int) { c.note("layer %d of %d", done+1, all) }); err != nil {
		return nil, err
	}
	_, r, err := quant.Calibrate(g, q)
	if err != nil {
		return nil, err
	}
	s.All = r.SQNR
	if err := c.layersDone(); err != nil {
		return nil, err
	}
	return s, c.strictly()
}

// Text is the table.
func (s *Sensitivity) Text() string {
	s = text.Lines(s)
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SNR dB\tlayer\top\tprecision")
	for _, l := range s.Layers {
		fmt.Fprintf(w, "%.1f\t%s\t%s\t%s\n", l.SQNR, l.Name, l.Op, l.Precision)
	}
	fmt.Fprintf(w, "%.1f\tall of them\t\t\n", s.All)
	w.Flush()
	return b.String()
}

// single brings a model of another float type to float32, with its calibration
// data; nil where it has none.
func (c *Config) single(g *ir.Graph, q *quant.Options) (*lower.Single, error) {
	s, err := lower.ToSingle(g)
	if err != nil || s == nil {
		return nil, err
	}
	q.Samples = s.Samples(q.Samples)
	c.Diags.Add(s.Notes.From("single")...)
	return s, nil
}
