/*
 * The host's end of the protocol, over any duplex byte stream.
 *
 * Nothing here blocks: poll the stream's descriptor for sbx_client_events(), then sbx_client_pump().  What the guest says comes
 * as calls of a request's handlers, from within pump; a handler that fails (-1 with err) stops the pump with its error.  Every
 * frame is checked: type, request, order, credit, encoding.  A guest that breaks a rule is SBX_E_BACKEND, a stream that ends is
 * SBX_E_LOST, and the box must then be destroyed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"
#include "lib/guest/stream.h"
#include "lib/guest/wire.h"

struct sbx_err;
struct sbx_strv;
struct sbx_client;

/* What came for a request; NULL where it cannot come.  All pointers are borrowed for the call. end and done close the request. */
struct sbx_call_ops {
	int (*confined)(void *ctx, const struct sbx_facts *facts, struct sbx_err *err);
	int (*started)(void *ctx, struct sbx_err *err);
	int (*data)(void *ctx, unsigned int stream, struct sbx_str bytes, struct sbx_err *err);
	int (*eof)(void *ctx, unsigned int stream, uint32_t sys, struct sbx_err *err);
	int (*limit)(void *ctx, const struct sbx_wire_limit *limit, struct sbx_err *err);
	int (*entry)(void *ctx, const struct sbx_wire_entry *entry, struct sbx_err *err);
	int (*done)(void *ctx, const struct sbx_wire_done *done, struct sbx_err *err);
	int (*end)(void *ctx, const struct sbx_wire_end *end, struct sbx_err *err);
};

/* Queues SETUP. stream is borrowed and must outlive the client. */
int sbx_client_open(struct sbx_stream *stream, const struct sbx_wire_setup *setup,
		    struct sbx_client **ret, struct sbx_err *err) SBX_MUST_USE;
void sbx_client_free(struct sbx_client *client);

short sbx_client_events(
	const struct sbx_client *client); /* POLLIN, and POLLOUT while something waits */
int sbx_client_pump(struct sbx_client *client, struct sbx_err *err) SBX_MUST_USE;
bool sbx_client_greeted(const struct sbx_client *client); /* HELLO came and is ours */

/* A new request; its number. ctx is borrowed until the request is over. */
int sbx_client_request(struct sbx_client *client, const struct sbx_call_ops *ops, void *ctx,
		       uint32_t *ret, struct sbx_err *err) SBX_MUST_USE;

int sbx_client_spawn(struct sbx_client *client, uint32_t req, const struct sbx_wire_spawn *spawn,
		     const struct sbx_strv *argv, const struct sbx_strv *env,
		     struct sbx_err *err) SBX_MUST_USE;
int sbx_client_go(struct sbx_client *client, uint32_t req, struct sbx_err *err) SBX_MUST_USE;
int sbx_client_kill(struct sbx_client *client, uint32_t req, uint32_t sig,
		    struct sbx_err *err) SBX_MUST_USE;
int sbx_client_resize(struct sbx_client *client, uint32_t req, uint32_t rows, uint32_t cols,
		      struct sbx_err *err) SBX_MUST_USE;
int sbx_client_put(struct sbx_client *client, uint32_t req, const char *path, uint32_t mode,
		   struct sbx_err *err) SBX_MUST_USE;
int sbx_client_mark(struct sbx_client *client, uint32_t req, const struct sbx_wire_get *get,
		    struct sbx_err *err) SBX_MUST_USE;
int sbx_client_get(struct sbx_client *client, uint32_t req, const struct sbx_wire_get *get,
		   struct sbx_err *err) SBX_MUST_USE;

/* How many bytes of the request's stream 0 may be sent now; then at most that many. */
size_t sbx_client_room(const struct sbx_client *client, uint32_t req);
int sbx_client_data(struct sbx_client *client, uint32_t req, struct sbx_str bytes,
		    struct sbx_err *err) SBX_MUST_USE;
int sbx_client_eof(struct sbx_client *client, uint32_t req, struct sbx_err *err) SBX_MUST_USE;

/* Gives back credit for n bytes of a stream that were dealt with. Batched; nothing for a request that is over. */
int sbx_client_credit(struct sbx_client *client, uint32_t req, unsigned int stream, size_t n,
		      struct sbx_err *err) SBX_MUST_USE;
