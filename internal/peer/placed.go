package peer

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
)

const (
	headerEpoch  = "Aio-Epoch" // in which epoch a server is asked
	placedPrefix = "/peer/v1/s/"
	// placedProtocol is what a connection is for, once it is open: messages of
	// JSON-RPC as lines, each with the client that it is sent for before it.
	placedProtocol = "aio-messages"
)

var errNotJoined = i18n.Errorf("the replica does not have the server", "该副本没有此服务")

// placedPath is where another replica has a server, named by its schema and its
// name.
func placedPath(server string) string {
	schema, name, _ := strings.Cut(server, "/")
	return placedPrefix + url.PathEscape(schema) + "/" + url.PathEscape(name)
}

// placedServer reads the path of placedPath.
func placedServer(path string) (server string, ok bool) {
	rest, ok := strings.CutPrefix(path, placedPrefix)
	schema, name, cut := strings.Cut(rest, "/")
	if !ok || !cut {
		return "", false
	}
	var bad [2]error
	schema, bad[0] = url.PathUnescape(schema)
	name, bad[1] = url.PathUnescape(name)
	return schema + "/" + name, bad[0] == nil && bad[1] == nil
}

// A Placed leads to a server that another replica has.
type Placed struct {
	Node   *Node
	Owner  Owner
	Server string // schema/name
	Epoch  uint64
	// Refused hears that the replica does not have the server, Dead that it has
	// ended. They must return soon.
	Refused, Dead func()
}

// Dial opens a connection to the server. An error means that the server was not
// reached.
func (p *Placed) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.Owner.Address+placedPath(p.Server), nil)
	if err != nil {
		return nil, err
	}
	req.Header["Connection"], req.Header["Upgrade"] = []string{"Upgrade"}, []string{placedProtocol}
	req.Header[headerHop] = []string{"1"}
	req.Header[headerBoot] = []string{p.Owner.Boot}
	req.Header[headerEpoch] = []string{strconv.FormatUint(p.Epoch, 10)}
	resp, err := p.Node.transport.RoundTrip(req)
	if err != nil {
		if isDead(err) {
			p.Dead()
		}
		return nil, err
	}
	if conn, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		return conn, nil
	}
	resp.Body.Close()
	if resp.Header.Get(headerNotRun) == notThisRun {
		p.Dead()
	} else {
		p.Refused()
	}
	return nil, errNotJoined
}

// A Join is a connection of another replica to a server that is here.
type Join struct {
	io.ReadWriteCloser
	Server string // schema/name
	// Holds says whether the server is still here, in the epoch that the other
	// replica means.
	Holds func() bool
	// Leave ends when this replica does.
	Leave context.Context
}

// joins are the connections of other replicas to servers that are here.
type joins struct {
	leave context.Context // ends when no more may come
	end   context.CancelFunc
	mu    sync.Mutex
	open  sync.WaitGroup
}

// enter counts one more, unless they are about to end.
func (j *joins) enter() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.leave.Err() != nil {
		return false
	}
	j.open.Add(1)
	return true
}

// close lets no more come and returns when all have ended.
func (j *joins) close() {
	j.mu.Lock()
	j.end()
	j.mu.Unlock()
	j.open.Wait()
}

// join serves a connection to a server that is here, until it ends.
func join(n *Node, w http.ResponseWriter, r *http.Request, server string) {
	epoch, err := strconv.ParseUint(r.Header.Get(headerEpoch), 10, 64)
	switch {
	case r.Header.Get("Upgrade") != placedProtocol:
		http.Error(w, "not a request of a replica", http.StatusBadRequest)
		return
	case err != nil || n.opt.Holds == nil || !n.opt.Holds(server, epoch) || !n.joins.enter():
		notRun(w, notMine)
		return
	}
	defer n.joins.open.Done()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		n.opt.Log.Error("taking a connection of a replica over", "err", err)
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+placedProtocol+"\r\n\r\n"); err != nil {
		return
	}
	n.joined(&Join{
		ReadWriteCloser: &takenOver{conn, buffered.Reader, n.opt.WriteIdle}, Server: server, Leave: n.joins.leave,
		Holds: func() bool { return n.opt.Holds(server, epoch) },
	})
}

// A takenOver connection may have been read from.
type takenOver struct {
	net.Conn
	read *bufio.Reader
	idle time.Duration // for writing a part
}

// Write ends a connection that the other replica does not read from.
func (c *takenOver) Write(b []byte) (written int, err error) {
	for err == nil && written < len(b) {
		n := 0
		c.SetWriteDeadline(time.Now().Add(c.idle))
		n, err = c.Conn.Write(b[written:min(len(b), written+writtenPart)])
		written += n
	}
	return written, err
}

// writtenPart is how much of a message is written in a time of its own.
const writtenPart = 1 << 20

func (c *takenOver) Read(b []byte) (int, error) {
	if c.read.Buffered() > 0 {
		return c.read.Read(b)
	}
	return c.Conn.Read(b)
}

// Leave asks the others to end their connections to servers that are here, and
// waits for that until ctx ends.
func (n *Node) Leave(ctx context.Context) {
	left := make(chan struct{})
	go func() {
		n.joins.close()
		close(left)
	}()
	select {
	case <-left:
	case <-ctx.Done():
	}
}
