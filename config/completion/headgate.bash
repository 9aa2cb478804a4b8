# Completion for bash: the commands, actions and options are those that `headgate --help` says, so that they are never
# others than those of the program that is installed.
_headgate() {
    local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} command=() each
    for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $each == [a-z]* ]] && command+=("$each")
    done
    local help
    help=$("$program" "${command[@]:0:1}" --help 2>/dev/null)
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(grep -o '^  --[a-z-]*' <<<"$help")" -- "$word")
    elif [[ ${#command[@]} == 0 || (${command[0]} =~ ^(rules|weights|key)$ && ${#command[@]} == 1) ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p' <<<"$help")" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _headgate headgate
