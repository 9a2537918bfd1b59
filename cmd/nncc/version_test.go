// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime/debug"
	"testing"
)

// TestVersion: commit and date come from the linker, from what go build saw, or from the
// version that go install was asked for.
func TestVersion(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		{Key: "vcs.modified", Value: "true"}}
	for _, k := range []struct {
		info         *debug.BuildInfo
		commit, date string
		modified     bool
	}{
		{nil, "", "", false},
		{built("(devel)"), "", "", false},
		{built("v1.2.3"), "", "", false},
		{built("(devel)", vcs...), "abc", "2026-01-02T03:04:05Z", true},
		{built("v0.0.0-20260102030405-0123456789ab"), "0123456789ab", "2026-01-02T03:04:05Z", false},
		{built("v0.1.1-0.20260102030405-0123456789ab+dirty"), "0123456789ab", "2026-01-02T03:04:05Z", false},
	} {
		if b := buildOf(k.info); b.Commit != k.commit || b.Date != k.date || b.Modified != k.modified {
			t.Errorf("%+v: %+v", k.info, b)
		}
	}
	defer func(c, d string) { commit, date = c, d }(commit, date)
	commit, date = "def", "2026-05-05T00:00:00Z"
	if b := buildOf(built("(devel)", vcs...)); b.Commit != "def" || b.Date != date || b.Modified {
		t.Errorf("the linker's values are lost: %+v", b)
	}
}
