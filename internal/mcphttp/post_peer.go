package mcphttp

import "context"

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

// ofRequest gives the handler the values of the request's context. A session of
// another replica serves many clients, and the request names the client.
func (in *incoming) ofRequest(ctx context.Context) context.Context {
	if !in.ep.Peer {
		return ctx
	}
	return knowing{ctx, context.WithoutCancel(in.r.Context())}
}
