// SPDX-License-Identifier: Apache-2.0

// release builds what `make release` publishes: static binaries for all targets in
// archives, checksums, a bill of materials for each, and notes from the commits. The
// same commit and version of Go give the same bytes.
package main

import (
	"fmt"
	"os"
	"strings"

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
