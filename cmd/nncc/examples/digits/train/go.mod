module github.com/nncc/nncc/cmd/nncc/examples/digits/train

go 1.26.0

require github.com/nncc/nncc v0.0.0

replace github.com/nncc/nncc => ../../../../..

require (
	github.com/spf13/pflag v1.0.10
	google.golang.org/protobuf v1.36.12
)

require (
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sys v0.50.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)
