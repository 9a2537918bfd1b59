// SPDX-License-Identifier: Apache-2.0

// Package debian gives tests a clean Debian 13 to install and run things in.
package debian

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// System is the folder of a system.
type System string

// packages are what any test may want of it.
const packages = "python3-torch,python3-onnx,python3-pil,python3-pip,python3-venv"

// New is a system made by debootstrap for a test in its long form, or that of NNCC_CHROOT, which is kept, and made
// where there is none.
func New(t *testing.T) System {
	t.Helper()
	testenv.SkipIf(t, !testenv.Long(), "NNCC_LONG: it loads a gigabyte")
	testenv.SkipIf(t, os.Getuid() != 0, "only root makes a Debian system")
	dir := testenv.Get("NNCC_CHROOT")
	if dir == "" {
		dir = t.TempDir()
		t.Cleanup(func() { exec.Command("umount", filepath.Join(dir, "proc")).Run() })
	}
	if _, err := os.Stat(filepath.Join(dir, "usr", "bin", "python3")); err == nil {
		return System(dir)
	}
	program := testenv.Tool(t, "debootstrap", "debootstrap")
	out, err := exec.Command(program, "--variant=minbase", "--include="+packages, "trixie", dir).CombinedOutput()
	testenv.Require(t, err == nil, "%v\n%s", err, out)
	return System(dir)
}

// Path is a path of the system as others see it.
func (s System) Path(path string) string { return filepath.Join(string(s), path) }

// Run runs a shell's command in a folder of the system and gives what it says.
func (s System) Run(t *testing.T, folder, command string) string {
	t.Helper()
	c := exec.Command("chroot", string(s), "sh", "-ec", "cd "+folder+"\n"+command)
	c.Env = append(os.Environ(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "OMP_NUM_THREADS=1") // threads wait for each other, busily
	out, err := c.CombinedOutput()
	testenv.Require(t, err == nil, "%s: %v\n%s", command, err, out)
	return string(out)
}
