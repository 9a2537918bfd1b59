// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/stagepage"
)

// dump is the folder of --dump-ir: the graph after every stage, as text, as
// ONNX, and drawn on one page. It appears when lowering ends, also when that fails: then it holds the
// stages that were reached. A nil dump takes everything and writes nothing.
type dump struct {
	*files.Folder
	warn  func(stage, code, node, format string, args ...any)
	title string
	pages *stagepage.Page
	// noONNX are the stages whose graph ONNX cannot hold, reason is why the first of them cannot.
	noONNX []string
	reason error
}

func (c *Config) openDump() (*dump, error) {
	if c.DumpIR == "" {
		return nil, nil
	}
	f, err := newFolder(c.DumpIR, dumpManifest)
	if err != nil {
		return nil, err
	}
	return &dump{Folder: f, warn: c.warn, title: modelName(c.Model),
		pages: stagepage.New()}, nil
}

// dumping runs f with a dump that is put in its place behind f, also when that
// fails.
func (c *Config) dumping(f func(d *dump) error) (err error) {
	d, err := c.openDump()
	if err != nil {
		return err
	}
	defer d.closeBehind(&err)
	return f(d)
}

// closeBehind closes the dump behind what may have failed, which is then the error.
func (d *dump) closeBehind(err *error) {
	if e := d.close(); *err == nil {
		*err = e
	}
}

// dumped puts the dump of a model in its place, with the program as it was planned: its arena
// can be in parts, and its constants have copies.
func (o *Compiled) dumped() error {
	d := o.dump
	if d == nil {
		return nil
	}
	o.dump = nil
	err := d.program(o.Lowered.Program)
	d.closeBehind(&err)
	return err
}

// stage writes the graph after a stage, and the one that rebuilds the model's
// outputs while it stands apart.
func (d *dump) stage(s lower.Step) error {
	if d == nil {
		return nil
	}
	if err := d.graph(s.Name(), s.State.Graph); err != nil {
		return err
	}
	d.pages.Add(s)
	if r := s.State.Reconstruction(); r != nil {
		return d.graph(s.Name()+".outputs", r)
	}
	return nil
}

func (d *dump) graph(name string, g *ir.Graph) error {
	if err := d.Add(files.File{Path: name + ".ir", Data: []byte(g.String())}); err != nil {
		return err
	}
	b, err := exportBytes(g, true)
	if err != nil {
		if d.reason == nil {
			d.reason = err
		}
		d.noONNX = append(d.noONNX, name)
		return nil
	}
	return d.Add(files.File{Path: name + ".onnx", Data: b})
}

func (d *dump) program(p fmt.Stringer) error {
	return d.Add(files.File{Path: "program.txt", Data: []byte(p.String())})
}

// warnNoONNX says once which stages have no .onnx, with the first reason: a graph of bfloat16 layers has one for
// every layer and stage.
func (d *dump) warnNoONNX() {
	if d == nil || d.reason == nil {
		return
	}
	first, more := d.reason, ""
	if all, ok := d.reason.(interface{ Unwrap() []error }); ok {
		if e := all.Unwrap(); len(e) > 1 {
			first, more = e[0], fmt.Sprintf(" (and %d more such)", len(e)-1)
		}
	}
	d.warn("dump", "no-onnx", d.noONNX[0], "--dump-ir: the .ir files alone hold %s: %v%s",
		strings.Join(d.noONNX, ", "), first, more)
	d.reason = nil
}

// close puts the folder in its place.
func (d *dump) close() (err error) {
	defer fail.Catch(&err)
	if d == nil {
		return nil
	}
	defer d.Discard()
	d.warnNoONNX()
	page := fail.Must(d.pages.HTML(d.title))
	fail.Check(d.Add(files.File{Path: "index.html", Data: page}))
	m := struct {
		Generator string   `json:"generator"`
		Version   string   `json:"version"`
		Files     []string `json:"files"`
	}{"nncc", Version, append(d.Files(), dumpManifest)}
	fail.Check(d.Add(files.File{Path: dumpManifest, Data: report.JSON(m)}))
	return commit(d.Folder)
}
