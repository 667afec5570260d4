# fish completion for paddock; from `paddock completion fish`
function __paddock_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --current-token --cut-at-cursor)
    set -l answer ($words[1] __complete -- $words[2..-1] $current 2>/dev/null)
    if test (count $answer) -gt 0
        printf '%s\n' $answer
    else
        __fish_complete_path $current
    end
end
complete --command paddock --no-files --arguments '(__paddock_complete)'
