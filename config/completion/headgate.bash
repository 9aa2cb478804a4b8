# Completion for bash: the commands, actions and options are those that `headgate --help` says, so that they are never
# others than those of the program that is installed. A word that is no such name is the value of an option.
_headgate() {
    local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} names='s/^  \([a-z][a-z-]*\)  *.*/\1/p' command=() each
    local help
    help=$("$program" --help 2>/dev/null)
    for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ ${#command[@]} == 0 || ${command[0]} =~ ^(rules|weights|key)$ ]] || break
        sed -n "$names" <<<"$help" | grep -qxF -e "$each" || continue
        command+=("$each")
        [[ ${#command[@]} == 2 ]] && break
        help=$("$program" "$each" --help 2>/dev/null)
    done
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(grep -o '^  --[a-z-]*' <<<"$help")" -- "$word")
    elif [[ ${#command[@]} == 0 || (${command[0]} =~ ^(rules|weights|key)$ && ${#command[@]} == 1) ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(sed -n "$names" <<<"$help")" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _headgate headgate
