package upstream

import (
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/greet"
	"mcp-all-in-one/internal/upstream/inflight"
	"mcp-all-in-one/internal/upstream/listen"
	"mcp-all-in-one/internal/upstream/lists"
	"mcp-all-in-one/internal/upstream/watch"
)

// A link is one connection to one server, from the handshake to the close.
type link struct {
	ending
	up     *connections
	slot   *slot
	peer   jsonrpc.Peer
	closer func(ctx context.Context) // ends the connection and waits for its end
	spot   *Spot                     // the place of the server, if it runs once in a cluster
	era    mcp.Era
	offer  mcp.Offer
	said   greet.Server

	loaded  *catalog.Features // the features when the connection was opened
	refresh *lists.Refresher
	listen  *listen.Listener // the subscription of a modern connection
	levelMu sync.Mutex
	level   string // the level that was sent to the server last

	calls *inflight.Table
}

func (l *link) close(ctx context.Context) {
	l.calls.Stop()
	l.refresh.Stop()
	l.listen.Stop()
	letFinish(ctx, l)
	l.closer(ctx)
	l.finish(nil)
	l.refresh.Wait()
}

var errStuck = i18n.Errorf("it does not read its input", "它不读取输入")

// GiveUp ends a connection whose server does not read. Closing the connection ends the
// blocked write, which link.close waits for.
func (l *link) GiveUp() {
	l.finish(errStuck)
	if conn, ok := l.peer.(*duplex.Conn); ok {
		go conn.Close()
	}
}

// exitWait is how long a process may take to exit after it closed its output.
const exitWait = time.Second

// watch ends the link as soon as the server's stream ends. It does not wait for open
// questions of the server, because their answers could not be delivered.
func (l *link) watch(conn *duplex.Conn, stream *watch.Stream) {
	l.up.background.Go(func() {
		<-stream.Ended
		conn.Close()
		err := stream.Err
		if l.child != nil {
			err = i18n.Errorf("it closed its standard output", "它关闭了标准输出")
			select {
			case <-l.child.Done():
				err = i18n.Errorf("%v", "%v", l.child.Exit())
			case <-time.After(exitWait):
			}
		}
		l.finish(leftBy(l, err))
	})
}
