// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/fail"
)

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
