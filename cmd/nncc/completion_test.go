// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// completed are the candidates that end a command line.
func completed(t *testing.T, line ...string) []string {
	t.Helper()
	code, out, msg := call(append([]string{completer}, line...)...)
	if code != exitOK || msg != "" {
		t.Fatalf("%q: exit status %d: %s", line, code, msg)
	}
	var got []string
	for _, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		w, _, _ := strings.Cut(l, "\t")
		got = append(got, w)
	}
	return got
}

// TestCandidates: verbs, flags, values and topics, as far as they are known; files
// are left to the shell.
func TestCandidates(t *testing.T) {
	for _, k := range []struct{ line, want, never string }{
		{"", "compile verify diff help", "--board"},
		{"ver", "verify version", "compile"},
		{"-q ver", "verify version", "compile"},
		{"-board cortex-m4 legalize --on", "--only", "--cases"},
		{"--board = cortex-m4 ver", "verify version", "compile"}, // as bash splits it
		{"--bo", "--board", "--out"},
		{"verify --c", "--cases --calib --calib-method", "--only"},
		{"legalize --on", "--only", "--cases"},
		{"--board cortex-m5", "cortex-m55", "cortex-m4"},
		{"verify -board=cortex-m5", "-board=cortex-m55", "cortex-m55"},
		{"verify --board =", "cortex-m55 host", "="}, // as bash splits it
		{"verify --board = cortex-m5", "cortex-m55", "cortex-m4"},
		{"--calib-method m", "minmax mse", "entropy"},
		{"--fuse ", "on off", ""},
		{"--precision=int", "--precision=int8 --precision=int16x8", "--precision=float32"},
		{"--project m", "make", "cmake"},
		{"--pass bn", "bn-fold=off", "bn-fold"},
		{"--stop-after bn", "bn-fold", "bn-fold=off"},
		{"help deb", "debugging", "verify"},
		{"help ver", "verify", ""},
		{"completion ", "bash zsh fish", ""},
		{"boards stm", "stm32u575", "host"},
		{"verify --layers ", "", "cortex-m55"}, // a model
		{"verify --calib ", "", "--board"},     // a file
		{"nothere --nothere x", "", ""},
	} {
		got := completed(t, strings.Split(k.line, " ")...)
		for _, w := range strings.Fields(k.want) {
			if !slices.Contains(got, w) {
				t.Errorf("%q: %q, want %s among them", k.line, got, w)
			}
		}
		if k.want == "" && strings.Join(got, "") != "" || k.never != "" && slices.Contains(got, k.never) {
			t.Errorf("%q: %q", k.line, got)
		}
	}
}

// TestShells runs the scripts in the shells that are installed.
func TestShells(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	dir := t.TempDir()
	must(t, os.Symlink(self, filepath.Join(dir, "nncc")))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("HOME", dir)
	must(t, os.WriteFile(filepath.Join(dir, "model.onnx"), nil, 0o666))
	programs := map[string]string{
		"bash": `source "$1"; for line in 'nncc ver' 'nncc verify --board cortex-m5' 'nncc verify --calib-me' 'nncc x'
			do COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _nncc
			printf '%s ' "${COMPREPLY[@]}"; echo; done
			complete -p nncc`,
		"zsh": `compdef() { :; }; _describe() { print -r -- "$1:" ${(P)2%%:*} }; _files() { print files }; source "$1"
			for line in 'nncc ver' 'nncc verify --board cortex-m5' 'nncc verify --calib-me' 'nncc x'
			do words=(${=line}); CURRENT=$#words; _nncc; done`,
		"fish": `source $argv[1]
			for line in 'nncc ver' 'nncc verify --board cortex-m5' 'nncc verify --calib-me' 'nncc mod'
			complete -C $line | string replace -r '\t.*' '' | string join ' '; end; true`,
	}
	for _, shell := range shells {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				testenv.Lacks(t, shell, shell+" is not installed")
			}
			code, script, msg := call("completion", shell)
			if code != exitOK || script == "" {
				t.Fatal(msg)
			}
			file := filepath.Join(dir, "nncc."+shell)
			must(t, os.WriteFile(file, []byte(script), 0o666))
			cmd := exec.Command(path, map[string][]string{"bash": {"-c", programs[shell], shell, file},
				"zsh": {"-f", "-c", programs[shell], shell, file}, "fish": {"--no-config", "-c", programs[shell],
					file}}[shell]...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			lines := strings.Split(string(out), "\n")
			if err != nil || len(lines) < 4 {
				t.Fatalf("%v: %s", err, out)
			}
			for i, want := range []string{"verify version", "cortex-m55", "--calib-method"} {
				for _, w := range strings.Fields(want) {
					if !strings.Contains(lines[i], w) || strings.Contains(lines[i], "compile") {
						t.Errorf("%q, want %s", lines[i], want)
					}
				}
			}
			files := map[string]string{"bash": "", "zsh": "files", "fish": "model.onnx"}[shell]
			if last := strings.TrimSpace(lines[3]); last != files {
				t.Errorf("%q, want files (%q)", last, files)
			}
		})
	}
	if code, _, msg := call("completion", "bsh"); code != exitUsage || !strings.Contains(msg, "did you mean bash?") {
		t.Errorf("exit status %d: %s", code, msg)
	}
}

// TestManPage: the page has every verb, flag and topic, and mandoc finds no fault.
func TestManPage(t *testing.T) {
	code, page, msg := call("man")
	if code != exitOK {
		t.Fatal(msg)
	}
	for n := range verbs {
		if !strings.Contains(page, `\fBnncc `+roff(n)+`\fR`) {
			t.Errorf("the verb %s is missing", n)
		}
	}
	for n := range flagRules {
		if n != "help" && !strings.Contains(page, `\fB\-\-`+roff(n)+`\fR`) {
			t.Errorf("the flag --%s is missing", n)
		}
	}
	mandoc := testenv.Tool(t, "mandoc", "mandoc")
	cmd := exec.Command(mandoc, "-Tlint", "-Wwarning")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil {
		for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			if !strings.Contains(l, "missing date") { // the same version gives the same page
				t.Error(l)
			}
		}
	}
}

// TestFlagGroups: help shows every flag of a verb once, in its group; groups name
// flags that exist.
func TestFlagGroups(t *testing.T) {
	for _, g := range flagGroups {
		for _, n := range strings.Fields(g.names) {
			if _, ok := flagRules[n]; !ok {
				t.Errorf("group %s: there is no flag --%s", g.title, n)
			}
		}
	}
	for verb := range verbs {
		_, help, _ := call(verb, "-h")
		titles, _ := grouped(verbFlags(&cli{}, verb))
		for _, g := range titles {
			if len(titles) > 1 && !strings.Contains(help, "Flags, "+g+":\n") {
				t.Errorf("%s -h: no group %s", verb, g)
			}
		}
		for _, want := range []string{"common", "quantisation", "memory", "gates", "debugging"} {
			if verb == "verify" && !slices.Contains(titles, want) {
				t.Errorf("verify has no group %s", want)
			}
		}
		for name, r := range flagRules {
			if r.applies(verb) && strings.Count(help, "--"+name+" ") == 0 {
				t.Errorf("%s -h: no --%s", verb, name)
			}
		}
	}
}
