// SPDX-License-Identifier: Apache-2.0

// Package port embeds the C of the test harness: what runs around an emitted
// model on a test machine. It is no part of the code a user ships.
package port

import "embed"

// FS holds common/ (protocol and main program), cortex_m/ (start-up and
// semihosting) and host/ (the same interface on a computer).
//
//go:embed common cortex_m host
var FS embed.FS
