package onnx

// Limits bound what a model file may ask for. Zero fields mean DefaultLimits.
type Limits struct {
	FileBytes   int64 // size of the model file
	MemoryBytes int64 // estimated size of the decoded file
	Nodes       int   // nodes of all graphs together, with model-local functions inlined
	Depth       int   // subgraphs within subgraphs
	TensorBytes int64 // data of one tensor
	Findings    int   // problems reported before Check stops
}

// DefaultLimits suit models for microcontrollers with a wide margin.
var DefaultLimits = Limits{
	FileBytes:   512 << 20,
	MemoryBytes: 768 << 20,
	Nodes:       200_000,
	Depth:       64,
	TensorBytes: 512 << 20,
	Findings:    500,
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	if l.FileBytes == 0 {
		l.FileBytes = d.FileBytes
	}
	if l.MemoryBytes == 0 {
		l.MemoryBytes = d.MemoryBytes
	}
	if l.Nodes == 0 {
		l.Nodes = d.Nodes
	}
	if l.Depth == 0 {
		l.Depth = d.Depth
	}
	if l.TensorBytes == 0 {
		l.TensorBytes = d.TensorBytes
	}
	if l.Findings == 0 {
		l.Findings = d.Findings
	}
	return l
}
