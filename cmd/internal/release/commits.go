// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/nncc/nncc/cmd/internal/driver"
)

// commit is what a release is made of.
type commit struct {
	hash  string
	date  time.Time // UTC, of the commit
	dirty bool      // files of the tree are changed
}

// stamp are the flags of the linker that tell the binary.
func (c commit) stamp() string {
	hash := c.hash
	if c.dirty {
		hash += "+changed"
	}
	return "-X main.commit=" + hash + " -X main.date=" + c.date.Format(time.RFC3339)
}

func git(args ...string) (string, error) {
	// repositories of other users (containers of CI services) are read all the same
	cmd := exec.Command("git", append([]string{"-c", "safe.directory=*"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	b, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return strings.TrimSpace(string(b)), nil
}

func head() (commit, error) {
	line, err := git("log", "-1", "--format=%H %ct")
	if err != nil {
		return commit{}, err
	}
	var c commit
	var seconds int64
	if _, err := fmt.Sscan(line, &c.hash, &seconds); err != nil {
		return commit{}, fmt.Errorf("git log: %q: %w", line, err)
	}
	c.date = time.Unix(seconds, 0).UTC()
	status, err := git("status", "--porcelain")
	c.dirty = status != ""
	return c, err
}

// mostNotes bounds the commits that notes list.
const mostNotes = 40

// notes are the subjects of the commits since the last tag.
func notes(at commit) ([]byte, error) {
	span, since := "HEAD", "the beginning"
	// of a tag on the commit itself, the one before it counts
	if tag, err := git("describe", "--tags", "--abbrev=0", "HEAD^"); err == nil {
		span, since = tag+"..HEAD", tag
	}
	log, err := git("log", "--no-merges", "--format=%h %s", span)
	if err != nil {
		return nil, err
	}
	return notesText(strings.Split(log, "\n"), since, at), nil
}

func notesText(lines []string, since string, at commit) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# nncc %s\n\nCommit %s of %s. Changes since %s:\n\n", driver.Version, at.hash,
		at.date.Format(time.DateOnly), since)
	for i, l := range lines {
		if i == mostNotes {
			fmt.Fprintf(&b, "- and %d more\n", len(lines)-i)
			break
		}
		hash, subject, _ := strings.Cut(l, " ")
		if subject != "" {
			fmt.Fprintf(&b, "- %s (%s)\n", markdown.Replace(subject), hash)
		}
	}
	fmt.Fprintf(&b, "\nEach archive has the program, its manual page and completions. %s has the checksums "+
		"(sha256sum -c), FILE.cdx.json the modules of a binary (CycloneDX).\n", sumsFile)
	return b.Bytes()
}

// markdown keeps a subject as it is.
var markdown = strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", `\*`, "`", "\\`", "[", `\[`, "@",
	"&#64;", "#", "&#35;")
