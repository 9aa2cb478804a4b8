/*
 * version: of everything that is built from this tree; the Makefile reads it, too. A release has the number that
 * CHANGELOG.md names first; what is built between two releases has the next number and "-dev".
 */
#ifndef HEADGATE_BASE_VERSION_H
#define HEADGATE_BASE_VERSION_H

#define HEADGATE_VERSION "0.5.0-dev"

#endif
