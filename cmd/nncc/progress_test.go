// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// locked is a buffer that a timer may write to.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestPlainProgress: off a terminal a short command says nothing, a long one whole
// lines, counters not each of them; nothing comes after the end.
func TestPlainProgress(t *testing.T) {
	var b locked
	p := plainProgress(&b, time.Hour)
	p.say("reading")
	p.end()
	p.say("more")
	if s := b.String(); s != "" {
		t.Errorf("a short command says %q", s)
	}
	b = locked{}
	p = plainProgress(&b, time.Hour)
	p.say("reading a\x1b[2J")
	p.wait.Reset(0) // the time has come
	for b.String() == "" {
		time.Sleep(time.Millisecond)
	}
	for i := range 1000 {
		p.say(fmt.Sprintf("sample %d of 1000", i+1))
	}
	p.done()
	p.say("writing")
	p.say("writing")
	p.end()
	if s := b.String(); s != "nncc: reading a\\x1b[2J\nnncc: sample 1 of 1000\nnncc: writing\n" {
		t.Errorf("said %q", s)
	}
}

// TestQuiet: neither notes nor progress; warnings and results stay.
func TestQuiet(t *testing.T) {
	dir := t.TempDir()
	m := writeModel(t, filepath.Join(dir, "m.onnx"),
		`(float[N, 4] x) => (float[N, 2] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { y = MatMul (x, w) }`)
	args := []string{"compile", "--board", "host", "--out", filepath.Join(dir, "o"), m}
	_, loud, msg := call(args...)
	if !strings.Contains(msg, "nncc: note: ") || !strings.Contains(msg, "nncc: warning: ") {
		t.Fatalf("this command has no note or no warning: %s", msg)
	}
	for _, flag := range []string{"--quiet", "-q"} {
		must(t, os.RemoveAll(filepath.Join(dir, "o")))
		code, out, msg := call(append(args, flag)...)
		if code != exitOK || out != loud || strings.Contains(msg, "note") || !strings.Contains(msg, "nncc: warning: ") {
			t.Errorf("%s: exit status %d: %s%s", flag, code, out, msg)
		}
	}
}
