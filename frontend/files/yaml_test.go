// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestYAML: hostile files are refused at once, with the line; others are read.
func TestYAML(t *testing.T) {
	var keys, bomb strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	bomb.WriteString("a0: &a0 [x]\n")
	for i := range 30 {
		fmt.Fprintf(&bomb, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	began := time.Now()
	for text, want := range map[string]string{
		"": "", "# nothing\n": "", "null": "", "a: 1\nb: [1, {c: 2}]": "",
		keys.String():              "line 10000: more than 20000 values",
		bomb.String():              "line 1: anchors and aliases are not accepted; write it out",
		"a: 1\n<<: {}":             "line 2: merge keys",
		"a: 1\n---\nb:":            "a second YAML document",
		"a: [":                     "line ",
		strings.Repeat("[", 60000): "60000 opening brackets",
		strings.Repeat("[", 90) + strings.Repeat("]", 90):      "nested deeper",
		strings.Repeat("- ", 3000) + "x":                       "nested deeper",
		"a: " + strings.Repeat("[[],", 2000) + "]":             "",
		"k: !!binary \x00":                                     "",
		strings.Repeat("? ", 100000) + "\n":                    "",
		"steps: [" + strings.Repeat("x, ", 30000) + "y]\nz: 1": "more than 20000 values",
	} {
		_, err := YAML([]byte(text), "write it out")
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
		if want == "" && err != nil && len(text) < 40 && !strings.Contains(text, "\x00") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}
