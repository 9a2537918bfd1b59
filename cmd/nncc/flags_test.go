// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// call runs the command line in this process.
func call(args ...string) (code int, out, msg string) {
	var o, e bytes.Buffer
	code = Main(context.Background(), args, &o, &e)
	return code, o.String(), e.String()
}

// sampleValues are values that flags of these names take.
var sampleValues = map[string]string{
	"max-growth": "ram=0", "html": filepath.Join(os.TempDir(), "nncc-flags-test.html"),
	"junit": filepath.Join(os.TempDir(), "nncc-flags-test.xml"),
	"board": "host", "max-segments": "1", "max-fallback": "1", "cases": "1", "tolerance": "0.5", "dim": "n=1",
	"set": "x=1", "limit": "nodes=10", "state": "auto", "stream": "1",
	"calib-method": "mse", "weight-rounding": "nearest", "precision": "int8", "weights": "int8", "max-ram": "64K",
	"max-flash": "64K", "dead-channels": "on", "fuse": "on", "legalize": "on",
	"kernels": "auto", "align": "auto", "optimize": "size", "io": "float", "io-layout": "onnx", "project": "make",
	"top-k": "3", "qemu": "1", "sequence": "2", "min-top1": "0.5", "min-sqnr": "10",
	"propose": filepath.Join(os.TempDir(), "nncc-flags-test.yaml"),
	"only":    "bn-fold", "outputs": "native",
	"fixed-point-weights": "n=8", "pass": "bn-fold=off", "stop-after": "integer", "fixed-point-activations": "n=8",
}

// TestFlagTable: every flag has a rule, every rule a flag, and rules name verbs.
func TestFlagTable(t *testing.T) {
	c := &cli{}
	have := map[string]bool{"help": true}
	for verb := range verbs {
		allFlags(c, verb).VisitAll(func(f *pflag.Flag) { have[f.Name] = true })
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		verbs[verb].flags(c, own)
		own.VisitAll(func(f *pflag.Flag) { have[f.Name] = true })
	}
	for name := range have {
		_, ok := flagRules[name]
		testenv.Check(t, ok, "--%s has no rule in flagRules: to which verbs does it apply?", name)
	}
	for name, r := range flagRules {
		testenv.Check(t, have[name], "--%s has a rule and does not exist", name)
		for _, v := range strings.Fields(r.verbs) {
			testenv.Check(t, verbs[v] != nil, "--%s: there is no verb %s", name, v)
		}
	}
}

// TestFlagsOfVerbs: a flag is taken by the verbs of its rule and refused by
// name by all others; an empty value is refused everywhere.
func TestFlagsOfVerbs(t *testing.T) {
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		c := &cli{}
		all := allFlags(c, verb)
		for name, r := range flagRules {
			if name == "help" {
				continue
			}
			f := all.Lookup(name)
			args := []string{"--" + name + "=" + cmpOr(sampleValues[name], "nothere")}
			if f.NoOptDefVal != "" {
				args = []string{"--" + name}
			}
			code, _, msg := call(append([]string{verb}, append(args, "nothere.onnx")...)...)
			refused := strings.Contains(msg, fmt.Sprintf("--%s does not apply to %s; it applies to ", name, verb))
			if r.applies(verb) == refused || refused && code != exitUsage || strings.Contains(msg, "unknown flag") {
				t.Errorf("%s %v: applies %v, exit status %d: %s", verb, args, r.applies(verb), code, msg)
			}
			if !r.applies(verb) || f.NoOptDefVal != "" {
				continue
			}
			for _, empty := range [][]string{{"--" + name, ""}, {"--" + name + "="}, {"--" + name, " "}} {
				code, out, msg := call(append(append([]string{verb}, empty...), "nothere.onnx")...)
				if code != exitUsage || !strings.Contains(msg, "--"+name+": the value is empty") || out != "" {
					t.Errorf("%s %q: exit status %d: %s", verb, empty, code, msg)
				}
			}
			code, _, msg = call(verb, "--"+name)
			testenv.Check(t, code == exitUsage && strings.Contains(msg, "--"+name+": no value given"),
				"%s --%s: exit status %d: %s", verb, name, code, msg)
		}
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// flagsOf are the flags of a verb as they may be written, each with a value where it takes one.
func flagsOf(verb string) [][]string {
	var out [][]string
	verbFlags(&cli{}, verb).VisitAll(func(f *pflag.Flag) {
		v := cmpOr(sampleValues[f.Name], "compile") // a value may be called like a verb
		switch {
		case f.NoOptDefVal != "":
			out = append(out, []string{"--" + f.Name}, []string{"-" + f.Name})
		default:
			out = append(out, []string{"--" + f.Name, v}, []string{"-" + f.Name + "=" + v})
		}
		if f.Shorthand != "" {
			out = append(out, append([]string{"-" + f.Shorthand}, out[len(out)-2][1:]...))
		}
	})
	return out
}

// TestFlagsBeforeVerb: a verb behind flags and their values is the verb, whichever they are.
func TestFlagsBeforeVerb(t *testing.T) {
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		before := flagsOf(verb)
		for _, words := range append(before, slices.Concat(before...)) {
			got, rest, err := splitVerb(slices.Concat(words, []string{verb, "compile", "-q"}))
			if want := slices.Concat(words, []string{"compile", "-q"}); err != nil || got != verb ||
				!slices.Equal(rest, want) {
				t.Errorf("%v %s: %s, %v, %v", words, verb, got, rest, err)
			}
		}
	}
	for _, c := range []struct{ args, verb, rest string }{
		{"-q m.onnx", "compile", "-q m.onnx"},
		{"-q -- verify", "compile", "-q -- verify"},
		{"--nothere verify m.onnx", "compile", "--nothere verify m.onnx"},
		{"-h verify", "verify", "-h"},
		{"-fs.yaml surgery m.onnx", "surgery", "-fs.yaml m.onnx"},
	} {
		verb, rest, err := splitVerb(strings.Fields(c.args))
		testenv.Check(t, err == nil && verb == c.verb && strings.Join(rest, " ") == c.rest, "%s: %s, %v, %v", c.args,
			verb, rest, err)
	}
	if _, _, err := splitVerb([]string{"-q", "verfy", "m.onnx"}); err == nil ||
		!strings.Contains(err.Error(), "did you mean verify?") {
		t.Error(err)
	}
}

// TestNearestNames: a slip in a verb or a flag names the one that was meant.
func TestNearestNames(t *testing.T) {
	for verb := range verbs {
		if len(verb) < 4 {
			continue
		}
		slip := verb[:1] + verb[2:]
		if verbs[slip] != nil {
			continue
		}
		code, _, msg := call(slip, "m.onnx")
		testenv.Check(t, code == exitUsage && strings.Contains(msg, "unknown verb "+slip+"; did you mean "+verb+"?"),
			"%s: exit status %d: %s", slip, code, msg)
		fs := verbFlags(&cli{}, verb)
		fs.VisitAll(func(f *pflag.Flag) {
			if slip := f.Name[:len(f.Name)-2] + f.Name[len(f.Name)-1:]; len(f.Name) > 4 && fs.Lookup(slip) == nil {
				code, _, msg := call(verb, "--"+slip+"=1")
				if code != exitUsage || !strings.Contains(msg, "unknown flag --"+slip+"; did you mean --") {
					t.Errorf("%s --%s: exit status %d: %s", verb, slip, code, msg)
				}
			}
		})
	}
}

// TestNearestValues: a slip in a value names the one that was meant.
func TestNearestValues(t *testing.T) {
	dir := t.TempDir()
	m := tinyModel(t, dir)
	c := filepath.Join(dir, "l.yaml")
	must(t, os.WriteFile(c, []byte("layers: {'*': int88}\n"), 0o666))
	s := filepath.Join(dir, "s.yaml")
	must(t, os.WriteFile(s, []byte("steps:\n- insert_after: {node: {output: y}, new: {op: Rellu}}\n"), 0o666))
	for args, want := range map[string]string{
		"compile --board cortexm5":                                "cortex-m55",
		"compile --board host --precision int9":                   "int8",
		"compile --board host --fuse onn":                         "on",
		"compile --board host --project zephir":                   "zephyr",
		"compile --board host --pass bn-fld=off":                  "bn-fold",
		"compile --board host --stop-after integr":                "integer",
		"compile --board host --limit node=3":                     "nodes",
		"compile --board host --set xx=1":                         "x",
		"compile --board host --stream xx=1":                      "x",
		"compile --board host --state yy=x":                       "y",
		"compile --board host --fixed-point-weights sgn=1":        "sign",
		"compile --board host --layers-config " + c:               "int8",
		"run --input xx=nothere.npy":                              "x",
		"surgery -f " + s + " --out " + filepath.Join(dir, "out"): "Relu",
		"help debuging":                "debugging",
		"-o out":                       "--out, --optimize",
		"compile " + dir + "/tin.onnx": "tiny.onnx",
		"completion fih":               "fish",
		"diff --max-growth instr=1 a":  "instructions",
	} {
		line := strings.Fields(args)
		if line[0] != "help" && line[0] != "completion" {
			line = append(line, m)
		}
		code, _, msg := call(line...)
		if code != exitUsage || !strings.Contains(msg, "did you mean "+want+"?") &&
			!strings.Contains(msg, "perhaps "+want) {
			t.Errorf("%s: exit status %d: %s, want %s", args, code, msg, want)
		}
	}
}

// tinyModel has one layer, so that a hundred compilations take no time.
func tinyModel(t *testing.T, dir string) string {
	return writeModel(t, filepath.Join(dir, "tiny.onnx"),
		`(float[1, 4] x) => (float[1, 2] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { y = MatMul (x, w) }`)
}

func writeNpy(t *testing.T, path string) string { return writeNpyOf(t, path, []int{1, 4}, 0) }

// writeNpyOf writes floats that are all the same.
func writeNpyOf(t *testing.T, path string, shape []int, value float64) string {
	t.Helper()
	f, err := os.Create(path)
	if err == nil {
		x := tensor.New(tensor.F32, shape)
		for i := range x.Len() {
			x.SetFloat(i, value)
		}
		err = npz.WriteNpy(f, npz.FromTensor(x))
	}
	must(t, err)
	f.Close()
	return path
}

// TestNumbers: numbers out of range, with other units or none at all are
// refused with the flag and the value.
func TestNumbers(t *testing.T) {
	dir := t.TempDir()
	m := tinyModel(t, dir)
	for name, values := range map[string][]string{
		"cases":        {"0", "-1", "10001", "99999999", "99999999999999999999", "1.5", "1e3", "nan", "0x", "three"},
		"tolerance":    {"Inf", "+Inf", "-Inf", "NaN", "-1", "-1e-300", "1e999", "x", "1 %"},
		"top-k":        {"0", "-1", "1.5", "x"},
		"qemu":         {"0", "-1", "10001", "all"},
		"sequence":     {"0", "-3", "x"},
		"min-top1":     {"-0.1", "1.1", "101%", "97", "x", "NaN", "%"},
		"min-sqnr":     {"x", "NaN", "Inf", "1e9", "30dB"},
		"max-segments": {"-1", "-99", "99999999999999999999", "1K", "x"},
		"max-fallback": {"-1", "1.0", "99999999999999999999"},
		"max-ram": {"-1", "1.5K", "10G", "99999999999999999999", "9999999999999K", "K", "0x10", "NaN", "1e3",
			"+ 1"},
		"max-flash": {"-1", "64KB", "9999999999999M", "M"},
		"dim":       {"n=0", "n=-1", "n=99999999999999999999", "n=1.5", "n=x", "n=", "=1", "n", "n=NaN"},
		"limit": {"nodes=0", "nodes=-1", "nodes=99999999999999999999", "nodes=9999999999999G", "node=1", "nodes",
			"nodes=", "=1", "nodes=1T"},
	} {
		verb := "explain"
		if !flagRules[name].applies(verb) {
			verb = "verify"
		}
		if !flagRules[name].applies(verb) || strings.HasPrefix(name, "min-") {
			verb = "eval"
		}
		for _, v := range values {
			args := []string{verb, "-board", "host", "--" + name + "=" + v, m}
			if name == "tolerance" {
				args = append(args, "--golden", dir)
			}
			code, out, msg := call(args...)
			if code != exitUsage || !strings.Contains(msg, "--"+name) || !strings.Contains(msg, v) || out != "" ||
				strings.Contains(msg, "strconv") {
				t.Errorf("%s --%s=%s: exit status %d: %s", verb, name, v, code, msg)
			}
		}
	}
	// A case of a megabyte: ten thousand of them are too many.
	big := writeModel(t, filepath.Join(dir, "big.onnx"), `(float[1, 262144] x) => (float y) { y = Relu (x) }`)
	if code, _, msg := call("verify", "-board", "host", "--precision", "float32", "--cases", "10000",
		big); code != exitUsage || !strings.Contains(msg, "--cases 10000") ||
		!strings.Contains(msg, "want at most 256") {
		t.Errorf("exit status %d: %s", code, msg)
	}
}

// notFiles are what may stand where a file is wanted. A function makes one of
// them at a path.
var notFiles = map[string]func(t *testing.T, path string){
	"an empty file": func(t *testing.T, p string) { must(t, os.WriteFile(p, nil, 0o666)) },
	"a folder":      func(t *testing.T, p string) { must(t, os.Mkdir(p, 0o777)) },
	"a pipe":        mkfifo,
	"a device":      func(t *testing.T, p string) { must(t, os.Symlink("/dev/zero", p)) },
	"nothing":       func(t *testing.T, p string) {},
	"a loop":        func(t *testing.T, p string) { must(t, os.Symlink(filepath.Base(p), p)) },
	"noise": func(t *testing.T, p string) {
		must(t, os.WriteFile(p, []byte("\x93NUMPY\xff\xffnoise\x00\x1b[2J: {["), 0o666))
	},
	"a socket": func(t *testing.T, p string) {
		l := testenv.Must(net.Listen("unix", p))(t)
		t.Cleanup(func() { l.Close() })
	},
	"a file without permission": func(t *testing.T, p string) {
		must(t, os.WriteFile(p, nil, 0)) // empty, too: nobody refuses root
	},
}

func must(t *testing.T, err error) {
	t.Helper()
	testenv.OK(t, err)
}

// TestNotFiles: whatever stands where a flag or an argument wants a file, the
// answer comes at once, is exit status 2, names the path, and nothing is written.
func TestNotFiles(t *testing.T) {
	dir := t.TempDir()
	m := tinyModel(t, dir)
	x := writeNpy(t, filepath.Join(dir, "x.npy"))
	script := filepath.Join(dir, "s.yaml")
	must(t, os.WriteFile(script, []byte("steps:\n- simplify:\n"), 0o666))
	lib := filepath.Join(dir, "lib.a")
	must(t, os.WriteFile(lib, []byte("!<arch>\n"), 0o666))
	out := filepath.Join(dir, "out")
	base := map[string][]string{
		"compile": {"-board", "host", "--out", out}, "verify": {"-board", "host"}, "profile": {"-board", "host"},
		"explain": {"-board", "host"},
		"run":     {"-board", "host", "--out", out, "--input", x}, "legalize": {"--only", "align", "--board", "host",
			"--out", out}, "quantize": {"--out", out},
		"eval": {"-board", "host", "--data", x}, "check": {}, "surgery": {"-f", script, "--out", out},
	}
	try := func(t *testing.T, path, kind string, args ...string) {
		t.Helper()
		code, _, msg := call(args...)
		testenv.Check(t, code == exitUsage && strings.Contains(msg, filepath.Base(path)),
			"%s: %q: exit status %d: %s", kind, args, code, msg)
		if _, err := os.Lstat(out); err == nil {
			t.Errorf("%s: %q wrote something", kind, args)
			os.RemoveAll(out)
		}
	}
	n := 0
	for kind, make := range notFiles {
		for i, ext := range []string{"", ".onnx", ".yaml", ".npy", ".npz"} {
			if n++; i > 1 && kind != "noise" && kind != "an empty file" && n%3 != 0 {
				continue // what is no file has every name somewhere
			}
			p := filepath.Join(dir, fmt.Sprintf("bad%d%s", n, ext))
			make(t, p)
			for verb, args := range base {
				if ext == "" || ext == ".onnx" {
					try(t, p, kind, append([]string{verb}, append(args, p)...)...)
				}
				for name, r := range flagRules {
					if !r.path || !r.applies(verb) || kind == "a folder" && name == "cmsis-nn-include" {
						continue
					}
					all := append([]string{verb}, args...)
					switch name {
					case "cmsis-nn-lib":
						all = append(all, "--cmsis-nn-include", dir)
					case "cmsis-nn-include":
						all = append(all, "--cmsis-nn-lib", lib)
					case "input":
						if i := slices.Index(all, "--input"); i >= 0 {
							all = slices.Delete(all, i, i+2)
						}
						try(t, p, kind, append(slices.Clone(all), "--input", "x="+p, m)...)
					}
					try(t, p, kind, append(all, "--"+name, p, m)...)
				}
				if flagRules["set"].applies(verb) {
					try(t, p, kind, append([]string{verb}, append(args, "--set", "x="+p, m)...)...)
				}
			}
			try(t, p, kind, "boards", p)
			try(t, p, kind, "lm", p)
		}
	}
}

// TestFlagsWithoutEffect: flags that say how a model is quantised are named
// where nothing is quantised, and calibration data is checked all the same.
func TestFlagsWithoutEffect(t *testing.T) {
	const folder = "examples/digits/"
	dir := t.TempDir()
	calib, whole := folder+"digits_calib.npz", filepath.Join(dir, "q.onnx")
	code, _, msg := call("quantize", "--calib", calib, "--out", whole, folder+"digits.onnx")
	testenv.Require(t, code == 0, "%v", msg)
	other := filepath.Join(dir, "other.npy")
	var b bytes.Buffer
	must(t, npz.WriteNpy(&b, npz.FromTensor(tensor.New(tensor.F32, []int{3, 5}))))
	must(t, os.WriteFile(other, b.Bytes(), 0o644))
	junk := filepath.Join(dir, "junk.npz")
	must(t, os.WriteFile(junk, []byte("junk"), 0o644))
	out := filepath.Join(dir, "out")
	for _, m := range []struct {
		why   string
		flags []string
	}{{"quantised already", []string{whole}}, {"--precision float32",
		[]string{"--precision", "float32", folder + "digits.onnx"}}} {
		for _, flag := range []string{"--calib=" + calib, "--calib-method=minmax", "--bias-correction=false",
			"--weight-rounding=nearest", "--equalize", "--fixed-point-weights=n=8,sign=1,delta=auto-pow2",
			"--fixed-point-activations=n=8,sign=0,delta=0.5"} {
			args := append([]string{"compile", "-board", "host", "--out", out, flag}, m.flags...)
			name, _, _ := strings.Cut(flag, "=")
			if code, _, msg := call(args...); code != 0 || !strings.Contains(msg, name+" has no effect: ") ||
				!strings.Contains(msg, m.why) {
				t.Errorf("%v: exit status %d: %s", args, code, msg)
			}
		}
		for _, flag := range []string{"--calib=" + junk, "--calib=" + other, "--fixed-point-weights=n=0"} {
			args := append([]string{"compile", "-board", "host", "--out", out, flag}, m.flags...)
			code, _, msg := call(args...)
			testenv.Check(t, code == 2, "%v: exit status %d: %s", args, code, msg)
		}
	}
	// Samples are the cases of a verification, and the float model uses them all.
	for _, args := range [][]string{{"bisect", "-board", "host", "--calib", calib, whole},
		{"compile", "-board", "host", "--out", out, "--calib", calib, folder + "digits.onnx"}} {
		if code, _, msg := call(args...); code != 0 || strings.Contains(msg, "has no effect") {
			t.Errorf("%v: exit status %d: %s", args, code, msg)
		}
	}
}

// TestQuantisedWeights: a model of quantised weights is computed in float, which is said, until a
// flag asks for more; then it is quantised like a float model.
func TestQuantisedWeights(t *testing.T) {
	dir := t.TempDir()
	m := writeModel(t, filepath.Join(dir, "weights.onnx"), `(float[1, 4] x) => (float[1, 4] y)
<int8[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}, float s = {0.5}, int8 z = {0}>
{ f = DequantizeLinear (w, s, z) y = MatMul (x, f) }`)
	npy := writeNpy(t, filepath.Join(dir, "x.npy"))
	layers := filepath.Join(dir, "layers.yaml")
	must(t, os.WriteFile(layers, []byte("layers: {\"*\": int8}\n"), 0o644))
	for _, c := range [][2]string{{"", "only weights are quantised"}, {"--calib=" + npy, "(int8)"},
		{"--precision=int8", "(int8)"}, {"--precision=int16x8", "(int16x8)"}, {"--weights=int4", "(int4)"},
		{"--layers-config=" + layers, "(int8)"}} {
		args := append(slices.DeleteFunc([]string{c[0]}, func(s string) bool { return s == "" }), m)
		args = append([]string{"compile", "-board", "host", "--out", filepath.Join(dir, "out")}, args...)
		code, out, msg := call(args...)
		testenv.Check(t, code == 0 && strings.Contains(out+msg, c[1]), "%v: exit status %d: %s%s", args, code, out, msg)
	}
	code, _, msg := call("quantize", "--out", filepath.Join(dir, "q.onnx"), m)
	testenv.Check(t, code == 0, "quantize: exit status %d: %s", code, msg)
}
