// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"path"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	runtimec "github.com/nncc/nncc/runtime_c"
	"github.com/nncc/nncc/runtime_c/spdx"
)

// noticeView is what NOTICE prints.
type noticeView struct {
	Of    *firmwareView
	Bare  []bareFile // files without an SPDX line
	Width int        // of the longest of their names
}

// bareFile is a file whose format has no comments.
type bareFile struct{ Path, Expression string }

// Padded is the path in a column of such a width.
func (f bareFile) Padded(width int) string {
	return f.Path + strings.Repeat(" ", max(width-len(f.Path), 0))
}

// withTerms gives every file the line that says under which terms it may be
// used, and adds LICENSE and NOTICE.
func withTerms(v *firmwareView, files []File) []File {
	n := noticeView{Of: v, Bare: []bareFile{{"report.json", spdx.Emitted}}}
	for i, f := range files {
		expression := termsOf(v, f.Path)
		if spdx.Takes(f.Path) {
			files[i].Data = spdx.Stamp(f.Path, f.Data, expression)
		} else {
			n.Bare = append(n.Bare, bareFile{f.Path, expression})
		}
	}
	if v.Has("cmsis-pack") {
		n.Bare = append(n.Bare, bareFile{v.PackFile(), spdx.EmittedModel})
	}
	lists.Sort(n.Bare, func(a, b bareFile) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range n.Bare {
		n.Width = max(n.Width, len(f.Path))
	}
	notice := fail.Must(render("NOTICE.tmpl", n))
	return append(files, File{"LICENSE", runtimec.License}, File{"NOTICE", notice})
}

// termsOf is the licence of a file: that of the model for its constants.
func termsOf(v *firmwareView, file string) string {
	switch base := path.Base(file); {
	case path.Ext(base) == ".bin" || path.Ext(base) == ".lm" || path.Ext(base) == ".inc" || v.isSketchData(base):
		return spdx.Model
	case !strings.HasPrefix(file, "src/") && v.holdsConstants(file):
		return spdx.EmittedModel
	}
	return spdx.Emitted
}

// holdsConstants reports the C text of a model's constants.
func (v *firmwareView) holdsConstants(file string) bool {
	return slices.ContainsFunc(v.Models, func(m *modelView) bool {
		return file == m.Prefix+"_weights.c" && !m.Weights.Binary && m.Bound == nil
	})
}
