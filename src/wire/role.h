/*
 * role: what a user may do, as bits. The tables of commands (wire/command.h) and of HTTP paths say which of them each
 * needs.
 */
#ifndef HEADGATE_WIRE_ROLE_H
#define HEADGATE_WIRE_ROLE_H

enum role {
    ROLE_CHECK = 1 << 0, /* asks for decisions, takes tokens and gives its own back */
    ROLE_READ = 1 << 1,  /* reads figures, rules and who is limited; changes nothing */
    ROLE_RULES = 1 << 2, /* changes rules, and makes keys full */
    ROLE_ADMIN = 1 << 3, /* declares daemons gone, and breaks links where that is allowed */
};

#define ROLE_ALL ((unsigned)ROLE_CHECK | ROLE_READ | ROLE_RULES | ROLE_ADMIN)

#endif
