// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/nncc/nncc/cmd/internal/driver"
)

// Set by the linker in releases and by make; otherwise read from what go build and
// go install leave in the binary.
var commit, date string

// build is what a binary was made from.
type build struct {
	Version  string `json:"version"` // which emitted files and reports carry
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// version prints the version, and what the binary was made from.
func (c *cli) version(args []string) error {
	if err := noArgs(args); err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	b := buildOf(info)
	if c.cfg.JSON {
		return c.json(b)
	}
	fmt.Fprintln(c.out, b)
	return nil
}

// pseudo is a version of Go for a commit: its date and the beginning of its hash.
var pseudo = regexp.MustCompile(`[-.](\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)-([0-9a-f]{12})(\+|$)`)

func buildOf(info *debug.BuildInfo) build {
	b := build{Version: driver.Version, Commit: commit, Date: date, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil || commit != "" {
		return b
	}
	if m := pseudo.FindStringSubmatch(info.Main.Version); m != nil {
		b.Commit = m[7]
		b.Date = fmt.Sprintf("%s-%s-%sT%s:%s:%sZ", m[1], m[2], m[3], m[4], m[5], m[6])
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	s := "nncc " + b.Version
	if b.Commit != "" {
		s += ", commit " + b.Commit
		if b.Modified {
			s += " with changes"
		}
	}
	if b.Date != "" {
		s += " of " + b.Date
	}
	return s + ", " + b.Go + " " + b.Platform
}
