// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

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
		"off", "auto",
		"native", "original", "always", "size", "make,arduino", "n=8", "n=8,sign=1,delta=auto-pow2", "n=64",
		"n=0,sign=9,delta=-1", "delta=1e-300", "cortex-m4", "cortex-m0", "mla-m55", "host", "align",
		"bn-fold,align", "x=0:1", "1:1", "-1:0", "9", "0:-5",
		"nodes=1", "work=1", "fold-work=1G", "percentile", "entropy", "adaptive", "reference", "cmsis-nn", "\x1b[2J",
		"%s%n", strings.Repeat("9", 400)}
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
		if code != exitOK && code != exitUsage && code != exitGate && code != exitDiffer {
			t.Errorf("%q: exit status %d: %.2000s", args, code, msg)
		}
		if code != exitOK && strings.TrimSpace(msg+text) == "" {
			t.Errorf("%q: exit status %d without a word", args, code)
		}
		if code == exitUsage {
			if _, err := os.Lstat(out); err == nil {
				t.Errorf("%q: refused, and something is written: %s", args, msg)
			}
		}
		if f := fs.Lookup("json"); code == exitOK && f != nil && slices.Contains(args, "--json") &&
			!strings.Contains(strings.Join(args, " "), "--json=") && !slices.Contains(args, "--help") {
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Errorf("%q: %v", args, err)
			}
		}
		shown(t, strings.Join(args, " "), msg)
		os.RemoveAll(out)
	}
	t.Logf("exit statuses: %v", codes)
}
