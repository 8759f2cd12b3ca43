// Package hop is the connection from one replica of a cluster to the replica that
// runs a server. It carries JSON-RPC messages as lines, like a pipe to the server
// itself. A tag before each message names its client or its call, so that one
// connection carries the calls of all clients.
package hop

import (
	"context"
	"encoding/base64"
	"io"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/stdio/lines"
)

// Leaving is the notification that a replica sends before it ends a connection.
// The receiver sends nothing more and closes the connection.
const Leaving = "aio/leaving"

// envelope is the allowance for the bytes around the message of a client or a
// server.
const envelope = 64 << 10

// Stream returns a stream over conn. Messages are at most limit plus envelope
// bytes long.
func Stream(conn io.ReadWriteCloser, limit int64) jsonrpc.Stream {
	return lines.NewStream(conn, conn, lines.StreamOptions{MaxLine: limit + envelope})
}

type clientKey struct{}

// WithClient stores the client of a call in the context.
func WithClient(ctx context.Context, principal, session string) context.Context {
	return context.WithValue(ctx, clientKey{}, principal+"\x00"+session)
}

// Client returns the client of a call as a unique string; empty if the context
// has none.
func Client(ctx context.Context) string {
	client, _ := ctx.Value(clientKey{}).(string)
	return client
}

// Principal returns the principal of a call's client; empty if there is none.
func Principal(ctx context.Context) string {
	principal, _, _ := strings.Cut(Client(ctx), "\x00")
	return principal
}

// clientTag is the prefix of a tag that names a client. The name may be empty.
const clientTag = "="

// Asking returns the tags of the replica that sends calls. They name the client
// in the context of a call.
func Asking() *duplex.Tags {
	return &duplex.Tags{For: func(ctx context.Context) string {
		return clientTag + base64.RawStdEncoding.EncodeToString([]byte(Client(ctx)))
	}}
}

// Asked returns the tags of the replica that receives calls. The context of a
// call has its client and the values that with adds for the principal. The
// principal is empty for calls of the other gateway itself, such as lists.
func Asked(with func(ctx context.Context, principal string) context.Context) *duplex.Tags {
	known := make(map[string]context.Context) // by tag; used by the reader goroutine only
	return &duplex.Tags{Asked: func(ctx context.Context, tag []byte) context.Context {
		values := known[string(tag)]
		if values == nil {
			client, _ := base64.RawStdEncoding.DecodeString(strings.TrimPrefix(string(tag), clientTag)) // an invalid tag means no client
			principal, _, _ := strings.Cut(string(client), "\x00")
			values = with(context.WithValue(context.Background(), clientKey{}, string(client)), principal)
			if len(known) >= maxKnown {
				clear(known)
			}
			known[string(tag)] = values
		}
		return knowing{ctx, values}
	}}
}

// maxKnown limits how many clients a connection remembers.
const maxKnown = 1024

// A knowing context is canceled like its Context and has the values of both
// contexts.
type knowing struct {
	context.Context
	values context.Context
}

func (k knowing) Value(key any) any {
	if v := k.values.Value(key); v != nil {
		return v
	}
	return k.Context.Value(key)
}
