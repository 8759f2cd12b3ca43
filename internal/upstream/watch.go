package upstream

import (
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/upstream/watch"
)

// exitWait is how long a process may take to exit after it closed its output.
const exitWait = time.Second

// watch ends the link as soon as the server's stream ends. It does not wait for open
// questions of the server, because their answers could not be delivered.
func (l *link) watch(conn *jsonrpc.Conn, stream *watch.Stream) {
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
