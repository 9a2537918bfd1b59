package importer

import (
	"errors"

	"github.com/nncc/nncc/frontend/onnx/check"
	"github.com/nncc/nncc/ir"
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

// Findings are the errors of Import as findings; nil where err is none of
// those.
func Findings(err error) []check.Finding {
	errs, _ := err.(Errors)
	var fs []check.Finding
	for _, err := range errs {
		f := check.Finding{Code: "import", Found: err.Error()}
		if d := new(ir.Diag); errors.As(err, &d) {
			f = check.Finding{Code: d.Code, Where: d.Node, Found: d.Msg, Do: d.Hint}
			if limitCodes[d.Code] {
				f.Severity = check.Limit
			}
		}
		fs = append(fs, f)
	}
	return fs
}
