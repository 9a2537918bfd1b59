// SPDX-License-Identifier: Apache-2.0

package runtimec_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	runtimec "github.com/nncc/nncc/runtime_c"
)

var (
	cComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cName    = regexp.MustCompile(`[A-Za-z_]\w*`)
	ourName  = regexp.MustCompile(`\b(?:nncc|arm|mla)_\w+(?:\*\w*)?`)
)

// TestComments: functions, types and files that comments speak of exist; with a star,
// some of such a name.
func TestComments(t *testing.T) {
	tree := testenv.Must(runtimec.Tree())(t)
	known := map[string]bool{"nncc_model": true} // in the name of a model's own file
	for p, text := range tree {
		known[strings.TrimSuffix(path.Base(p), path.Ext(p))] = true
		for _, n := range cName.FindAllString(cComment.ReplaceAllString(string(text), " "), -1) {
			known[n] = true
		}
	}
	names := make([]string, 0, len(known))
	for n := range known {
		names = append(names, n)
	}
	seen := 0
	for p, text := range tree {
		for _, c := range cComment.FindAllString(string(text), -1) {
			for _, n := range ourName.FindAllString(c, -1) {
				seen++
				before, behind, star := strings.Cut(n, "*")
				if !star && strings.HasSuffix(n, "_") {
					star = true // nncc_helium_<operator>
				}
				if !known[n] && !(star && slices.ContainsFunc(names, func(k string) bool {
					return strings.HasPrefix(k, before) && strings.HasSuffix(k, behind)
				})) {
					t.Errorf("%s: a comment speaks of %s, which is not there", p, n)
				}
			}
		}
	}
	testenv.Check(t, seen >= 200, "comments have %d names", seen)
}
