// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

const root = "../../.."

// sample is every how manyth test is built and run in a plain go test.
var sample = map[string]int{"host": 23, "cortex-m55": 41, "cortex-m0plus": 89}

// TestConformance runs ONNX's own tests against the ratchet: all of them
// through interpreter and compiler, a sample built and run on the host, a
// Cortex-M55 and a Cortex-M0+. With NNCC_LONG=1, every one on every
// target (make conformance); NNCC_BOARDS limits those,
// NNCC_CONFORMANCE_ONLY takes the tests whose name matches a regular expression.
func TestConformance(t *testing.T) {
	set := Find()
	if set == "" {
		testenv.Lacks(t, "onnx-tests", "no ONNX backend tests: neither ../shared/onnx-backend-*.tar.gz nor Debian's "+
			"libonnx-testdata")
	}
	tests := testenv.Must(Read(set))(t)
	if only := testenv.Get("NNCC_CONFORMANCE_ONLY"); only != "" {
		tests = slices.DeleteFunc(tests, func(x *Test) bool { return !regexp.MustCompile(only).MatchString(x.ID()) })
	}
	p := Plan{Targets: Targets, Note: func(s string) { t.Log(s) }}
	if !testenv.Long() {
		p.Pick = func(i int, board string) bool { return i%sample[board] == 0 }
	}
	p.Targets = testenv.Boards(p.Targets...)
	require(t, &p)
	outcomes := testenv.Must(Run(context.Background(), tests, p))(t)
	path := filepath.Join("testdata", SetName(set)+".ratchet")
	r := testenv.Must(ReadRatchet(path))(t)
	wrong, loose := r.Check(outcomes)
	for _, s := range wrong {
		t.Error(s)
	}
	if !irtest.Updating() {
		for _, s := range loose {
			t.Errorf("%s (run make conformance UPDATE=1)", s)
		}
	} else if err := os.WriteFile(path, r.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		for _, target := range p.Targets {
			if why := o.Failed[target]; why != "" && o.Outside == "" {
				t.Logf("%s: %s: %s", o.ID, target, why)
				break
			}
		}
	}
	for _, target := range p.Targets {
		tried, passed := 0, 0
		for _, o := range outcomes {
			if o.Outside == "" && slices.Contains(o.Tried, target) {
				tried++
				if o.Passed(target) {
					passed++
				}
			}
		}
		t.Logf("%s: %d of %d pass", target, passed, tried)
	}
}

// require leaves out targets whose tools are missing, unless NNCC_REQUIRE
// lists them.
func require(t *testing.T, p *Plan) {
	for target, tool := range map[string][2]string{"host": {"gcc", "cc"}, "cortex-m55": {"arm-none-eabi-gcc",
		"arm-gcc"}, "cortex-m0plus": {"arm-none-eabi-gcc", "arm-gcc"}} {
		_, err := exec.LookPath(tool[0])
		if _, noQEMU := exec.LookPath("qemu-system-arm"); target != "host" && noQEMU != nil {
			err = noQEMU
		}
		if err == nil {
			continue
		}
		testenv.Require(t, !testenv.Required(tool[1]), "%v, but NNCC_REQUIRE lists %s", err, tool[1])
		t.Logf("%s is left out: %v", target, err)
		p.Targets = slices.DeleteFunc(slices.Clone(p.Targets), func(s string) bool { return s == target })
	}
}

// TestSupport holds frontend/SUPPORT.md to the ratchets.
func TestSupport(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.ratchet"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no ratchets", err)
	}
	sets := map[string]Ratchet{}
	for _, p := range paths {
		r := testenv.Must(ReadRatchet(p))(t)
		b := testenv.Must(os.ReadFile(p))(t)
		testenv.Check(t, bytes.Equal(b, r.Bytes()), "%s is not as it would be written", p)
		sets[strings.TrimSuffix(filepath.Base(p), ".ratchet")] = r
	}
	path := filepath.Join(root, "frontend", "SUPPORT.md")
	rows := testenv.Must(os.ReadFile(filepath.Join("testdata", "tflite.rows")))(t)
	want := append(Support(sets), tfliteSection(rows)...)
	if irtest.Updating() {
		testenv.OK(t, os.WriteFile(path, want, 0o666))
	}
	if have, _ := os.ReadFile(path); !bytes.Equal(have, want) {
		t.Errorf("%s does not agree with the ratchets: run make conformance UPDATE=1", path)
	}
}

// TestRatchet is the rule: what passes may not fail, what is listed as
// unsupported may not pass.
func TestRatchet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ratchet")
	text := `# What every test has reached; see ratchet.go. Written by: make conformance UPDATE=1
node/a pass
node/b unsupported: no such operator
node/c pass, with k and n known at compile time, but not host: crashed; not cortex-m55: too large: by 3
node/d outside: "x" is a Sequence
`
	testenv.OK(t, os.WriteFile(path, []byte(text), 0o666))
	r, err := ReadRatchet(path)
	testenv.OK(t, err)
	got := string(r.Bytes())
	testenv.Require(t, got == text, "read and written:\n%s", got)
	ran := func(id string, failed ...string) *Outcome {
		o := &Outcome{ID: id, Tried: []string{Interpreter, "host"}, Failed: map[string]string{}}
		for _, f := range failed {
			o.Failed[f] = "broken"
		}
		return o
	}
	gone, found := ran("node/a"), ran("node/d")
	gone.Outside = "x"
	wrong, loose := r.Check([]*Outcome{gone, found})
	if len(wrong) != 1 || !strings.Contains(wrong[0], "node/a is no longer in scope: x") || len(loose) != 1 ||
		!strings.Contains(loose[0], "node/d is in scope") {
		t.Errorf("wrong: %q, loose: %q", wrong, loose)
	}
	testenv.Equal(t, r["node/d"].String(), "pass, but not cortex-m55: not tried; not cortex-m0plus: not tried",
		"found again")
	if r, err = ReadRatchet(path); err != nil {
		t.Fatal(err)
	}
	c := ran("node/c")
	c.Bound = []string{"k", "n"}
	wrong, loose = r.Check([]*Outcome{ran("node/a", "host"), ran("node/b"), c})
	testenv.Check(t, len(wrong) == 1 && strings.Contains(wrong[0], "node/a fails on host: broken"), "wrong: %q",
		wrong)
	if len(loose) != 3 { // b on two targets, c on the host
		t.Errorf("loose: %q", loose)
	}
	testenv.Equal(t, r["node/c"].String(),
		"pass, with k and n known at compile time, but not cortex-m55: too large: by 3", "tightened")
}

// TestVectors takes the stored vectors of the importer's tests (operators of
// ai.onnx.ml, old versions of operators) through emitted C on the host: what
// the interpreter makes of them. All of them with NNCC_LONG=1, else
// every fourth.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "frontend/onnx/testdata/vectors/*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no vectors", err)
	}
	p := Plan{Targets: []string{"host"}}
	if require(t, &p); len(p.Targets) == 0 {
		t.Skip("no compiler")
	}
	var cases []*Case
	for _, file := range files {
		for i, v := range ort.ReadVectors(t, file) {
			if i%4 != 0 && !testenv.Long() {
				continue
			}
			m := testenv.Must(onnx.Parse(v.Source(), onnx.Limits{}))(t)
			c := &Case{Test: &Test{Folder: filepath.Base(file), Name: v.Name}, Model: m}
			if c.Graph, err = onnx.OpenModel(m, onnx.ImportOptions{}); err != nil {
				t.Fatalf("%s: %v", c.ID(), err)
			}
			c.Args = irtest.Inputs(c.Graph, 5)
			c.Want = irtest.Run(t, c.Graph, c.Args)
			cases = append(cases, c)
		}
	}
	compare(t, cases)
}

// compare builds and runs cases on the host.
func compare(t *testing.T, cases []*Case) {
	t.Helper()
	spec, err := boards.Load("host")
	testenv.OK(t, err)
	var built []*Built
	for i, c := range cases {
		prefix := fmt.Sprintf("v%04d", i)
		o, err := c.Compile(spec, prefix)
		if err != nil {
			t.Errorf("%s: %v", c.ID(), err)
			continue
		}
		built = append(built, &Built{c, prefix, o})
	}
	err = runBatches(context.Background(), spec, Batches(built), nil, func(b *Built, err error) {
		if err != nil {
			t.Errorf("%s: %v", b.Case.ID(), err)
		}
	})
	testenv.OK(t, err)
}
