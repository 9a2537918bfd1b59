// SPDX-License-Identifier: Apache-2.0

// release builds what `make release` publishes: static binaries for all targets in
// archives, Python wheels and Debian packages, checksums, a bill of materials for each,
// and notes from the commits. The same commit and version of Go give the same bytes.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/spf13/pflag"
)

// targets are those of a release.
const targets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	out := pflag.String("out", "out/release", "folder to write, which must not hold anything else")
	list := pflag.StringSlice("targets", strings.Split(targets, ","), "OS/ARCH,... to build for")
	pflag.Usage = func() {
		fmt.Fprintf(os.Stderr, "Example: go run ./cmd/internal/release --out out/release -- BUILD FLAGS\n\nFlags:\n%s",
			pflag.CommandLine.FlagUsages())
	}
	pflag.Parse()
	if pflag.NArg() > 0 && pflag.CommandLine.ArgsLenAtDash() != 0 {
		pflag.Usage()
		os.Exit(2)
	}
	files, err := release(*out, *list, pflag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	for _, f := range files {
		fmt.Println(f)
	}
}

// File names of a release beside the archives.
const (
	sumsFile  = "SHA256SUMS"
	notesFile = "RELEASE_NOTES.md"
)

// release writes everything and gives the paths.
func release(out string, targets, flags []string) (_ []string, err error) {
	defer fail.Catch(&err)
	empty(out)
	at := fail.Must(head())
	work := fail.Must(os.MkdirTemp("", "nncc-release-"))
	defer os.RemoveAll(work)
	common := fail.Must(commonFiles())
	for _, t := range targets {
		if err := target(out, work, t, flags, at, common); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
	}
	notes := notes(at)
	fail.Check(os.WriteFile(filepath.Join(out, notesFile), notes, 0o666))
	return sums(out)
}

// empty makes the folder, or takes an older release out of it.
func empty(out string) {
	if list, err := os.ReadDir(out); err == nil {
		for _, f := range list {
			if n := f.Name(); f.IsDir() || !strings.HasPrefix(n, "nncc") && n != sumsFile && n != notesFile {
				fail.Errorf("%s holds %s, which is no part of a release; choose another --out", out, n)
			}
		}
		fail.Check(os.RemoveAll(out))
	}
	fail.Check(os.MkdirAll(out, 0o777))
}

// target builds one binary and writes its archive and its bill of materials.
func target(out, work, target string, flags []string, at commit, common []entry) (err error) {
	defer fail.Catch(&err)
	system, arch, ok := strings.Cut(target, "/")
	fail.If(!ok || system == "" || arch == "", "want OS/ARCH, such as linux/arm64")
	name := fmt.Sprintf("nncc-%s-%s-%s", driver.Version, system, arch)
	program := "nncc"
	if system == "windows" {
		program += ".exe"
	}
	built := filepath.Join(work, name)
	build(built, system, arch, flags, at)
	binary := fail.Must(os.ReadFile(built))
	modules := fail.Must(readModules(built))
	licenses := licenseTexts(modules)
	list := append([]entry{{program, binary, 0o755}, {"THIRD_PARTY_LICENSES", licenses, 0o644}}, common...)
	sortEntries(list)
	var b bytes.Buffer
	suffix := ".tar.gz"
	write := tarGz
	if system == "windows" {
		suffix, write = ".zip", zipped
	}
	fail.Check(write(&b, name, list, at.date))
	fail.Check(os.WriteFile(filepath.Join(out, name+suffix), b.Bytes(), 0o666))
	fail.Check(packages(out, target, list, at.date))
	bill := fail.Must(sbom(modules, target, binary, at))
	return os.WriteFile(filepath.Join(out, name+".cdx.json"), bill, 0o666)
}

// build makes a static binary in which no path, time or user of this machine is.
func build(path, system, arch string, flags []string, at commit) {
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -funcalign=16 -buildid= "+at.stamp(), "-o", path, "github.com/nncc/nncc/cmd/nncc")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=", "GOAMD64=v1",
		"GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	if o, err := cmd.CombinedOutput(); err != nil {
		fail.Errorf("go build: %w\n%s", err, o)
	}
}

// commonFiles are in every archive.
func commonFiles() ([]entry, error) {
	var out []entry
	for _, f := range []string{"LICENSE", "NOTICE", "README.md"} {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("run it in the root of the repository: %w", err)
		}
		out = append(out, entry{f, b, 0o644})
	}
	for name, args := range map[string][]string{"nncc.1": {"man"}, "completion/nncc.bash": {"completion", "bash"},
		"completion/nncc.zsh": {"completion", "zsh"}, "completion/nncc.fish": {"completion", "fish"}} {
		cmd := exec.Command("go", append([]string{"run", "./cmd/nncc"}, args...)...)
		cmd.Stderr = os.Stderr
		b, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("nncc %s: %w", strings.Join(args, " "), err)
		}
		out = append(out, entry{name, b, 0o644})
	}
	return out, nil
}

// sums writes the checksums of all files and gives their paths.
func sums(out string) ([]string, error) {
	list, err := os.ReadDir(out) // sorted
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	var paths []string
	for _, f := range list {
		p := filepath.Join(out, f.Name())
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), f.Name())
		paths = append(paths, p)
	}
	p := filepath.Join(out, sumsFile)
	return append(paths, p), os.WriteFile(p, b.Bytes(), 0o666)
}

// entry is a file of an archive.
type entry struct {
	name string
	data []byte
	mode fs.FileMode
}

func sortEntries(list []entry) {
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
}

// tarGz writes files below a folder; headers have the time of the commit, and no user.
func tarGz(w io.Writer, folder string, list []entry, at time.Time) (err error) {
	defer fail.Catch(&err)
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression) // its header has neither name nor time
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range list {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(folder, f.name), Mode: int64(f.mode.Perm()),
			Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR}
		if f.mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		}
		fail.Check(t.WriteHeader(h))
		fail.Must(t.Write(f.data))
	}
	fail.Check(t.Close())
	return z.Close()
}

// zipped is tarGz for Windows, and for wheels.
func zipped(w io.Writer, folder string, list []entry, at time.Time) (err error) {
	defer fail.Catch(&err)
	z := zip.NewWriter(w)
	for _, f := range list {
		h := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		to := fail.Must(z.CreateHeader(h))
		fail.Must(to.Write(f.data))
	}
	return z.Close()
}

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
func notes(at commit) []byte {
	span, since := "HEAD", "the beginning"
	// of a tag on the commit itself, the one before it counts
	if tag, err := git("describe", "--tags", "--abbrev=0", "HEAD^"); err == nil {
		span, since = tag+"..HEAD", tag
	}
	log := fail.Must(git("log", "--no-merges", "--format=%h %s", span))
	return notesText(strings.Split(log, "\n"), since, at)
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

// module is what a binary is made of beside nncc itself.
type module struct {
	path, version, sum string
	spdx               string // an expression of licenses; "": not known by its text
	texts              []byte
}

// licenseFiles are the files of a module that its license asks to pass on.
var licenseFiles = regexp.MustCompile(`^(?i)(licen[cs]e|copying|notice|patents|authors)`)

// readModules reads the modules from a binary's build info, Go's own library first.
func readModules(binary string) (_ []module, err error) {
	defer fail.Catch(&err)
	info := fail.Must(buildinfo.ReadFile(binary))
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	std := module{path: "std", version: strings.TrimPrefix(info.GoVersion, "go")}
	std.license(strings.TrimSpace(string(root)))
	out := []module{std}
	for _, d := range info.Deps {
		// The module graph knows the path that is required; its folder is that of what replaces it.
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", d.Path).Output()
		if err != nil {
			return nil, fmt.Errorf("go list -m %s: %w", d.Path, err)
		}
		m := module{path: d.Path, version: d.Version, sum: d.Sum}
		// A folder has no version of its own, and no path of this machine is told.
		if r := d.Replace; r != nil && r.Version != "" && r.Version != "(devel)" {
			m = module{path: r.Path, version: r.Version, sum: r.Sum}
		}
		m.license(strings.TrimSpace(string(dir)))
		out = append(out, m)
	}
	return out, nil
}

func (m *module) license(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		fail.Errorf("module %s: %w", m.path, err)
	}
	for _, f := range list {
		if f.IsDir() || !licenseFiles.MatchString(f.Name()) {
			continue
		}
		b := fail.Must(os.ReadFile(filepath.Join(dir, f.Name())))
		if m.spdx == "" {
			m.spdx = spdx(string(b))
		}
		m.texts = append(append(m.texts, b...), '\n')
	}
	fail.If(m.texts == nil, "module %s has no license file", m.path)
}

// spdx tells licenses by their words, joined by AND where a text has several; "" where it has none of the usual ones.
func spdx(text string) string {
	s := strings.Join(strings.Fields(text), " ")
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
	}
	bsd := has("Redistribution and use in source and binary forms")
	attributed := has("Neither the name", "names of its contributors")
	var list []string
	for _, l := range []struct {
		id string
		is bool
	}{
		{"Apache-2.0", has("Apache License Version 2.0", "under the Apache License, Version 2.0")},
		{"MPL-2.0", has("Mozilla Public License") && has("2.0")},
		{"MIT", has("Permission is hereby granted, free of charge")},
		{"BSD-3-Clause", bsd && attributed},
		{"BSD-2-Clause", bsd && !attributed},
	} {
		if l.is {
			list = append(list, l.id)
		}
	}
	return strings.Join(list, " AND ")
}

func licenseTexts(list []module) []byte {
	var b bytes.Buffer
	b.WriteString("nncc contains the following modules, each under its own license.\n")
	for _, m := range list {
		fmt.Fprintf(&b, "\n%s\n%s %s\n%s\n\n", strings.Repeat("=", 80), m.path, m.version, strings.Repeat("=", 80))
		b.Write(m.texts)
	}
	return b.Bytes()
}

type object = map[string]any

// sbom is the bill of materials of a binary, CycloneDX 1.5.
func sbom(list []module, target string, binary []byte, at commit) ([]byte, error) {
	components := []object{}
	for _, m := range list {
		c := object{"type": "library", "name": m.path, "version": m.version, "purl": purl(m.path, m.version),
			"bom-ref": purl(m.path, m.version)}
		if m.spdx != "" {
			c["licenses"] = []object{licensed(m.spdx)}
		}
		if m.sum != "" {
			c["properties"] = []object{{"name": "go:sum", "value": m.sum}}
		}
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b object) int {
		return strings.Compare(a["name"].(string), b["name"].(string))
	})
	self := purl("github.com/nncc/nncc", "v"+driver.Version)
	refs := lists.Map(components, func(c object) string { return c["bom-ref"].(string) })
	bill := object{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": object{"timestamp": at.date.Format(time.RFC3339), "component": object{"type": "application",
			"name": "nncc", "version": driver.Version, "purl": self, "bom-ref": self,
			"licenses":   []object{{"license": object{"id": "Apache-2.0"}}},
			"hashes":     []object{{"alg": "SHA-256", "content": fmt.Sprintf("%x", sha256.Sum256(binary))}},
			"properties": []object{{"name": "target", "value": target}, {"name": "commit", "value": at.hash}}}},
		"components":   components,
		"dependencies": []object{{"ref": self, "dependsOn": refs}}}
	b, err := json.MarshalIndent(bill, "", "  ")
	return append(b, '\n'), err
}

func licensed(expression string) object {
	if strings.Contains(expression, " AND ") {
		return object{"expression": expression}
	}
	return object{"license": object{"id": expression}}
}

func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
