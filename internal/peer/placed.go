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
	headerEpoch  = "Aio-Epoch" // the epoch for which a server is requested
	placedPrefix = "/peer/v1/s/"
	// placedProtocol is the protocol of an upgraded connection: JSON-RPC messages as
	// lines, each after the client that it is sent for.
	placedProtocol = "aio-messages"
)

var errNotJoined = i18n.Errorf("the replica does not have the server", "该副本没有此服务器")

// placedPath returns the URL path of a server, given as schema/name, on another
// replica.
func placedPath(server string) string {
	schema, name, _ := strings.Cut(server, "/")
	return placedPrefix + url.PathEscape(schema) + "/" + url.PathEscape(name)
}

// placedServer parses a path of placedPath.
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

// A Placed connects to a server that another replica has.
type Placed struct {
	Node   *Node
	Owner  Owner
	Server string // schema/name
	Epoch  uint64
	// Refused is called if the replica does not have the server, Dead if it has
	// stopped. Both must return soon.
	Refused, Dead func()
}

// Dial opens a connection to the server. An error means that the server was not
// reached.
func (p *Placed) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+Reach(p.Node, p.Owner)+placedPath(p.Server), nil)
	if err != nil {
		return nil, err
	}
	req.Header["Connection"], req.Header["Upgrade"] = []string{"Upgrade"}, []string{placedProtocol}
	req.Header[headerHop] = []string{"1"}
	req.Header[headerBoot] = []string{p.Owner.Boot}
	req.Header[headerEpoch] = []string{strconv.FormatUint(p.Epoch, 10)}
	resp, err := p.Node.transport.RoundTrip(req)
	if err != nil {
		if ended(ctx, p.Node, err, p.Owner) {
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

// A Join is a connection from another replica to a server here.
type Join struct {
	io.ReadWriteCloser
	Server string // schema/name
	// Holds reports whether the server is still here, in the epoch that the other
	// replica requested.
	Holds func() bool
	// Leave ends when this replica stops.
	Leave context.Context
}

// joins are the connections from other replicas to servers here.
type joins struct {
	leave context.Context // ends when no more connections are accepted
	end   context.CancelFunc
	mu    sync.Mutex
	open  sync.WaitGroup
}

// enter counts a new connection; it reports false if the joins are ending.
func (j *joins) enter() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.leave.Err() != nil {
		return false
	}
	j.open.Add(1)
	return true
}

// close refuses new connections and waits until all have ended.
func (j *joins) close() {
	j.mu.Lock()
	j.end()
	j.mu.Unlock()
	j.open.Wait()
}

// join serves a connection to a server here, until it ends.
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
	conn, err := takeOver(w, placedProtocol, n.opt.WriteIdle)
	if err != nil {
		n.opt.Log.Error("taking a connection of a replica over", "err", err)
		return
	}
	defer conn.Close()
	n.joined(&Join{
		ReadWriteCloser: conn, Server: server, Leave: n.joins.leave,
		Holds: func() bool { return n.opt.Holds(server, epoch) },
	})
}

// takeOver takes the connection of a request for another protocol.
func takeOver(w http.ResponseWriter, protocol string, idle time.Duration) (net.Conn, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+protocol+"\r\n\r\n"); err != nil {
		conn.Close()
		return nil, err
	}
	return &takenOver{conn, buffered.Reader, idle}, nil
}

// takenOver is a hijacked connection, with data that was already read from it.
type takenOver struct {
	net.Conn
	read *bufio.Reader
	idle time.Duration // timeout for writing a part
}

// Write fails if the other replica does not read.
func (c *takenOver) Write(b []byte) (written int, err error) {
	for err == nil && written < len(b) {
		n := 0
		c.SetWriteDeadline(time.Now().Add(c.idle))
		n, err = c.Conn.Write(b[written:min(len(b), written+writtenPart)])
		written += n
	}
	return written, err
}

// writtenPart is how much of a message is written under one deadline.
const writtenPart = 1 << 20

func (c *takenOver) Read(b []byte) (int, error) {
	if c.read.Buffered() > 0 {
		return c.read.Read(b)
	}
	return c.Conn.Read(b)
}

// Leave asks the other replicas to end their connections to servers here, and waits
// for that until ctx ends.
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
