package driver

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// TestStagePage: the page of --dump-ir draws every stage, says what changed,
// needs nothing from elsewhere, and names stay text.
func TestStagePage(t *testing.T) {
	c := digitsConfig("cortex-m55")
	c.DumpIR = filepath.Join(t.TempDir(), "dump")
	o, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(c.DumpIR, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	if n := strings.Count(page, "<section"); n != len(dumped(t, c.DumpIR)) {
		t.Errorf("%d columns, %d stages", n, len(dumped(t, c.DumpIR)))
	}
	for _, want := range []string{"-calibrate</h2>", `class="row mac`, "altered", " gone",
		o.Lowered.Low[o.Lowered.Graph.Nodes[0]].Kernel} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if at := regexp.MustCompile(`https?:|src=|@import|url\(`).FindString(page); at != "" {
		t.Errorf("the page needs something else: %s", at)
	}
	balanced(t, regexp.MustCompile(`(?s)<script>.*</script>|<!DOCTYPE html>|<input[^>]*>`).ReplaceAllString(page, ""))
}

// TestStagePageEscapes: names of a model are never markup.
func TestStagePageEscapes(t *testing.T) {
	const evil = `"></div><script>alert(1)</script>`
	g := ir.New(evil)
	v := g.AddInput(evil, ir.T(tensor.F32, 2))
	n, err := g.Add(op.Relu, evil+"r", nil, 1, v)
	if err != nil {
		t.Fatal(err)
	}
	g.AddOutput(evil+"o", n.Out[0])
	p := stagePages{consts: map[*tensor.Dense]uint64{}}
	o := lower.Options{Precision: option.Float32, Libraries: []string{"refc"}, StopAfter: "cleanup",
		Observe: func(s lower.Step) error { p.add(s); return nil }}
	if _, err := lower.Run(g, o); err != nil {
		t.Fatal(err)
	}
	b, err := p.html(evil)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); strings.Count(s, "<script") != 1 || !strings.Contains(s, "&lt;script&gt;alert(1)") {
		t.Errorf("a name is markup:\n%.3000s", s)
	}
}
