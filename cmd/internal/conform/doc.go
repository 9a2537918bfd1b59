// SPDX-License-Identifier: Apache-2.0

// Package conform runs ONNX's backend tests through nncc: interpreter, emitted
// C on the host, and on Cortex-M under QEMU. See README.md.
package conform
