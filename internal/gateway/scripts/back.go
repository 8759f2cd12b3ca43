package scripts

import (
	"context"
	"fmt"
	"sync/atomic"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// progress returns a function that sends progress notifications to the client.
// The count goes up by one each time.
func progress(back jsonrpc.Handler, token []byte) func(context.Context, string) {
	token = append([]byte(nil), token...)
	var n atomic.Int64
	return func(ctx context.Context, message string) {
		params := fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"message":%s}`, token, n.Add(1), jsonrpc.Quote(message))
		back.HandleNotification(ctx, nil, &jsonrpc.Notification{Method: mcp.NotificationProgress, Params: params})
	}
}

// A Back handles the questions and notifications of servers that a script
// calls. It stops the clock while a person is asked, and reports progress of
// the script.
type Back struct {
	jsonrpc.Handler
	// Progress sends a progress notification; nil if the client asked for none.
	Progress func(context.Context, string)
}

func (b *Back) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	defer whileAsked(ctx)()
	return b.Handler.Handle(ctx, from, req)
}

func (b *Back) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if n.Method != mcp.NotificationProgress {
		b.Handler.HandleNotification(ctx, from, n)
		return
	}
	if b.Progress != nil {
		message, _ := jsonrpc.GetString(n.Params, "message")
		if message == "" {
			message = "progress " + string(jsonrpc.Get(n.Params, "progress"))
		}
		b.Progress(ctx, message)
	}
}
