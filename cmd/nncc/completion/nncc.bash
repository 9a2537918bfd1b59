# SPDX-License-Identifier: Apache-2.0
# Completion of nncc for bash: source <(nncc completion bash)
_nncc() {
	local line IFS=$'\n'
	COMPREPLY=()
	for line in $("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
		COMPREPLY+=("${line%%$'\t'*}")
	done
}
complete -o default -F _nncc nncc
