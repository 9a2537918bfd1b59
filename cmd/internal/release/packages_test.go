// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/irtest/debian"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// sh runs a shell's command in a folder.
func sh(t *testing.T, dir, command string, env ...string) string {
	t.Helper()
	c := exec.Command("sh", "-ec", command)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	testenv.Require(t, err == nil, "%s: %v\n%s", command, err, out)
	return string(out)
}

// digits are the shipped model and its calibration data.
const digits = "cmd/nncc/examples/digits/"

// installed installs the packages of a release for this machine: dpkg and pip know them, and the program runs.
func installed(t *testing.T, release string) {
	t.Helper()
	root := t.TempDir()
	if _, err := exec.LookPath("dpkg"); err == nil && os.Getuid() == 0 {
		out := sh(t, release, `mkdir -p "$R/var/lib/dpkg/info" "$R/var/lib/dpkg/updates"; : >"$R/var/lib/dpkg/status"
dpkg --root="$R" --log=/dev/null -i nncc_*.deb && dpkg --root="$R" -s nncc && "$R/usr/bin/nncc" version`, "R="+root)
		testenv.Check(t, strings.Contains(out, "Status: install ok installed"), "%s", out)
	}
	if exec.Command("python3", "-m", "pip", "--version").Run() != nil {
		t.Log("pip is not installed: the wheel is tested in a Debian system only")
		return
	}
	site := t.TempDir()
	sh(t, release, `python3 -m pip install -q --no-index --no-deps --target "$S" nncc-*.whl`, "S="+site)
	out := sh(t, ".", `python3 -c 'import nncc, sys
d = "`+digits+`digits"
r = nncc.compile(d + ".onnx", d + "_calib.npz", board="cortex-m4", out=sys.argv[1], name="seven")
print(r["verdict"]["text"], r["board"])
try: nncc.compile(d + ".onnx", board="cortex-m5")
except nncc.Error as e: print(e.status, e)' "$S/out"; python3 -m nncc version; "$S/bin/nncc" version`, "S="+site,
		"PYTHONPATH="+site)
	for _, want := range []string{"fits: ", "cortex-m4\n", "did you mean", "2 nncc: error"} {
		testenv.Check(t, strings.Contains(out, want), "no %q in\n%s", want, out)
	}
	testenv.OK(t, testenv.Err(os.Stat(filepath.Join(site, "out", "seven.h"))))
	testenv.Check(t, strings.Count(out, "nncc 0.") == 2, "no version in\n%s", out)
}

// proxied installs the newest version of a module proxy made of files: this tree, and the modules that it wants.
func proxied(t *testing.T) {
	t.Helper()
	proxy, bin := t.TempDir(), t.TempDir()
	const module, version = "github.com/nncc/nncc", "v0.1.0"
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	tree := sh(t, ".", "git -c 'safe.directory=*' ls-files -co --exclude-standard")
	for name := range strings.SplitSeq(strings.TrimSpace(tree), "\n") {
		data, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		testenv.OK(t, err)
		w := testenv.Must(z.Create(module + "@" + version + "/" + name))(t)
		testenv.Must(w.Write(data))(t)
	}
	testenv.OK(t, z.Close())
	mod := testenv.Must(os.ReadFile("go.mod"))(t)
	testenv.OK(t, files.WriteTree(filepath.Join(proxy, module, "@v"), []files.File{
		{Path: "list", Data: []byte(version)},
		{Path: version + ".info", Data: []byte(`{"Version": "` + version + `", "Time": "2026-01-02T03:04:05Z"}`)},
		{Path: version + ".mod", Data: mod}, {Path: version + ".zip", Data: b.Bytes()}}))
	cache := strings.TrimSpace(sh(t, ".", "go env GOMODCACHE"))
	out := sh(t, bin, "go install "+module+"/cmd/nncc@latest && ./nncc version", "GOBIN="+bin, "GOSUMDB=off",
		"GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw -trimpath", "GONOPROXY=none", "GOPRIVATE=",
		"GOPROXY=file://"+proxy+",file://"+cache+"/cache/download")
	testenv.Check(t, strings.Contains(out, "nncc 0.1.0"), "%s", out)
}

// TestPackages: every target has a wheel with its program, and Linux has Debian packages.
func TestPackages(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	for target := range strings.SplitSeq(targets, ",") {
		dir, program := t.TempDir(), "nncc"
		if strings.HasPrefix(target, "windows") {
			program += ".exe"
		}
		list := []entry{{program, []byte("program"), 0o755}}
		for _, name := range []string{"LICENSE", "NOTICE", "README.md", "THIRD_PARTY_LICENSES"} {
			list = append(list, entry{name, []byte(name), 0o644})
		}
		testenv.OK(t, packages(dir, target, list, testCommit.date))
		wheels := testenv.Must(filepath.Glob(filepath.Join(dir, "nncc-*-py3-none-*.whl")))(t)
		debs := testenv.Must(filepath.Glob(filepath.Join(dir, "nncc_*.deb")))(t)
		testenv.Require(t, len(wheels) == 1 && (len(debs) == 1) == strings.HasPrefix(target, "linux"), "%s: %v %v",
			target, wheels, debs)
		z := testenv.Must(zip.OpenReader(wheels[0]))(t)
		f := testenv.Must(z.Open("nncc/bin/" + program))(t)
		mode := testenv.Must(f.Stat())(t).Mode()
		testenv.Check(t, mode.Perm() == 0o755, "%s: mode %v", target, mode)
		testenv.OK(t, z.Close())
	}
}

// TestDebian installs what a release has in a clean Debian: the steps of the container's file, then the wheel, which
// compiles a network of PyTorch and says how good it is.
func TestDebian(t *testing.T) {
	s := debian.New(t)
	t.Chdir(filepath.Join("..", "..", ".."))
	dir := filepath.Join(t.TempDir(), "release")
	testenv.Must(release(dir, []string{"linux/amd64"}, nil))(t)
	sh(t, dir, `rm -rf "$R"; mkdir -p "$R"; cp nncc* "$R"`, "R="+s.Path("tmp/release"))
	container := string(testenv.Must(os.ReadFile("cmd/internal/release/Containerfile"))(t))
	steps := 0
	for line := range strings.Lines(container) {
		switch step, rest, _ := strings.Cut(strings.TrimSpace(line), " "); step {
		case "COPY":
			steps++
			s.Run(t, "/tmp/release", "cp "+rest)
		case "RUN":
			steps++
			s.Run(t, "/", rest)
		}
	}
	testenv.Check(t, steps == 2, "%d steps", steps)
	sh(t, digits, `mkdir -p "$R"; cp digits* "$R"`, "R="+s.Path("work"))
	out := s.Run(t, "/work", "nncc verify -board cortex-m55 --calib digits_calib.npz --cases 2 digits.onnx")
	testenv.Check(t, strings.Contains(out, "0 mismatches") || strings.Contains(out, "equal"), "%s", out)
	sh(t, "cmd/internal/release/testdata", `cp torch_model.py "$R"`, "R="+s.Path("work"))
	out = s.Run(t, "/work", `rm -rf v fw; python3 -m venv --system-site-packages v
v/bin/pip install -q --no-index /tmp/release/nncc-*.whl
v/bin/python torch_model.py
v/bin/nncc version`)
	for _, want := range []string{"fits: ", "input image", "mismatches 0", "more than nine of ten", "nncc 0."} {
		testenv.Check(t, strings.Contains(out, want), "no %q in\n%s", want, out)
	}
	t.Log(out)
}
