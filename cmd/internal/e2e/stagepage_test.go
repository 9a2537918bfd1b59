// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestStagePage: the page of --dump-ir draws every stage, says what changed,
// needs nothing from elsewhere, and names stay text.
func TestStagePage(t *testing.T) {
	c := digitsConfig("cortex-m55")
	c.DumpIR = filepath.Join(t.TempDir(), "dump")
	o := mustCompile(t, c)
	b, err := os.ReadFile(filepath.Join(c.DumpIR, "index.html"))
	require(t, err)
	page := string(b)
	if n := strings.Count(page, "<section"); n != len(dumped(t, c.DumpIR)) {
		t.Errorf("%d columns, %d stages", n, len(dumped(t, c.DumpIR)))
	}
	for _, want := range []string{"-calibrate</h2>", `class="row mac`, "altered", " gone",
		o.Lowered.Low[o.Lowered.Graph.Nodes[0]].Kernel} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if at := regexp.MustCompile(`https?:|src=|@import|url\(`).FindString(page); at != "" {
		t.Errorf("the page needs something else: %s", at)
	}
	balanced(t, regexp.MustCompile(`(?s)<script>.*</script>|<!DOCTYPE html>|<input[^>]*>`).ReplaceAllString(page, ""))
}
