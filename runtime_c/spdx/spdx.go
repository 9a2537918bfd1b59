// SPDX-License-Identifier: Apache-2.0

// Package spdx writes the line that says under which terms a file may be used,
// in the comments of the file's language (https://spdx.dev/ids).
package spdx

import (
	"bytes"
	"path"
	"strings"
)

// Expressions of licences.
const (
	// Repository is for files that stay in this repository.
	Repository = "Apache-2.0"
	// Emitted is for what is written into the folders of users: kernels, templates
	// and what they become. Whoever gets it chooses: without any condition, or with
	// a grant of patents.
	Emitted = "Apache-2.0 OR MIT-0"
	// Model is for constants of a model: they are under the model's own terms.
	Model = "LicenseRef-Model"
	// EmittedModel is for C with constants of a model.
	EmittedModel = "(" + Emitted + ") AND " + Model
)

// Tag is what the line begins with, behind the sign of the comment.
const Tag = "SPDX-License-" + "Identifier: "

// comment is how a language begins and ends a comment.
type comment struct{ begin, end string }

var (
	slashes = comment{"// ", ""}
	stars   = comment{"/* ", " */"}
	hash    = comment{"# ", ""}
	markup  = comment{"<!-- ", " -->"}
	hole    = comment{"{{- /* ", " */ -}}"}
)

var byExt = map[string]comment{
	".go": slashes, ".js": slashes, ".proto": slashes, ".fbs": slashes, ".rs": slashes, ".ino": slashes,
	".c": stars, ".h": stars, ".hpp": stars, ".cpp": stars, ".cc": stars, ".inc": stars, ".s": stars, ".S": stars,
	".ld": stars, ".css": stars, ".overlay": stars, ".dtsi": stars, ".icf": slashes, ".sct": slashes,
	".yaml": hash, ".yml": hash, ".toml": hash, ".sh": hash, ".bash": hash, ".zsh": hash, ".fish": hash,
	".py": hash, ".cmake": hash, ".in": hash, ".mk": hash, ".properties": hash, ".conf": hash, ".ini": hash,
	".html": markup, ".pdsc": markup, ".xml": markup, ".md": markup,
	".tmpl": hole,
}

var byName = map[string]comment{
	"Makefile": hash, "CMakeLists.txt": hash, "Kconfig": hash, "keywords.txt": hash, ".gitignore": hash,
	".clang-format": hash, "NOTICE": {}, "LICENSE": {},
}

func commentOf(name string) (comment, bool) {
	if c, ok := byName[path.Base(name)]; ok {
		return c, true
	}
	c, ok := byExt[path.Ext(name)]
	return c, ok
}

// Takes reports whether files of such a name can hold the line.
func Takes(name string) bool {
	_, ok := commentOf(name)
	return ok
}

// Of is the licence expression of a text, "" where no line says it.
func Of(text []byte) string {
	for range 4 { // a few lines may have to stand in front of it
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		if _, s, ok := strings.Cut(string(line), Tag); ok {
			for _, end := range []string{" */ -}}", " */", " -->"} {
				s = strings.TrimSuffix(s, end)
			}
			return s
		}
		text = rest
	}
	return ""
}

// Stamp puts the line at the beginning of a text, behind what has to be first
// there. A text that has one, and one whose language has no comments, stays as
// it is.
func Stamp(name string, text []byte, expression string) []byte {
	c, ok := commentOf(name)
	if !ok || Of(text) != "" {
		return text
	}
	line := c.begin + Tag + expression + c.end + "\n"
	if path.Ext(name) == ".go" {
		line += "\n" // or it would be a part of the package's documentation
	}
	at := 0
	for _, first := range []string{"#!", "#compdef", "<?xml", "<!doctype", "<!DOCTYPE"} {
		if bytes.HasPrefix(text, []byte(first)) {
			at = bytes.IndexByte(text, '\n') + 1
		}
	}
	return []byte(string(text[:at]) + line + string(text[at:]))
}

// Strip takes the line away where it is the first.
func Strip(text []byte) []byte {
	if line, rest, _ := bytes.Cut(text, []byte("\n")); bytes.Contains(line, []byte(Tag)) {
		return rest
	}
	return text
}
