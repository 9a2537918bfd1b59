// SPDX-License-Identifier: Apache-2.0

package files

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPortable: any text becomes a name within a folder, of bounded length, that is no
// device on Windows and not hidden; long ones that differ in their ends stay apart.
func TestPortable(t *testing.T) {
	for in, want := range map[string]string{"a/b": "a_b", "": "_", "..": "_", "../../x": "_.._x", "NUL": "_NUL",
		"con.npy": "_con.npy", "/conv/Conv_output_0": "_conv_Conv_output_0", "é\x00;": "___", ".hidden": "hidden"} {
		if have := Portable(in); have != want {
			t.Errorf("%q: %q, want %q", in, have, want)
		}
	}
	long := strings.Repeat("x", 1000)
	a, b := Portable(long+"a"), Portable(long+"b")
	if a == b || len(a) > mostOfName+9 || !filepath.IsLocal(a) {
		t.Errorf("%q and %q", a, b)
	}
}
