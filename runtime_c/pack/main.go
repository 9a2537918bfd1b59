// SPDX-License-Identifier: Apache-2.0

// Command pack writes the C sources as one compressed archive: what a build with
// the tag "packed" embeds in place of the tree.
//
//	go run ./runtime_c/pack
package main

import (
	"log"
	"os"

	runtimec "github.com/nncc/nncc/runtime_c"
)

func main() {
	b, err := runtimec.Pack()
	if err == nil {
		err = os.WriteFile("runtime_c/packed.zip", b, 0o666)
	}
	if err != nil {
		log.Fatalf("pack: %v", err)
	}
}
