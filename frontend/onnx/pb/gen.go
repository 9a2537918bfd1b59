// SPDX-License-Identifier: Apache-2.0

// Package pb holds the protobuf messages of the ONNX format.
//
// onnx.pb.go is generated from onnx.proto and committed, so that building nncc
// needs no protoc. After a change of onnx.proto run `go generate` here; it needs
// protoc (Debian: protobuf-compiler) and takes protoc-gen-go from the protobuf
// module that go.mod names.
package pb

//go:generate go build -o protoc-gen-go.tmp google.golang.org/protobuf/cmd/protoc-gen-go
//go:generate protoc --plugin=protoc-gen-go=protoc-gen-go.tmp --go_out=. --go_opt=paths=source_relative onnx.proto
//go:generate rm protoc-gen-go.tmp
