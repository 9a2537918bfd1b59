// SPDX-License-Identifier: Apache-2.0

//go:build !packed

package runtimec

import "embed"

// sources is the tree of C; in a build with the tag "packed" it is an archive of the same (packed.go).
//
//go:embed include src kernels.csv
var sources embed.FS
