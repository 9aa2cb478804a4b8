#compdef headgate
# Completion for zsh: the commands, actions and options are those that `headgate --help` says.
local help
local -a words_before commands options
words_before=(${${words[2,CURRENT-1]}:#-*})
help=$($words[1] ${words_before[1]} --help 2>/dev/null)
if [[ $words[CURRENT] == -* ]]; then
    options=(${(f)"$(print -r -- $help | sed -n 's/^  \(--[a-z-]*\).*/\1/p')"})
    compadd -a options
elif (( $#words_before == 0 )) || [[ $words_before[1] == (rules|weights|key) && $#words_before == 1 ]]; then
    commands=(${(f)"$(print -r -- $help | sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p')"})
    compadd -a commands
else
    _files
fi
