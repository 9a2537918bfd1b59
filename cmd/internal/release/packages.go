// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/fail"
)

// Wheels and Debian packages of the targets: the tag of the platform (PEP 425), the name of the architecture.
var (
	wheelTags = map[string]string{"linux/amd64": "manylinux2014_x86_64.musllinux_1_1_x86_64",
		"linux/arm64": "manylinux2014_aarch64.musllinux_1_1_aarch64", "darwin/amd64": "macosx_11_0_x86_64",
		"darwin/arm64": "macosx_11_0_arm64", "windows/amd64": "win_amd64", "windows/arm64": "win_arm64"}
	debTargets = map[string]string{"linux/amd64": "amd64", "linux/arm64": "arm64"}
)

// pythonFolder has the package that calls the program.
const pythonFolder = "cmd/nncc/python"

// packages writes those that a target has, of the files of its archive.
func packages(out, target string, list []entry, at time.Time) (err error) {
	defer fail.Catch(&err)
	by := map[string]entry{}
	for _, f := range list {
		by[strings.TrimSuffix(f.name, ".exe")] = f
	}
	if tag := wheelTags[target]; tag != "" {
		// Python's versions have no hyphen; in Debian's, what stands behind a tilde comes before the release.
		name := fmt.Sprintf("nncc-%s-py3-none-%s.whl", strings.Replace(driver.Version, "-", "", 1), tag)
		fail.Check(os.WriteFile(filepath.Join(out, name), fail.Must(wheel(tag, by, at)), 0o666))
	}
	if arch := debTargets[target]; arch != "" {
		name := fmt.Sprintf("nncc_%s_%s.deb", strings.Replace(driver.Version, "-", "~", 1), arch)
		fail.Check(os.WriteFile(filepath.Join(out, name), deb(arch, by, at), 0o666))
	}
	return nil
}

// wheel is a package for pip: the program, and the module that calls it.
func wheel(tag string, by map[string]entry, at time.Time) (_ []byte, err error) {
	defer fail.Catch(&err)
	version := strings.Replace(driver.Version, "-", "", 1)
	info := "nncc-" + version + ".dist-info/"
	program := by["nncc"]
	list := []entry{{"nncc/bin/" + program.name, program.data, 0o755}}
	for _, f := range fail.Must(filepath.Glob(pythonFolder + "/nncc/*.py")) {
		list = append(list, entry{"nncc/" + filepath.Base(f), fail.Must(os.ReadFile(f)), 0o644})
	}
	for _, l := range []string{"LICENSE", "NOTICE", "THIRD_PARTY_LICENSES"} {
		list = append(list, entry{info + "licenses/" + l, by[l].data, 0o644})
	}
	tags := ""
	for t := range strings.SplitSeq(tag, ".") {
		tags += "Tag: py3-none-" + t + "\n"
	}
	for name, text := range map[string]string{
		"WHEEL":            "Wheel-Version: 1.0\nGenerator: nncc\nRoot-Is-Purelib: false\n" + tags,
		"METADATA":         fmt.Sprintf(metadata, version, summary, by["README.md"].data),
		"entry_points.txt": "[console_scripts]\nnncc = nncc:main\n",
	} {
		list = append(list, entry{info + name, []byte(text), 0o644})
	}
	sortEntries(list)
	record := ""
	for _, f := range list {
		sum := sha256.Sum256(f.data)
		record += fmt.Sprintf("%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	list = append(list, entry{info + "RECORD", []byte(record + info + "RECORD,,\n"), 0o644})
	var b bytes.Buffer
	err = zipped(&b, "", list, at)
	return b.Bytes(), err
}

// metadata of a wheel, of its version, the summary and the README.
const metadata = `Metadata-Version: 2.1
Name: nncc
Version: %s
Summary: %s
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: torch
Requires-Dist: torch; extra == "torch"
Requires-Dist: onnx; extra == "torch"
Description-Content-Type: text/markdown

%s`

const summary = "cross-compiler for neural networks: ONNX or TensorFlow Lite in, C firmware out"

// debFiles are where files of the archive lie on a Debian system.
var debFiles = map[string]string{"nncc": "usr/bin/nncc", "nncc.1": "usr/share/man/man1/nncc.1.gz",
	"completion/nncc.bash": "usr/share/bash-completion/completions/nncc",
	"completion/nncc.zsh":  "usr/share/zsh/vendor-completions/_nncc",
	"completion/nncc.fish": "usr/share/fish/vendor_completions.d/nncc.fish",
	"LICENSE":              "usr/share/doc/nncc/copyright", "NOTICE": "usr/share/doc/nncc/NOTICE",
	"THIRD_PARTY_LICENSES": "usr/share/doc/nncc/THIRD_PARTY_LICENSES"}

// debControl is of the version, the architecture, kilobytes and the summary.
const debControl = `Package: nncc
Version: %s
Architecture: %s
Maintainer: nncc <nncc@users.noreply.github.com>
Installed-Size: %d
Recommends: gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm
Section: devel
Priority: optional
Description: %s
 Firmware is verified on an emulated Cortex-M, bit for bit.
`

// deb is a Debian package: an ar archive of its version, control and data.
func deb(arch string, by map[string]entry, at time.Time) []byte {
	var list []entry
	folders := map[string]bool{".": true}
	size := 0
	for name, to := range debFiles {
		f := by[name]
		if strings.HasSuffix(to, ".gz") {
			f.data = packed(f.data)
		}
		list = append(list, entry{to, f.data, f.mode})
		size += len(f.data)
		for d := path.Dir(to); !folders[d]; d = path.Dir(d) {
			folders[d] = true
			list = append(list, entry{d, nil, fs.ModeDir | 0o755})
		}
	}
	sortEntries(list) // a folder comes before what it holds
	control := fmt.Sprintf(debControl, strings.Replace(driver.Version, "-", "~", 1), arch, size/1024, summary)
	b := bytes.NewBufferString("!<arch>\n")
	member := func(name string, data []byte) {
		fmt.Fprintf(b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n%s", name, at.Unix(), 0, 0, 0o100644, len(data), data)
		if len(data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	member("debian-binary", []byte("2.0\n"))
	var c, d bytes.Buffer
	fail.Check(tarGz(&c, "", []entry{{"control", []byte(control), 0o644}}, at))
	member("control.tar.gz", c.Bytes())
	fail.Check(tarGz(&d, "", list, at))
	member("data.tar.gz", d.Bytes())
	return b.Bytes()
}

func packed(data []byte) []byte {
	var b bytes.Buffer
	z := fail.Must(gzip.NewWriterLevel(&b, gzip.BestCompression))
	fail.Must(z.Write(data))
	fail.Check(z.Close())
	return b.Bytes()
}
