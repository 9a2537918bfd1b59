// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

var testCommit = commit{hash: "0123456789abcdef", date: time.Unix(1_700_000_000, 0).UTC()}

func must(t *testing.T, err error) {
	t.Helper()
	testenv.OK(t, err)
}

// TestArchives: both kinds hold the files with their modes and the time of the
// commit, nothing of this machine, and are the same bytes each time.
func TestArchives(t *testing.T) {
	list := []entry{{"a/b", []byte("text"), 0o644}, {"nncc", bytes.Repeat([]byte{7}, 100_000), 0o755}}
	for name, write := range map[string]func(io.Writer, string, []entry, time.Time) error{"tar": tarGz, "zip": zipped} {
		var one, two bytes.Buffer
		must(t, write(&one, "dir", list, testCommit.date))
		must(t, write(&two, "dir", list, testCommit.date))
		testenv.Check(t, bytes.Equal(one.Bytes(), two.Bytes()), "%s: other bytes the second time", name)
		var got []string
		if name == "zip" {
			r := testenv.Must(zip.NewReader(bytes.NewReader(one.Bytes()), int64(one.Len())))(t)
			for _, f := range r.File {
				got = append(got, fmt.Sprint(f.Name, f.Mode().Perm(), f.UncompressedSize64, f.Modified.Unix()))
			}
		} else {
			z := testenv.Must(gzip.NewReader(&one))(t)
			testenv.Check(t, z.Name == "" && z.ModTime.IsZero(), "gzip has name %q and time %v", z.Name, z.ModTime)
			r := tar.NewReader(z)
			for h, err := r.Next(); err != io.EOF; h, err = r.Next() {
				must(t, err)
				testenv.Check(t, h.Uid+h.Gid == 0 && h.Uname+h.Gname == "", "%s has a user", h.Name)
				got = append(got, fmt.Sprint(h.Name, h.FileInfo().Mode().Perm(), h.Size, h.ModTime.Unix()))
			}
		}
		want := "dir/a/b-rw-r--r--41700000000 dir/nncc-rwxr-xr-x1000001700000000"
		s := strings.ReplaceAll(strings.Join(got, "|"), " ", "")
		testenv.Check(t, strings.ReplaceAll(s, "|", " ") == want, "%s: %s, want %s", name, got, want)
	}
}

// TestNotes: subjects are a list, whatever characters they have, and not without end.
func TestNotes(t *testing.T) {
	lines := []string{"a1 One: <b> @you #3 *x* `y` [z](w)", "", "b2 Two"}
	s := string(notesText(lines, "v0", testCommit))
	for _, want := range []string{"since v0", testCommit.hash, "(a1)\n", "- Two (b2)\n", "2023-11-14"} {
		testenv.Check(t, strings.Contains(s, want), "no %q in %s", want, s)
	}
	for _, no := range []string{"<b>", "@you", " #3", " *x", " `y", " [z]"} {
		testenv.Check(t, !strings.Contains(s, no), "%q in %s", no, s)
	}
	for range 1000 {
		lines = append(lines, "c3 More")
	}
	if s := string(notesText(lines, "v0", testCommit)); !strings.Contains(s, "more\n") || strings.Count(s, "\n") > 60 {
		t.Errorf("%d lines", strings.Count(s, "\n"))
	}
}

// TestLicenses: licenses are told by their text.
func TestLicenses(t *testing.T) {
	for text, want := range map[string]string{
		"Permission is hereby granted, free of\n charge, to any person":                         "MIT",
		"Apache License\n    Version 2.0, January 2004":                                         "Apache-2.0",
		"Redistribution and use in source and binary forms ... Neither the name of the company": "BSD-3-Clause",
		"Redistribution and use in source and binary forms, with or without":                    "BSD-2-Clause",
		"All rights reserved": "",
		"Permission is hereby granted, free of charge. Licensed under the Apache License, Version 2.0": "Apache-2.0 " +
			"AND MIT",
	} {
		testenv.Equal(t, spdx(text), want, "%q", text)
	}
}

// TestRelease makes a release for this machine twice: the same bytes; the program
// runs and says its commit; the bill of materials has its modules; checksums are
// right. dpkg, pip and go install install it.
func TestRelease(t *testing.T) {
	testenv.Slow(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Chdir(filepath.Join("..", "..", ".."))
	at, err := head()
	if err != nil {
		t.Skipf("no repository: %v", err)
	}
	target := runtime.GOOS + "/" + runtime.GOARCH
	var files [2]map[string][]byte
	var dirs [2]string
	for i := range files {
		dirs[i] = filepath.Join(t.TempDir(), "release")
		list := testenv.Must(release(dirs[i], []string{target}, nil))(t)
		files[i] = map[string][]byte{}
		for _, p := range list {
			b := testenv.Must(os.ReadFile(p))(t)
			files[i][filepath.Base(p)] = b
		}
	}
	for name, b := range files[0] {
		testenv.Check(t, bytes.Equal(b, files[1][name]), "%s: other bytes the second time", name)
	}
	if runtime.GOOS == "linux" {
		testenv.Check(t, len(files[0]) == 6, "%d files, want archive, wheel, Debian package, bill of materials, "+
			"notes, checksums", len(files[0]))
		unpack(t, dirs[0], at)
		installed(t, dirs[0])
	}
	for name, b := range files[0] {
		if strings.HasSuffix(name, ".cdx.json") {
			checkBill(t, b)
		}
	}
	proxied(t)
}

func unpack(t *testing.T, dir string, at commit) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sha256sum -c "+sumsFile+" && tar xzf *.tar.gz && ./nncc-*/nncc version && "+
		"ls nncc-*/nncc.1 nncc-*/completion/nncc.fish nncc-*/LICENSE nncc-*/NOTICE nncc-*/THIRD_PARTY_LICENSES")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "commit "+at.hash) ||
		!strings.Contains(string(out), at.date.Format(time.RFC3339)) {
		t.Errorf("%v: %s", err, out)
	}
}

func checkBill(t *testing.T, b []byte) {
	t.Helper()
	var bill struct {
		BOMFormat  string
		Components []struct {
			Name, Version, PURL string
			Licenses            []any
		}
	}
	must(t, json.Unmarshal(b, &bill))
	seen := ""
	for _, c := range bill.Components {
		seen += c.Name + " "
		if c.Version == "" || !strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@") || len(c.Licenses) == 0 {
			t.Errorf("component %+v", c)
		}
	}
	if bill.BOMFormat != "CycloneDX" || !strings.Contains(seen, "std ") || !strings.Contains(seen, "spf13/pflag ") {
		t.Errorf("%s: %s", bill.BOMFormat, seen)
	}
}

// TestOut: a folder that is no release is not touched.
func TestOut(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	must(t, os.WriteFile(mine, nil, 0o666))
	testenv.Refused(t, testenv.Err(release(dir, nil, nil)), "mine")
	_, err := os.Stat(mine)
	testenv.Check(t, err == nil, "%v", err)
}

// TestReplaced: a module that a folder replaces is listed by its own name, with the license
// that lies in the folder; no path of this machine is told.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/main\n\ngo 1.26\n\nrequire example.org/part v1.2.3\n\n" +
			"replace example.org/part => ./part\n",
		"main.go":      "package main\n\nimport _ \"example.org/part\"\n\nfunc main() {}\n",
		"part/go.mod":  "module example.org/part\n\ngo 1.26\n",
		"part/part.go": "package part\n",
		"part/LICENSE": "Permission is hereby granted, free of charge, to anyone\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(t, os.WriteFile(path, []byte(text), 0o666))
	}
	t.Chdir(dir)
	b, err := exec.Command("go", "build", "-o", "main", ".").CombinedOutput()
	testenv.Require(t, err == nil, "%v\n%s", err, b)
	list := testenv.Must(readModules("main"))(t)
	if len(list) != 2 || list[1].path != "example.org/part" || list[1].version != "v1.2.3" || list[1].spdx != "MIT" {
		t.Errorf("%d modules, the last %s %s of license %s", len(list), list[len(list)-1].path,
			list[len(list)-1].version, list[len(list)-1].spdx)
	}
}
