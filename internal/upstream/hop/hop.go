// Package hop is the connection between a replica of a cluster and another one
// that has a server: messages of JSON-RPC as lines, like on a pipe to the server
// itself. A tag before each says for which client it is sent, or to which call it
// belongs, so that one connection carries the calls of all clients.
package hop

import (
	"context"
	"encoding/base64"
	"io"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/stdio"
)

// Leaving is the notification of a replica that is about to end a connection:
// who hears it sends nothing more, and closes the connection.
const Leaving = "aio/leaving"

// envelope is what may stand around a message of a client or a server.
const envelope = 64 << 10

// Stream carries messages over a connection, none of which is much longer than
// limit.
func Stream(conn io.ReadWriteCloser, limit int64) jsonrpc.Stream {
	return stdio.NewStream(conn, conn, stdio.StreamOptions{MaxLine: limit + envelope})
}

type clientKey struct{}

// WithClient notes in a context for which client of a principal a call is made.
func WithClient(ctx context.Context, principal, session string) context.Context {
	return context.WithValue(ctx, clientKey{}, principal+"\x00"+session)
}

// Client is the client that a call is made for, as a text that tells it from
// others; empty where nobody said.
func Client(ctx context.Context) string {
	client, _ := ctx.Value(clientKey{}).(string)
	return client
}

// clientTag begins a tag that names a client, perhaps none.
const clientTag = "="

// Asking are the tags of the replica that asks: they name the client in the
// context of a call.
func Asking() *jsonrpc.Tags {
	return &jsonrpc.Tags{For: func(ctx context.Context) string {
		return clientTag + base64.RawStdEncoding.EncodeToString([]byte(Client(ctx)))
	}}
}

// Asked are the tags of the replica that is asked. The context of a call knows
// its client, and what with makes of the context for its principal, which is
// empty for the other gateway itself, such as when it lists.
func Asked(with func(ctx context.Context, principal string) context.Context) *jsonrpc.Tags {
	known := make(map[string]context.Context) // by tag; used by the reader of one connection
	return &jsonrpc.Tags{Asked: func(ctx context.Context, tag []byte) context.Context {
		values := known[string(tag)]
		if values == nil {
			client, _ := base64.RawStdEncoding.DecodeString(strings.TrimPrefix(string(tag), clientTag)) // what is wrong names nobody
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

// maxKnown bounds how many clients a connection remembers.
const maxKnown = 1024

// A knowing context ends like one and knows what another one does.
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
