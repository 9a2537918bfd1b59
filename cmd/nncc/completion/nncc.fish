# SPDX-License-Identifier: Apache-2.0
# Completion of nncc for fish: nncc completion fish | source
function __nncc_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l current (commandline -ct)
    set -l found ($program __complete $words "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c nncc -f -a '(__nncc_complete)'
