// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestRecord: a record says the same twice, and what differs between two is told by field.
func TestRecord(t *testing.T) {
	dir := t.TempDir()
	record := func(name string) string {
		var out bytes.Buffer
		digits := filepath.Join(sharedata.Root(), shipped)
		testenv.OK(t, write([]string{digits}, []string{"cortex-m4", "nowhere"}, []string{"auto", "float32"}, 1, false,
			&out))
		p := filepath.Join(dir, name)
		testenv.OK(t, os.WriteFile(p, out.Bytes(), 0o666))
		return p
	}
	a, b := record("a"), record("b")
	var told bytes.Buffer
	if same, err := compare([]string{a, b}, &told); err != nil || !same {
		t.Fatalf("differs from itself (%v):\n%s", err, &told)
	}
	text := testenv.Must(os.ReadFile(b))(t)
	for what, n := range map[string]int{`outputs=[0-9a-f]{16} `: 6, `arena=[1-9]`: 6, `nowhere \w+ refused="`: 6} {
		got := len(regexp.MustCompile(what).FindAll(text, -1))
		testenv.Check(t, got == n, "%d lines with %s, want %d:\n%s", got, what, n, text)
	}
	changed := regexp.MustCompile(`arena=\d+`).ReplaceAllString(string(text), "arena=1")
	changed = changed[strings.Index(changed, "\n")+1:] // and a line less
	testenv.OK(t, os.WriteFile(b, []byte(changed), 0o666))
	same, err := compare([]string{a, b}, &told)
	if err != nil || same || !strings.HasSuffix(told.String(), "arena: 6 differ\nfiles: 1 differ\noutputs: 1 differ\n"+
		"state: 1 differ\n") {
		t.Errorf("%v, %v:\n%s", same, err, &told)
	}
}
