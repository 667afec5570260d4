#compdef paddock
# zsh completion for paddock; from `paddock completion zsh`
_paddock() {
  local -a candidates
  local word help
  while IFS=$'\t' read -r word help; do
    candidates+=("${word//:/\\:}${help:+:$help}")
  done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#candidates} )); then
    _describe 'paddock' candidates
  else
    _files
  fi
}
if [ "${funcstack[1]}" = "_paddock" ]; then
  _paddock "$@"
else
  compdef _paddock paddock
fi
