#compdef nncc
# SPDX-License-Identifier: Apache-2.0
# Completion of nncc for zsh: source <(nncc completion zsh), or as _nncc in a folder of $fpath.
_nncc() {
	local line
	local -a found
	for line in ${(f)"$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
		found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	if (( $#found )); then
		_describe nncc found
	else
		_files
	fi
}
if [[ "${funcstack[1]}" == _nncc ]]; then
	_nncc "$@"
else
	compdef _nncc nncc
fi
