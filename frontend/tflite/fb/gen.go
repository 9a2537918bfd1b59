// SPDX-License-Identifier: Apache-2.0

// Package fb holds the accessors of TensorFlow Lite's model format, and the verifier
// that has to pass before they are used.
//
// fb.go is generated from schema.fbs and committed, so that building nncc needs no
// flatc. After a change of schema.fbs run `go generate` here (Debian:
// flatbuffers-compiler).
package fb

//go:generate flatc --go --gen-onefile --go-namespace fb -o . schema.fbs
//go:generate mv schema_generated.go fb.go
