/*
 * openssl_reason: why OpenSSL has failed, for a sentence to an operator or a caller.
 *
 * The one idea: the first error of the calling thread's queue is the cause; a file that cannot be
 * opened is told in the system's words. Does not clear the queue.
 */
#ifndef HEADGATE_EDGE_PROCESS_OPENSSL_REASON_H
#define HEADGATE_EDGE_PROCESS_OPENSSL_REASON_H

/* Valid until the thread's next call of OpenSSL or strerror. */
const char *openssl_reason(void);

#endif
