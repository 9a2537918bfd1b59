// SPDX-License-Identifier: Apache-2.0

// release builds what `make release` publishes: static binaries for all targets in
// archives, checksums, a bill of materials for each, and notes from the commits. The
// same commit and version of Go give the same bytes.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/fail"
	"github.com/spf13/pflag"
)

// targets are those of a release.
const targets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	out := pflag.String("out", "out/release", "folder to write, which must not hold anything else")
	list := pflag.StringSlice("targets", strings.Split(targets, ","), "OS/ARCH,... to build for")
	pflag.Usage = func() {
		fmt.Fprintf(os.Stderr, "Example: go run ./cmd/internal/release --out out/release\n\nFlags:\n%s",
			pflag.CommandLine.FlagUsages())
	}
	pflag.Parse()
	if pflag.NArg() > 0 {
		pflag.Usage()
		os.Exit(2)
	}
	files, err := release(*out, *list)
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
func release(out string, targets []string) (_ []string, err error) {
	defer fail.Catch(&err)
	fail.Check(empty(out))
	at := fail.Must(head())
	work := fail.Must(os.MkdirTemp("", "nncc-release-"))
	defer os.RemoveAll(work)
	common := fail.Must(commonFiles())
	for _, t := range targets {
		if err := target(out, work, t, at, common); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
	}
	notes := fail.Must(notes(at))
	fail.Check(os.WriteFile(filepath.Join(out, notesFile), notes, 0o666))
	return sums(out)
}

// empty makes the folder, or takes an older release out of it.
func empty(out string) error {
	if list, err := os.ReadDir(out); err == nil {
		for _, f := range list {
			if n := f.Name(); f.IsDir() || !strings.HasPrefix(n, "nncc-") && n != sumsFile && n != notesFile {
				return fmt.Errorf("%s holds %s, which is no part of a release; choose another --out", out, n)
			}
		}
		if err := os.RemoveAll(out); err != nil {
			return err
		}
	}
	return os.MkdirAll(out, 0o777)
}

// target builds one binary and writes its archive and its bill of materials.
func target(out, work, target string, at commit, common []entry) (err error) {
	defer fail.Catch(&err)
	system, arch, ok := strings.Cut(target, "/")
	if !ok || system == "" || arch == "" {
		return errors.New("want OS/ARCH, such as linux/arm64")
	}
	name := fmt.Sprintf("nncc-%s-%s-%s", driver.Version, system, arch)
	program := "nncc"
	if system == "windows" {
		program += ".exe"
	}
	path := filepath.Join(work, name)
	fail.Check(build(path, system, arch, at))
	binary := fail.Must(os.ReadFile(path))
	modules := fail.Must(readModules(path))
	licenses := fail.Must(licenseTexts(modules))
	list := append([]entry{{program, binary, 0o755}, {"THIRD_PARTY_LICENSES", licenses, 0o644}}, common...)
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	suffix := ".tar.gz"
	write := tarGz
	if system == "windows" {
		suffix, write = ".zip", zipped
	}
	fail.Check(write(&b, name, list, at.date))
	fail.Check(os.WriteFile(filepath.Join(out, name+suffix), b.Bytes(), 0o666))
	bill := fail.Must(sbom(modules, target, binary, at))
	return os.WriteFile(filepath.Join(out, name+".cdx.json"), bill, 0o666)
}

// build makes a static binary in which no path, time or user of this machine is.
func build(path, system, arch string, at commit) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -buildid= "+at.stamp(), "-o", path, "github.com/nncc/nncc/cmd/nncc")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=", "GOAMD64=v1",
		"GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	if o, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, o)
	}
	return nil
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

// tarGz writes files below a folder; headers have the time of the commit, and no user.
func tarGz(w io.Writer, folder string, list []entry, at time.Time) (err error) {
	defer fail.Catch(&err)
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression) // its header has neither name nor time
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range list {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + f.name, Mode: int64(f.mode),
			Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR}
		fail.Check(t.WriteHeader(h))
		fail.Must(t.Write(f.data))
	}
	fail.Check(t.Close())
	return z.Close()
}

// zipped is tarGz for Windows.
func zipped(w io.Writer, folder string, list []entry, at time.Time) (err error) {
	defer fail.Catch(&err)
	z := zip.NewWriter(w)
	for _, f := range list {
		h := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at}
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
