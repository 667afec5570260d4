# bash completion for paddock; from `paddock completion bash`
_paddock() {
  local line
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do
    COMPREPLY+=("$line")
  done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
# Without an answer readline offers file names.
complete -o default -F _paddock paddock
