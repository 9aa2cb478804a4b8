/*
 * version: of everything that is built from this tree; the Makefile reads it, too.
 */
#ifndef HEADGATE_BASE_VERSION_H
#define HEADGATE_BASE_VERSION_H

#define HEADGATE_VERSION "0.4.0"

#endif
