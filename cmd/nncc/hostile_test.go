// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/pass"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"
)

// TestHostileMessages: however long or odd the names, shapes and equations of
// a model are, its faults are the user's (exit status 2) and fit on a screen.
func TestHostileMessages(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"names that speak of bugs", `(float[1, 4] x) => (float y) { y = Transpose <perm = [0, 0]> (x) }`, "perm"},
		{"an input that does", `(float[-2, 4] "BUG: x") => (float y) { y = Relu ("BUG: x") }`, "negative"},
		{"an operator that does", `(float[1, 4] x) => (float y) { y = "BUG:" (x) }`, "BUG:"},
		{"a long equation", `(float[1, 4] x) => (float y) { y = Einsum <equation = "` + strings.Repeat("ij->->..k",
			3000) + `"> (x) }`, "Einsum"},
		{"a long shape", `(float[1, 4] x) => (float y) <int64[3000] s = {` + strings.Repeat("2, ", 2999) +
			`2}> { y = Reshape (x, s) }`, "Reshape"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), "m.onnx")
			m, err := onnx.Parse([]byte(`<ir_version: 8, opset_import: ["" : 17]> g `+c.text), onnx.Limits{})
			must(t, err)
			for _, n := range m.Proto.Graph.Node {
				n.Name = proto.String("BUG: " + n.GetOpType())
			}
			b := testenv.Must(proto.Marshal(m.Proto))(t)
			must(t, os.WriteFile(p, b, 0o644))
			for _, verb := range []string{"compile", "check"} {
				var msg bytes.Buffer
				code := Main(context.Background(), []string{verb, "--board", "cortex-m55", "--out",
					filepath.Join(filepath.Dir(p), "out"), p}, io.Discard, &msg)
				if verb == "check" { // knows no board
					code = Main(context.Background(), []string{verb, p}, io.Discard, &msg)
				}
				if s := msg.String(); verb == "compile" && (code != exitUsage || !strings.Contains(s, c.want)) ||
					code == exitBug || len(s) > 2000 {
					t.Errorf("%s: exit status %d, %d bytes of message: %.500s", verb, code, len(s), s)
				}
			}
		})
	}
}

// TestBug: a fault of nncc's own is exit status 70 wherever it happens; the
// message names what was done and the node, and where the rest is.
func TestBug(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	n := &ir.Node{Name: "conv1", Origin: []string{"Conv_7"}}
	for want, f := range map[string]func(){
		"pass kernel choice, node conv1 (from onnx Conv_7)": func() {
			defer pass.Named("import", n)
			defer pass.Named("lowering", n) // outer names do not replace inner ones
			defer pass.Named("kernel choice", n)
			var none []int
			_ = none[len(n.Name)]
		},
		"pass outside of passes, behind: reading m.onnx": func() { panic("no") },
	} {
		verbs["panics"] = &verb{flags: tableFlags, run: func(c *cli, args []string) {
			c.cfg.Stage = "reading m.onnx"
			f()
		}}
		code, out, msg := call("panics")
		delete(verbs, "panics")
		if code != exitBug || out != "" || !strings.Contains(msg, want) || !strings.Contains(msg, "nncc: BUG: ") ||
			!strings.Contains(msg, "nncc-bug-") || strings.Contains(msg, "goroutine") {
			t.Errorf("exit status %d, want %q: %s", code, want, msg)
		}
	}
}

// TestVerbose: -v says of every diagnostic which stage it comes from and its
// code, and nothing more; report.json has the same.
func TestVerbose(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		m := testenv.Must(onnx.Parse([]byte(`<ir_version: 8, opset_import: ["" : 17]> g `+text), onnx.Limits{}))(t)
		b := testenv.Must(proto.Marshal(m.Proto))(t)
		p := filepath.Join(dir, name)
		must(t, os.WriteFile(p, b, 0o644))
		return p
	}
	good := write("good.onnx", `(float[N, 4] x) => (float[N, 4] y) { y = Relu (x) }`)
	args := []string{"--board", "cortex-m4", "--out", filepath.Join(dir, "out"), good}
	code, _, quiet := call(args...)
	code2, out, said := call(append([]string{"-v", "--json"}, args...)...)
	testenv.Require(t, code == exitOK && code2 == exitOK && !strings.Contains(quiet, "batch-pinned"),
		"exit status %d, %d: %s", code, code2, quiet)
	var r struct {
		Warnings, Notes []string
		Diagnostics     []struct{ Severity, Code, Stage, Message string }
	}
	must(t, json.Unmarshal([]byte(out), &r))
	testenv.Check(t, len(r.Diagnostics) == len(r.Warnings)+len(r.Notes) && len(r.Warnings) != 0 && len(r.Notes) != 0,
		"diagnostics %v, warnings %q, notes %q", r.Diagnostics, r.Warnings, r.Notes)
	for _, d := range r.Diagnostics {
		line := fmt.Sprintf("nncc: %s: %s", d.Severity, d.Message)
		origin := fmt.Sprintf(" [%s, %s]\n", d.Stage, d.Code)
		if d.Stage == "" || d.Code == "" || !strings.Contains(quiet, line+"\n") ||
			!strings.Contains(said, line+origin) {
			t.Errorf("%+v: quiet %q, with -v %q", d, quiet, said)
		}
	}
	bad := write("bad.onnx", `(float[1, 4] x) => (float y) { y = Transpose <perm = [0, 0]> (x) }`)
	if code, _, msg := call("-v", "--board", "cortex-m4", "--out", filepath.Join(dir, "out"), bad); code != exitUsage ||
		!strings.Contains(msg, "[import, ") {
		t.Errorf("exit status %d: %s", code, msg)
	}
}

// TestFlagSoup: flags in any combination with values good and bad are a result
// or a refusal with a reason, never a fault of nncc; what is refused writes
// nothing. NNCC_RANDOM is the number of command lines.
func TestFlagSoup(t *testing.T) {
	count := testenv.Count(t, 120)
	dir := t.TempDir()
	t.Chdir(dir)
	m := tinyModel(t, dir)
	writeNpy(t, "x.npy")
	must(t, os.WriteFile("s.yaml", []byte("steps:\n- simplify:\n"), 0o666))
	must(t, os.WriteFile("l.yaml", []byte("'*': int8\n"), 0o666))
	must(t, os.Mkdir("g", 0o777))
	odd := []string{"0", "1", "-1", "2", "65536", "1K", "1e300", "nan", "x", "y", "x=1", "y=x", "=", ",", ":", "x=",
		"=x", "*", "x.npy", "x=x.npy", "s.yaml", "l.yaml", "g", ".", "..", "/", "int4", "int16x8", "float32", "on",
		"off", "auto", "native", "original", "always", "size", "make,arduino", "n=8", "n=8,sign=1,delta=auto-pow2",
		"n=64", "n=0,sign=9,delta=-1", "delta=1e-300", "cortex-m4", "cortex-m0", "mla-m55", "host", "align",
		"bn-fold,align", "x=0:1", "1:1", "-1:0", "9", "0:-5", "nodes=1", "work=1", "fold-work=1G", "percentile",
		"entropy", "adaptive", "reference", "cmsis-nn", "\x1b[2J", "%s%n", strings.Repeat("9", 400)}
	names := slices.DeleteFunc(strings.Fields(every), func(v string) bool { return v == "verify" || v == "profile" })
	codes := map[int]int{}
	for i := range count {
		r := rand.New(rand.NewPCG(uint64(i), 77))
		verb := names[r.IntN(len(names))]
		fs := verbFlags(&cli{}, verb)
		var flags []*pflag.Flag
		fs.VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
		args := []string{verb}
		if flagRules["board"].applies(verb) && r.IntN(4) > 0 {
			args = append(args, "--board", []string{"cortex-m4", "cortex-m55", "host", "mla-m55"}[r.IntN(4)])
		}
		for range r.IntN(4) {
			f := flags[r.IntN(len(flags))]
			if f.Name == "out" || f.Name == "dump-ir" || f.Name == "max-flash" { // compilers are run for the last
				continue
			}
			v := odd[r.IntN(len(odd))]
			if s := sampleValues[f.Name]; s != "" && r.IntN(2) == 0 {
				v = s
			}
			switch {
			case f.NoOptDefVal == "":
				args = append(args, "--"+f.Name, v)
			case r.IntN(4) == 0:
				args = append(args, "--"+f.Name+"="+v)
			default:
				args = append(args, "--"+f.Name)
			}
		}
		wants := verbs[verb].args
		if wants != "" && r.IntN(12) > 0 {
			args = append(args, m)
		}
		out := filepath.Join(dir, "out"+strconv.Itoa(i))
		if flagRules["out"].applies(verb) {
			args = append(args, "--out", out)
		}
		code, text, msg := call(args...)
		codes[code]++
		testenv.Check(t, code == exitOK || code == exitUsage || code == exitGate || code == exitDiffer,
			"%q: exit status %d: %.2000s", args, code, msg)
		testenv.Check(t, code == exitOK || strings.TrimSpace(msg+text) != "", "%q: exit status %d without a word",
			args, code)
		if code == exitUsage {
			_, err := os.Lstat(out)
			testenv.Check(t, err != nil, "%q: refused, and something is written: %s", args, msg)
		}
		if f := fs.Lookup("json"); code == exitOK && f != nil && slices.Contains(args, "--json") &&
			!strings.Contains(strings.Join(args, " "), "--json=") && !slices.Contains(args, "--help") {
			var v any
			err := json.Unmarshal([]byte(text), &v)
			testenv.Check(t, err == nil, "%q: %v", args, err)
		}
		shown(t, strings.Join(args, " "), msg)
		os.RemoveAll(out)
	}
	t.Logf("exit statuses: %v", codes)
}
