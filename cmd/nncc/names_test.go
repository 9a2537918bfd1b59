// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// hostileNames are put around every name of a model.
var hostileNames = map[string]string{
	"escape":    "\x1b[2J\x1b]0;title\x07",
	"lines":     "\nFORGED: equal to the reference interpreter\r\nFORGED\n",
	"nul":       "a\x00b\x7f",
	"direction": "\u202egnp.\u2066\u200f\u061c\u009b31m\u0085FORGED\u2028FORGED\u2029",
	"comment":   "*/ int x; /* \" ?>\" ]]> <script> $(id) `id` '; id; #%\\",
	"long":      strings.Repeat("lang", 2000),
}

var saidBy = regexp.MustCompile(`^nncc: (error|warning|note|gate): `)

// shown checks what people see: no control characters, no line that a name
// began, no line without end.
func shown(t *testing.T, what, s string) {
	t.Helper()
	if i := strings.IndexFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }); i >= 0 {
		t.Errorf("%s: %q", what, s[max(0, i-60):min(len(s), i+60)])
	}
	for _, l := range strings.Split(s, "\n") {
		testenv.Check(t, !strings.HasPrefix(strings.TrimSpace(saidBy.ReplaceAllString(l, "")), "FORGED"),
			"%s: a name begins a line: %.200q", what, l)
		testenv.Check(t, len(l) <= 6000, "%s: a line of %d bytes: %.100q", what, len(l), l)
	}
}

// renamed puts a text around all names of a model.
func renamed(t *testing.T, path, model, with string) string {
	t.Helper()
	m := testenv.Must(onnx.Parse([]byte(model), onnx.Limits{}))(t)
	name := func(s *string) *string {
		if s == nil || *s == "" {
			return s
		}
		return proto.String(with + *s + with)
	}
	g := m.Proto.Graph
	g.Name, m.Proto.ProducerName, m.Proto.DocString, m.Proto.ProducerVersion = name(g.Name), proto.String("p"+with),
		proto.String("d"+with), proto.String("v"+with)
	for _, v := range append(append(append([]*pb.ValueInfoProto{}, g.Input...), g.Output...), g.ValueInfo...) {
		v.Name = name(v.Name)
	}
	for _, x := range g.Initializer {
		x.Name = name(x.Name)
	}
	for _, n := range g.Node {
		n.Name = name(proto.String(n.GetOpType() + "_node"))
		for i := range n.Input {
			n.Input[i] = *name(&n.Input[i])
		}
		for i := range n.Output {
			n.Output[i] = *name(&n.Output[i])
		}
		if strings.HasPrefix(n.GetOpType(), "Custom") {
			n.OpType = name(n.OpType)
		}
	}
	b := testenv.Must(proto.Marshal(m.Proto))(t)
	must(t, os.WriteFile(path, b, 0o666))
	return path
}

// TestHostileNames: whatever names a model has, people see text; programs get
// the names exactly.
func TestHostileNames(t *testing.T) {
	_, err := exec.LookPath("gcc")
	gcc := err == nil
	for kind, with := range hostileNames {
		t.Run(kind, func(t *testing.T) {
			t.Chdir(t.TempDir())
			file := "m.onnx"
			if !strings.ContainsAny(with, "/\x00") && len(with) < 100 {
				file = "m" + with + ".onnx" // on Linux files may be called so, too
			}
			good := renamed(t, file,
				`<ir_version: 8, opset_import: ["" : 17]> g (float[1, 2, 6, 6] x) => (float[1, 3, 4, 4] y) <float[3, 2, 3, 3]
					w = {`+
					strings.Repeat("0.5, -0.25, 1, ", 17)+
					`1, 2, 3}> { a = Conv (x, w) b = Sigmoid (a) c = Neg (b) y = Relu (c) }`, with)
			bad := renamed(t, "bad.onnx",
				`<ir_version: 8, opset_import: ["" : 17]> g (float[1, 4] x) => (float[1, 4] y) { a = CustomOp (x) b = Reshape (a, a)
					y = Conv (b, x) }`, with)
			lies := renamed(t, "lies.onnx",
				`<ir_version: 8, opset_import: ["" : 17]> g (float[1, 4] x) => (float[1, 5] y) <float[3] k = {nan, 1, 2}> {
					a = Add (x, k) y = Softmax <axis = 7> (a) }`, with)
			must(t, os.WriteFile("s.yaml", []byte("steps:\n- simplify:\n- rename: {node: "+yamlText(with)+", to: "+
				yamlText(with+"2")+"}\n"), 0o666))
			must(t, os.WriteFile("ok.yaml", []byte("steps:\n- prefix: {prefix: "+yamlText(with+"p")+
				"}\n- save: {file: part.onnx}\n"), 0o666))
			must(t, os.WriteFile("b.yaml", []byte("inherits: [cortex-m4]\ndoc: "+yamlText(with)+
				"\ntoolchain:\n  install: "+yamlText(with)+"\n  prefix: "+yamlText(with+"nothere-")+"\n"), 0o666))
			must(t, os.WriteFile("l.yaml", []byte(yamlText(with)+": int8\n"), 0o666))
			writeNpyOf(t, "x.npy", []int{1, 2, 6, 6}, 0.5)
			must(t, os.WriteFile("labels.csv", []byte(with+"\nb\n"), 0o666))
			runs := [][]string{
				{"eval", "-board", "host", "--data", "x.npy", good},
				{"eval", "--data", "x.npy", "--scores", with, "--labels", "labels.csv", good},
				{"compile", "-board", "mla-m55", "--out", "mla", good}, {"compile", "-board", "cortex-m4", "--out", "o",
					good}, {"explain", "-board", "cortex-m55", good}, {"explain", "-board", "mla-m55", good},
				{"check", good}, {"legalize", "--out", "l.onnx", good}, {"quantize", "--out", "q.onnx", good},
				{"surgery", "-f", "ok.yaml", "--out", "s.onnx", good}, {"surgery", "-f", "s.yaml", "--out",
					"s.onnx", good},
				{"compile", "-board", "b.yaml", "--out", "b", good}, {"boards", "b.yaml"},
				{"verify", "-board", "b.yaml", good}, {"compile", "-board", "host", "--layers-config", "l.yaml",
					good},
				{"compile", "-board", "host", "--max-ram", "1", "--out", "r", good},
				{"explain", "-board", "host", "--align", "always", "--precision", "int16x8", good},
				{"compile", "-board", "host", "--sensitivity", good},
				{"compile", "-board", with, good}, {"compile", "-board", "host", "--state", with + "=" + with, good},
				{"compile", "-board", "host", "--stream", with, good}, {"compile", "-board", "host", "--set",
					"x=" + with, good},
				{"compile", "-board", "host", "--dim", with + "=1", good}, {"compile", "--" + with, good},
				{"compile", "-board", "host", "--precision", with, good}, {"compile", "-board", "host", "--limit",
					with, good},
				{"compile", with}, {"lm", "b.yaml"}, {"bisect", "-board", "host", good},
				{"compile", "-board", "host", "--stop-after", "integer", good},
				{"compile", "-board", "host", "--pass", with, good}, {"legalize", "--only", with + ",a", good},
				{"run", "--input", with, good}, {"verify", "-board", "host", "--golden", with, good},
			}
			if gcc {
				runs = append(runs, []string{"verify", "-board", "host", "--cases", "1", good})
			}
			for _, m := range []string{bad, lies} {
				for _, verb := range []string{"compile", "explain", "check", "legalize", "quantize", "run", "surgery"} {
					args := []string{verb, m}
					switch verb {
					case "compile", "explain":
						args = append(args, "-board", "cortex-m55", "--out", "never")
					case "surgery":
						args = append(args, "-f", "ok.yaml")
					}
					runs = append(runs, args)
				}
			}
			for _, args := range runs {
				if slices.ContainsFunc(args, func(s string) bool { return strings.ContainsRune(s, 0) }) {
					continue // no argument has one
				}
				what := strings.ReplaceAll(strings.Join(args, " "), with, "...")
				code, out, msg := call(args...)
				testenv.Check(t, code != exitBug, "%s: exit status %d: %.300q", what, code, msg)
				shown(t, what, out)
				shown(t, what+" (errors)", msg)
				verb := args[0]
				if code != exitOK || !flagRules["json"].applies(verb) || verb == "compile" && kind != "lines" {
					continue
				}
				_, out, _ = call(append(args, "--json")...)
				var v any
				if err := json.Unmarshal([]byte(out), &v); err != nil {
					t.Errorf("%s --json: %v", what, err)
				}
				testenv.Check(t, verb != "explain" || holds(v, with+"x"+with),
					"%s --json: the name of the input is not exact", what)
			}
			for _, f := range []string{"o/report.html", "r/report.html", "mla/report.html"} {
				if b, err := os.ReadFile(f); err == nil {
					if i := strings.IndexFunc(string(b), func(r rune) bool {
						return r != '\n' && r != '\t' && !unicode.IsGraphic(r)
					}); i >= 0 {
						t.Errorf("%s: %q", f, b[max(0, i-60):min(len(b), i+60)])
					}
				} else if f != "mla/report.html" {
					t.Error(err)
				}
			}
		})
	}
}

func yamlText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// holds: somewhere in v stands the text s.
func holds(v any, s string) bool {
	switch v := v.(type) {
	case string:
		return v == s
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return holds(x, s) })
	case map[string]any:
		for _, x := range v {
			if holds(x, s) {
				return true
			}
		}
	}
	return false
}
