// SPDX-License-Identifier: Apache-2.0

package data

import (
	"maps"
	"slices"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/preprocess"
)

// told are the keys of a kind that were declared, and whether anything asked for them.
type told struct {
	said []string
	used bool
}

// idle are keys that do nothing beside the others: the key, what it wants, whether that
// is there.
func (x *Image) idle() []string {
	var out []string
	for _, k := range []struct {
		key, want string
		there     bool
	}{
		{"pad", "image.resize=fit", x.Resize == preprocess.Fit},
		{"range", "image.format=yuyv or another of YUV", x.Format == preprocess.YUYV || x.Format == preprocess.UYVY},
		{"frame", "image.emit=true", x.Emit},
	} {
		if slices.Contains(x.said, k.key) && !k.there {
			out = append(out, "image."+k.key+", which wants "+k.want)
		}
	}
	return out
}

// Idle says which declared keys have had no effect on what was read and written so far.
func (s *Spec) Idle() diag.List {
	if s == nil {
		return nil
	}
	var out diag.List
	unread := func(of, kind, what string) {
		out.Add(diag.Notef("no-effect", "--preprocess", "--preprocess %s%s has had no effect: no %s was read", of, kind,
			what))
	}
	say := func(name string, in *Input) {
		of := ""
		if name != "" {
			of = text.Line(name) + ": "
		}
		if x := in.Image; x != nil {
			for _, k := range x.idle() {
				out.Add(diag.Warnf("no-effect", "--preprocess", "--preprocess has no effect with %s%s", of, k))
			}
		}
		if x := in.Image; x != nil && !x.used {
			unread(of, "image", "picture")
		}
		if x := in.Sound; x != nil && !x.used {
			unread(of, "audio", "recording")
		}
		if x := in.Table; x != nil && !x.used {
			unread(of, "csv", "table")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Inputs)) {
		say(name, s.Inputs[name])
	}
	if len(s.Inputs) == 0 { // else it stands in these, too
		say("", &s.All)
	}
	return out
}
