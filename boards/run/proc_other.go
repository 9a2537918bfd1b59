// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package run

import "os/exec"

func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func signalled(*exec.ExitError) (string, bool) { return "", false }
