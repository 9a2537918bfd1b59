// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"errors"

	"github.com/nncc/nncc/ir/diag"
)

// limitCodes are the codes of import errors about what ONNX allows and nncc does
// not: sizes and counts known only at run time, operators and types that
// it does not have, bounds on untrusted models.
var limitCodes = map[string]bool{
	"dim-dynamic": true, "no-shape": true, "dynamic": true, "flow-dynamic": true, "flow-types": true,
	"flow-trips":    true,
	"flow-empty":    true,
	"scale-dynamic": true, "trans-batch": true, "training": true, "nesting": true, "too-large": true,
	"too-many-nodes": true,
	"op-unsupported": true, "op-custom": true, "dtype-unsupported": true, "sparse": true, "sequence": true,
}

// Findings are the errors of Import as check reports them, limits told from
// errors of the model; nil where err is none of those.
func Findings(err error) diag.List {
	errs, _ := err.(Errors)
	var fs diag.List
	for _, err := range errs {
		f := diag.Diag{Code: "import", Msg: err.Error()}
		if d := new(diag.Diag); errors.As(err, &d) {
			f = *d
			if limitCodes[d.Code] {
				f.Severity = diag.Limit
			}
		}
		fs = append(fs, &f)
	}
	return fs
}
