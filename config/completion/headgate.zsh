#compdef headgate
# Completion for zsh: the commands, actions and options are those that `headgate --help` says. A word that is no such
# name is the value of an option.
local help each names='s/^  \([a-z][a-z-]*\)  *.*/\1/p'
local -a words_before commands options
help=$($words[1] --help 2>/dev/null)
for each in ${words[2,CURRENT-1]}; do
    (( $#words_before == 0 )) || [[ $words_before[1] == (rules|weights|key) ]] || break
    commands=(${(f)"$(print -r -- $help | sed -n $names)"})
    (( $commands[(Ie)$each] )) || continue
    words_before+=($each)
    (( $#words_before == 2 )) && break
    help=$($words[1] $each --help 2>/dev/null)
done
if [[ $words[CURRENT] == -* ]]; then
    options=(${(f)"$(print -r -- $help | sed -n 's/^  \(--[a-z-]*\).*/\1/p')"})
    compadd -a options
elif (( $#words_before == 0 )) || [[ $words_before[1] == (rules|weights|key) && $#words_before == 1 ]]; then
    commands=(${(f)"$(print -r -- $help | sed -n $names)"})
    compadd -a commands
else
    _files
fi
