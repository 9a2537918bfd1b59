// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/diff"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// several is a report about models.
func several(list ...object) object {
	return object{"schema": 1, "generator": "nncc", "models": list}
}

// TestGatesOfOneSide: a model that only one report has, or that is for another board, is
// never within limits unseen; models of one name are told by their boards.
func TestGatesOfOneSide(t *testing.T) {
	limits, err := diff.ParseLimits([]string{"ram=0"})
	testenv.OK(t, err)
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
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
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
		if _, err := diff.ParseLimits([]string{s}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", s, err, want)
		}
	}
	for _, s := range []string{"top1=2%", "top1=0.02", "top1=0", "top1=1", "ram=1M", "sqnr=0.5dB",
		"instructions=10000"} {
		if _, err := diff.ParseLimits([]string{s}); err != nil {
			t.Errorf("%s: %v", s, err)
		}
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
	if s := d.Markdown(); len(s) > 65_000 || !strings.Contains(s, "and 580 more") {
		t.Errorf("%d bytes", len(s))
	}
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
	limits, err := diff.ParseLimits([]string{"flash=500"})
	testenv.OK(t, err)
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
			if len(l) > 200 {
				t.Errorf("%d characters: %s", len(l), l)
			}
		}
		if !strings.Contains(s, "BiasAdd") || !strings.Contains(s, "functional") {
			t.Errorf("the ends of the name are not there:\n%s", s)
		}
	}
	if d.Models[0].Layers[0].Name != long {
		t.Error("the name is cut in the result, too")
	}
}

// TestStateIsNamed: a figure with state in it is not called the arena alone, in tables and in gates.
func TestStateIsNamed(t *testing.T) {
	limits, err := diff.ParseLimits([]string{"ram=0"})
	testenv.OK(t, err)
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
