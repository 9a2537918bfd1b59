// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/diff"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
)

type object = map[string]any

// layer is a layer of a report: instructions, bytes of weights, and its ONNX nodes.
func layer(name, kernel string, instructions, weights int, nodes ...string) object {
	return object{"name": name, "op": "Conv", "kernel": kernel, "route": "", "onnx_nodes": nodes, "macs": 10,
		"instructions": instructions, "weight_bytes": weights, "estimated_cycles": 2 * instructions}
}

// model is a report about layers, whose values are live one after the other.
func model(name string, layers ...object) object {
	instructions, weights := 7, 0
	var buffers, ratios []object
	for i, l := range layers {
		instructions += l["instructions"].(int)
		weights += l["weight_bytes"].(int)
		buffers = append(buffers, object{"name": "b", "bytes": 10 * l["instructions"].(int), "first": i, "last": i})
		for _, n := range l["onnx_nodes"].([]string) {
			ratios = append(ratios, object{"name": n, "layer": n, "sqnr_db": 30})
		}
	}
	return object{"schema": 1, "generator": "nncc", "version": "1", "model": object{"name": name}, "board": "b",
		"layers": layers, "memory": object{"arena_bytes": 1000, "weights_bytes": weights, "buffers": buffers},
		"code": object{"instructions": instructions, "text_bytes": 500, "rodata_bytes": 20, "stack_bytes": 90,
			"stack_bound_bytes": 100, "stack_path": []string{"run", "deep"}},
		"calibration": object{"source": "x.npz", "sqnr_db": 30, "per_layer": ratios}}
}

// with changes a report: keys have dots.
func with(m object, changes object) object {
	b := bug.Must(json.Marshal(m))
	var out object
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	for key, v := range changes {
		at, parts := out, strings.Split(key, ".")
		for _, p := range parts[:len(parts)-1] {
			at = at[p].(object)
		}
		if v == nil {
			delete(at, parts[len(parts)-1])
		} else {
			at[parts[len(parts)-1]] = v
		}
	}
	return out
}

func load(t *testing.T, report object) []*diff.Model {
	t.Helper()
	b := testenv.Must(json.Marshal(report))(t)
	p := filepath.Join(t.TempDir(), "r.json")
	testenv.OK(t, os.WriteFile(p, b, 0o666))
	list := testenv.Must(diff.Load(p))(t)
	return list
}

func compare(t *testing.T, old, now object) *diff.Diff {
	t.Helper()
	return diff.Compare(load(t, old), load(t, now))
}

// TestLayers: layers are the same by name, then by the nodes that they compute;
// what became of the others is said.
func TestLayers(t *testing.T) {
	base := []object{layer("a", "k", 10, 5, "a"), layer("b", "k", 20, 5, "b"), layer("c", "k", 30, 5, "c", "c2")}
	for _, k := range []struct {
		why  string
		now  []object
		want string // the rows that are not the same
		same int
	}{
		{"nothing", base, "", 3},
		{"slower", []object{base[0], layer("b", "k", 25, 5, "b"), base[2]}, "b changed", 2},
		{"another kernel", []object{base[0], layer("b", "other", 20, 5, "b"), base[2]}, "b changed k>other", 2},
		{"another name", []object{base[0], layer("x", "k", 20, 5, "b"), base[2]}, "x renamed b", 2},
		{"most nodes decide", []object{base[0], layer("x", "k", 30, 5, "c", "c2"), layer("y", "k", 20, 5, "b", "c3")},
			"x renamed c, y renamed b", 1},
		{"a name goes before nodes", []object{layer("b", "k", 20, 5, "a"), layer("a", "k", 10, 5, "b"), base[2]},
			"", 3},
		{"merged", []object{base[0], layer("b", "k", 20, 5, "b", "c", "c2")}, "c removed in b", 2},
		{"added", append(base[:3:3], layer("d", "k", 1, 1, "d")), "d added", 3},
		{"removed", base[1:], "a removed", 2},
		{"all others", []object{layer("x", "k", 1, 1, "x")}, "a removed, b removed, c removed, x added", 0},
		{"a name twice", append(base[:3:3], layer("c", "k", 1, 1)), "c added", 3},
	} {
		d := compare(t, model("m", base...), model("m", k.now...))
		var got []string
		for _, l := range d.Models[0].Layers {
			s := l.Name + " " + l.Status
			if l.OldName != "" {
				s += " " + l.OldName
			}
			if l.PartOf != "" {
				s += " in " + l.PartOf
			}
			if l.OldKernel != "" && l.Kernel != "" {
				s += " " + l.OldKernel + ">" + l.Kernel
			}
			got = append(got, s)
		}
		if s := strings.Join(got, ", "); s != k.want || d.Models[0].LayersSame != k.same {
			t.Errorf("%s: %q and %d the same, want %q and %d", k.why, s, d.Models[0].LayersSame, k.want, k.same)
		}
		for _, s := range []string{d.Text(), d.Markdown()} {
			for _, l := range d.Models[0].Layers {
				if !strings.Contains(s, l.Name) || !strings.Contains(s, l.Kernel) || !strings.Contains(s, l.OldName) {
					t.Errorf("%s: %s is not in\n%s", k.why, l.Name, s)
				}
			}
		}
	}
}

// TestGrowth: every limit holds at its edge and not behind it, and says which layer
// it is.
func TestGrowth(t *testing.T) {
	base := model("m", layer("a", "k", 60, 5, "a"), layer("b", "k", 33, 5, "b")) // 100 instructions
	grown := model("m", layer("a", "k", 60, 5, "a"), layer("b", "slow", 43, 8, "b"), layer("c", "k", 0, 1, "c"))
	for _, k := range []struct {
		limit   string
		now     object
		because string // "": it holds
	}{
		{"instructions=10%", grown, ""},
		{"instructions=10", grown, ""},
		{"instructions=9.9%", grown, "most in b +10 (k -> slow)"},
		{"instructions=0", grown, "from 100 to 110 (+10, +10.0 %), at most 0 is allowed"},
		{"cycles=20", grown, ""},
		{"cycles=19", grown, "most in b +20"},
		{"weights=4", grown, ""},
		{"weights=3", grown, "most in b +3 (k -> slow), c +1 (new layer, k)"},
		{"flash=4", grown, ""},
		{"flash=3", grown, "flash grew from 530 to 534"},
		{"flash=0", with(base, object{"code.text_bytes": 501}), "no layer's weights grew"},
		{"ram=0", base, ""},
		{"arena=0", with(base, object{"memory.arena_bytes": 1001}), "the largest step is a with 608 live, before 608"},
		{"ram=1K", with(base, object{"memory.arena_bytes": 2024}), ""},
		{"ram=1K", with(base, object{"memory.arena_bytes": 2025}), "arena"},
		{"stack=0", with(base, object{"code.stack_bound_bytes": 101}), "run > deep"},
		{"stack=0", with(base, object{"code.stack_bytes": 91}), ""}, // bounds are compared
		{"stack=0", with(base, object{"code.stack_bytes": 91, "code.stack_bound_bytes": nil}),
			"stack grew from 90 to 91"},
		{"macs=10", grown, ""},
		{"macs=9", grown, "c +10"},
		{"sqnr=0", base, ""},
		{"sqnr=0.5dB", with(base, object{"calibration.sqnr_db": 29.5}), ""},
		{"sqnr=0.5", with(base, object{"calibration.sqnr_db": 29.4}), "SQNR fell from 30.0 dB to 29.4 dB"},
		{"sqnr=0", with(base, object{"calibration.sqnr_db": 35}), ""},
	} {
		old := base
		limits := testenv.Must(diff.ParseLimits([]string{k.limit}))(t)
		d := compare(t, old, k.now)
		if err := d.Check(limits); err != nil {
			t.Errorf("%s: %v", k.limit, err)
			continue
		}
		g := d.Gates[0]
		if g.Exceeded != (k.because != "") || !strings.Contains(g.Reason, k.because) ||
			len(d.Exceeded()) > 0 != g.Exceeded {
			t.Errorf("%s: exceeded %v: %s; want %q", k.limit, g.Exceeded, g.Reason, k.because)
		}
		m := d.Markdown()
		testenv.Check(t, g.Exceeded == strings.Contains(m, "gate exceeded"), "%s: %s", k.limit, m)
	}
}

// TestGrowthUnknown: what cannot be compared does not pass.
func TestGrowthUnknown(t *testing.T) {
	base := model("m", layer("a", "k", 60, 5, "a"))
	bare := with(base, object{"code": nil, "calibration": nil, "layers": []object{}})
	for limit, why := range map[string]string{"instructions=1%": "the new report lacks it", "stack=1": "lacks it",
		"flash=1": "lacks it", "cycles=0": "lacks it", "sqnr=1": "lacks it", "top1=1%": "neither report has it"} {
		limits := testenv.Must(diff.ParseLimits([]string{"ram=0", limit}))(t)
		if err := compare(t, base, bare).Check(limits); err == nil || !strings.Contains(err.Error(), why) ||
			!strings.Contains(err.Error(), "nncc") && !strings.Contains(err.Error(), "--calib") {
			t.Errorf("%s: %v", limit, err)
		}
	}
	other := with(base, object{"calibration.source": "synthetic"})
	limits, _ := diff.ParseLimits([]string{"sqnr=1"})
	testenv.Refused(t, compare(t, base, other).Check(limits), "synthetic")
	two := object{"schema": 1, "generator": "nncc", "models": []object{model("x"), model("y")}}
	err := compare(t, model("m"), two).Check(limits)
	testenv.Check(t, err != nil, "no model is in both, and the gate passes")
}

// TestLimits: what a limit is not.
func TestLimits(t *testing.T) {
	for _, s := range []string{"", "ram", "ram=", "=1", "ram=-1", "ram=x", "ram=1%%", "ram=Inf", "ram=NaN", "ram=0x1",
		"ram=1,", "instructions=1K", "sqnr=1%", "arna=0", "ram=1e999"} {
		l, err := diff.ParseLimits([]string{s})
		testenv.Check(t, err != nil, "%q is taken: %+v", s, l)
	}
	testenv.Refused(t, testenv.Err(diff.ParseLimits([]string{"instruction=0"})), "did you mean instructions?")
}

// TestModels: several models are compared by name; one that is left on both sides
// was renamed.
func TestModels(t *testing.T) {
	several := func(list ...object) object { return object{"schema": 1, "generator": "nncc", "models": list} }
	for _, k := range []struct {
		old, now object
		want     string
	}{
		{model("a"), model("b"), "b<a same"},
		{several(model("a"), model("b")), several(model("b"), model("c")), "b same, c<a same"},
		{several(model("a"), model("b")), several(model("b")), "b same, a removed"},
		{model("a"), several(model("b"), model("a")), "b added, a same"},
		{several(model("a"), model("b")), several(model("c"), model("d")), "c added, d added, a removed, b removed"},
	} {
		var got []string
		for _, r := range compare(t, k.old, k.now).Models {
			s := r.Name
			if r.OldName != "" {
				s += "<" + r.OldName
			}
			got = append(got, s+" "+r.Status)
		}
		testenv.Equal(t, strings.Join(got, ", "), k.want)
	}
}

// TestEval: a folder may hold what eval said.
func TestEval(t *testing.T) {
	side := func(top1, db float64) []*diff.Model {
		dir := t.TempDir()
		for name, v := range map[string]object{report.File: model("m"), diff.EvalFile: {"model": "m",
			"program": object{"top1": top1}, "float": object{"top1": 1}, "outputs": []object{{"sqnr_db": db},
				{"sqnr_db": nil}, {"sqnr_db": db + 9}}}} {
			b, _ := json.Marshal(v)
			testenv.OK(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
		}
		list := testenv.Must(diff.Load(dir))(t)
		return list
	}
	d := diff.Compare(side(0.98, 40), side(0.97, 38))
	limits := testenv.Must(diff.ParseLimits([]string{"top1=1%,top1=0.9%,sqnr=2,sqnr=1.9"}))(t)
	testenv.OK(t, d.Check(limits))
	got := lists.Map(d.Gates, func(g diff.Gate) bool { return g.Exceeded })
	if fmt.Sprint(got) != "[false true false true]" {
		t.Errorf("exceeded: %v\n%s", got, d.Text())
	}
}

// TestNotReports: files that are none are refused, each by name.
func TestNotReports(t *testing.T) {
	dir := t.TempDir()
	for name, s := range map[string]string{"empty": "", "noise": "\x00\xff{", "list": "[]", "null": "null",
		"other": `{"a":1}`, "newer": `{"schema":99,"generator":"nncc","model":{"name":"m"}}`,
		"nameless": `{"schema":1,"generator":"nncc"}`, "nulls": `{"generator":"nncc","models":[null]}`,
		"text": `{"generator":"nncc","model":{"name":"m"},"layers":"x"}`} {
		p := filepath.Join(dir, name)
		testenv.OK(t, os.WriteFile(p, []byte(s), 0o666))
		testenv.Refused(t, testenv.Err(diff.Load(p)), name)
	}
	testenv.Refused(t, testenv.Err(diff.Load(dir)), report.File)
}

// TestMarkdown: names cannot end a cell or a line, be HTML, links or mentions; the text
// fits into a comment however many layers there are.
func TestMarkdown(t *testing.T) {
	bad := "a|b`c*d<script>@you#1\n# head\r_x_ https://e.org [l](x)"
	d := compare(t, model(bad, layer(bad, "k", 1, 1, "n")), model(bad, layer(bad, "k|", 2, 1, "n")))
	s := d.Markdown()
	for _, no := range []string{"<script", "@you", "\n# head", "](", "https://", "`", "you#1", "k|\n"} {
		testenv.Check(t, !strings.Contains(s, no), "%q is in the text:\n%s", no, s)
	}
	bars := map[string]int{}
	for _, l := range strings.Split(s, "\n") {
		if strings.HasPrefix(l, "| layer") || strings.HasPrefix(l, "|") && strings.Contains(l, "script") {
			bars[l] = strings.Count(l, "|")
		}
	}
	testenv.Check(t, len(bars) == 2, "%d rows, want the head and the layer:\n%s", len(bars), s)
	for l, n := range bars {
		testenv.Check(t, n == 7, "%d bars, want 7: %s", n, l)
	}
	var old, now []object
	for i := range 5000 {
		name := fmt.Sprintf("%s%d", strings.Repeat("layer|", 30), i)
		old, now = append(old, layer(name, "k", 1, 1)), append(now, layer(name, "l", 2, 2))
	}
	if s := compare(t, model("m", old...), model("m", now...)).Markdown(); len(s) > 65_000 ||
		!strings.Contains(s, "more layers") || !strings.Contains(s, "</details>") {
		t.Errorf("%d bytes", len(s))
	}
}

// several is a report about models.
func several(list ...object) object {
	return object{"schema": 1, "generator": "nncc", "models": list}
}

// TestGatesOfOneSide: a model that only one report has, or that is for another board, is
// never within limits unseen; models of one name are told by their boards.
func TestGatesOfOneSide(t *testing.T) {
	limits := testenv.Must(diff.ParseLimits([]string{"ram=0"}))(t)
	a, b := model("a"), with(model("a"), object{"board": "other", "memory.arena_bytes": 9000})
	for _, c := range []struct {
		old, now object
		want     string
	}{
		{several(a, model("x")), several(a), "x on b is in the old report alone"},
		{several(a), several(a, model("x")), "x on b is in the new report alone"},
		{a, b, "a is compiled for b and for other"},
		{several(a, b), several(b, a), ""},
		{several(a, b), several(a), "on other is in the old report alone"},
	} {
		d := compare(t, c.old, c.now)
		err := d.Check(limits)
		testenv.Check(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want)),
			"%v, want %q", err, c.want)
		if err == nil && len(d.Exceeded()) > 0 {
			t.Errorf("boards are mixed: %v", d.Exceeded())
		}
		if err := compare(t, c.old, c.now).Check(nil); err != nil {
			t.Errorf("without limits: %v", err)
		}
	}
}

// TestAbsurdLimits: limits that hold for everything are refused, with what was meant.
func TestAbsurdLimits(t *testing.T) {
	for s, want := range map[string]string{"top1=2": "top1=2%", "top1=200%": "at most 100.00 %",
		"sqnr=1000": "at most 200.0 dB", "ram=100000%": "at most 10000%"} {
		testenv.Refused(t, testenv.Err(diff.ParseLimits([]string{s})), want)
	}
	for _, s := range []string{"top1=2%", "top1=0.02", "top1=0", "top1=1", "ram=1M", "sqnr=0.5dB",
		"instructions=10000"} {
		_, err := diff.ParseLimits([]string{s})
		testenv.Check(t, err == nil, "%s: %v", s, err)
	}
}

// TestManyGates: however many gates are exceeded, the comment fits.
func TestManyGates(t *testing.T) {
	var old, now []object
	for i := range 300 {
		m := model(fmt.Sprintf("%s%d", strings.Repeat("m", 200), i))
		old, now = append(old, m), append(now, with(m, object{"memory.arena_bytes": 9000}))
	}
	d := compare(t, several(old...), several(now...))
	limits, _ := diff.ParseLimits([]string{"ram=0,ram=1"})
	if err := d.Check(limits); err != nil || len(d.Exceeded()) != 600 {
		t.Fatalf("%d exceeded, %v", len(d.Exceeded()), err)
	}
	s := d.Markdown()
	testenv.Check(t, len(s) <= 65_000 && strings.Contains(s, "and 580 more"), "%d bytes", len(s))
}

// TestWhatIsNoReport: what is there is said, not what a decoder thinks of it.
func TestWhatIsNoReport(t *testing.T) {
	for s, want := range map[string]string{"": "the file is empty", " \n": "the file is empty",
		"[]": "it is a JSON array", "3": "it is a JSON number"} {
		p := filepath.Join(t.TempDir(), "report.json")
		testenv.OK(t, os.WriteFile(p, []byte(s), 0o666))
		if _, err := diff.Load(p); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "Go") {
			t.Errorf("%q: %v, want %q", s, err, want)
		}
	}
}

// TestSharedImage: kernels that models of one firmware share are in no model's figures: the firmware has a row of its
// own, and gates on it.
func TestSharedImage(t *testing.T) {
	firmware := func(text int) object {
		return object{"schema": 1, "generator": "nncc", "board": "b", "models": []object{model("a"), model("b")},
			"memory": object{"arena_bytes": 1000, "state_bytes": 8, "weights_bytes": 300},
			"code":   object{"text_bytes": text, "rodata_bytes": 20}}
	}
	limits := testenv.Must(diff.ParseLimits([]string{"flash=500"}))(t)
	d := compare(t, firmware(4000), firmware(4501))
	testenv.OK(t, d.Check(limits))
	if over := fmt.Sprint(d.Exceeded()); len(d.Exceeded()) != 1 || !strings.Contains(over, "all models together") {
		t.Errorf("%s, want one gate of all models", over)
	}
}

// TestLongNames: tables stay readable with names of hundreds of characters, JSON has them
// whole.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("functional_1/conv2d/Conv2D;", 20) + "BiasAdd"
	d := compare(t, model("m", layer(long, "k", 1, 1, "n")), model("m", layer(long, "k", 2, 1, "n")))
	for _, s := range []string{d.Text(), d.Markdown()} {
		for _, l := range strings.Split(s, "\n") {
			testenv.Check(t, len(l) <= 200, "%d characters: %s", len(l), l)
		}
		testenv.Check(t, strings.Contains(s, "BiasAdd") && strings.Contains(s, "functional"),
			"the ends of the name are not there:\n%s", s)
	}
	testenv.Check(t, d.Models[0].Layers[0].Name == long, "the name is cut in the result, too")
}

// TestStateIsNamed: a figure with state in it is not called the arena alone, in tables and in gates.
func TestStateIsNamed(t *testing.T) {
	limits := testenv.Must(diff.ParseLimits([]string{"ram=0"}))(t)
	base := model("a", layer("x", "k", 100, 10, "x"))
	for _, c := range []struct {
		old, now int
		want     string
	}{{0, 0, "arena"}, {0, 8, "arena and state"}, {8, 0, "arena and state"}, {8, 8, "arena and state"}} {
		d := compare(t, with(base, object{"memory.state_bytes": c.old}),
			with(base, object{"memory.state_bytes": c.now, "memory.arena_bytes": 1009}))
		testenv.OK(t, d.Check(limits))
		if s := d.Text(); !strings.Contains(s, c.want+", bytes") {
			t.Errorf("state of %d and %d bytes: want %q in\n%s", c.old, c.now, c.want, s)
		}
		if over := d.Exceeded(); len(over) > 0 && !strings.Contains(over[0].Reason, c.want+" grew") {
			t.Errorf("want %q in %q", c.want, over[0].Reason)
		}
	}
}
