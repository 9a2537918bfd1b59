// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// apt stands for apt-get: 25 packages, and no network where FAIL says so.
const apt = `#!/bin/sh
case "$*" in *update*) exit 0 ;; esac
[ -z "$FAIL" ] || { echo "E: no network"; exit 100; }
echo "0 upgraded, 25 newly installed, 0 to remove and 1 not upgraded."
echo "Need to get 12 MB of archives."
for i in $(seq 25); do echo "Get:$i http://deb.debian.org/debian bookworm/main amd64 p$i amd64 1 [3 kB]"; done
for i in $(seq 25); do echo "Setting up p$i (1) ..."; done
`

// TestSetup: setup.sh says what it installs, how far it is, and why it failed.
func TestSetup(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("setup.sh installs as root only")
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "apt-get"), []byte(apt), 0o777))
	script := string(testenv.Must(os.ReadFile(filepath.Join("examples", "setup.sh")))(t))
	file := filepath.Join(dir, "setup.sh")
	must(t, os.WriteFile(file, []byte(strings.ReplaceAll(script, "command -v gcc", "false")), 0o777))
	setup := func(env string) (string, error) {
		cmd := exec.Command("sh", file, "test")
		cmd.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"), env)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := setup("FAIL=")
	for _, want := range []string{"gcc", "25 packages. Need to get 12 MB", "10 of 25 loaded", "25 of 25 set up"} {
		testenv.Check(t, err == nil && strings.Contains(out, want), "%v: no %q in\n%s", err, want, out)
	}
	out, err = setup("FAIL=1")
	testenv.Check(t, err != nil && strings.Contains(out, "E: no network"), "%v:\n%s", err, out)
}
