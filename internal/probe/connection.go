package probe

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/observed"
)

// A connection is the transport of a session together with its tap: a stream to
// a command or within this process, an SSE stream, or an HTTP client.
type connection struct {
	target  Target
	opt     Options
	modern  bool
	handler jsonrpc.Handler // for messages of the server outside any call
	headers func(tool string, arguments []byte) http.Header
	tap     *tap

	transport string // name of the transport
	pid       int    // of a command
	peer      jsonrpc.Peer
	conn      *duplex.Conn
	client    *httpclient.Client
	child     *stdio.Child

	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup
	part partings
	down sync.Once
	gone chan struct{} // closed when the connection has ended on its own
	why  error         // why it has ended; set before gone is closed

	observed observed.Record

	closers []func() // close the resources that dial has opened
}

func (c *connection) init(ctx context.Context, t Target, opt Options) {
	c.target, c.opt, c.tap, c.observed.Log = t, opt, newTap(&t, opt.OnFrame), opt.Log
	c.gone, c.part = make(chan struct{}), partings{written: make(chan struct{}, maxPartings), due: make(chan struct{}, maxPartings)}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
}

func (c *connection) dial(ctx context.Context) error {
	switch {
	case c.target.Dial != nil || c.target.Command != "":
		return c.dialStream(ctx)
	case c.target.Type == config.TypeSSE:
		c.transport = config.TypeSSE
		stream, err := httpclient.DialSSE(ctx, c.clientOptions())
		if err == nil {
			c.talk(stream) // the transport has already recorded the frames
		}
		return err
	}
	c.transport = config.TypeHTTP
	c.client = httpclient.NewClient(c.clientOptions())
	c.peer = c.client
	return nil
}

// rawStream opens the stream within this process or to a command.
func (c *connection) rawStream(ctx context.Context) (jsonrpc.Stream, error) {
	if c.target.Dial != nil {
		c.transport = "in process"
		stream, end, err := c.target.Dial(ctx)
		if err == nil {
			c.closers = append(c.closers, end)
		}
		return stream, err
	}
	if c.opt.Launcher == nil {
		return nil, i18n.Errorf("commands cannot be started here", "此处不能启动命令")
	}
	child, err := c.opt.Launcher.Start(ctx, stdio.Command{
		Name: c.target.Name, Path: c.target.Command, Args: c.target.Args, Env: c.target.Env, Dir: c.target.Cwd, MaxLine: c.opt.MaxMessage,
		Sandbox: c.target.Sandbox,
	})
	if err != nil {
		return nil, err
	}
	c.child, c.transport, c.pid = child, config.TypeStdio, child.PID()
	return child.Stream(), nil
}

func (c *connection) dialStream(ctx context.Context) error {
	stream, err := c.rawStream(ctx)
	if err != nil {
		return err
	}
	c.talk(&tappedStream{stream, c.tap, &c.part}) // tappedStream records the frames
	if c.child == nil || c.opt.OnLine == nil {
		return nil
	}
	lines, stop := c.child.Stderr().Follow(64)
	c.closers = append(c.closers, stop)
	c.wg.Go(func() {
		for line := range lines {
			c.opt.OnLine(line)
		}
	})
	return nil
}

func (c *connection) clientOptions() httpclient.ClientOptions {
	base := httpclient.NewClientTransport()
	if c.target.Socket != "" {
		base = httpclient.NewSocketTransport(c.target.Socket)
	}
	c.closers = append(c.closers, base.CloseIdleConnections)
	var carrier http.RoundTripper = base
	if c.target.Carry != nil {
		carrier = c.target.Carry(base) // below the tap, so credentials are not recorded
	}
	return httpclient.ClientOptions{
		URL: c.target.URL, Header: c.target.Header, Handler: c.handler, Modern: c.modern,
		Transport: &tappedTransport{RoundTripper: carrier, tap: c.tap}, MaxMessage: c.opt.MaxMessage, Log: c.opt.Log,
		ParamHeaders: c.headers,
		OnDown:       c.lost,
	}
}

func (c *connection) talk(stream jsonrpc.Stream) {
	conn := duplex.NewConn(stream, duplex.ConnOptions{
		Handler: c.handler, CancelMethod: mcp.NotificationCancelled, Batch: func() bool { return true },
		OnDropped: c.observed.Drop,
	})
	c.conn, c.peer = conn, conn
	c.wg.Go(func() {
		<-conn.Done()
		err := conn.Err()
		if c.child != nil {
			<-c.child.Done()
			err = i18n.Errorf("the server ended: %s", "服务器已结束：%s", c.child.Exit())
		}
		c.lost(err)
	})
}

// openStream opens the stream for messages of a legacy HTTP server outside any
// call. Other transports need none.
func (c *connection) openStream() {
	if c.client != nil {
		c.client.OpenStream(c.life)
	}
}

// explain adds the output of the server to the error of a failed handshake.
func (c *connection) explain(ctx context.Context, err error) error {
	failed := &StartError{Err: err}
	if c.child != nil {
		if c.hasEnded(ctx, err) {
			failed.Err = i18n.Errorf("the command ended before the handshake: %s", "命令在握手之前结束：%s", c.child.Exit())
		}
		failed.Stderr, failed.Noise = c.child.Stderr().Lines(5), c.observed.Report().Noise
	}
	return failed
}

// hasEnded reports whether the command has ended after a failed handshake. Its
// pipes break shortly before its exit is known.
func (c *connection) hasEnded(ctx context.Context, err error) bool {
	wait := lastBreath
	if ctx.Err() != nil || errors.As(err, new(*jsonrpc.Error)) {
		wait = 0 // the command answered, or is only slow
	}
	select {
	case <-c.child.Done():
		return true
	case <-time.After(wait):
		return false
	}
}

// lost records that the connection has ended.
func (c *connection) lost(err error) {
	c.down.Do(func() {
		c.why = err
		close(c.gone)
	})
}

// tellDown calls OnDown when the connection has ended. It is called once the
// session is open: before that, Open returns the error.
func (c *connection) tellDown() {
	if c.opt.OnDown == nil {
		return
	}
	c.wg.Go(func() {
		select {
		case <-c.gone:
		case <-c.life.Done():
		}
		if c.life.Err() == nil {
			c.opt.OnDown(c.why)
		}
	})
}

// close ends the connection, and its command if there is one.
func (c *connection) close(ctx context.Context) {
	select {
	case <-c.gone:
	default:
		if c.conn != nil {
			c.part.wait()
		}
	}
	if c.child != nil {
		if err := c.child.Stop(ctx); err != nil {
			c.opt.Log.Warn("stopping the server", "err", err)
		}
	}
	if c.conn != nil {
		c.conn.Close()
	}
	if c.client != nil {
		if err := c.client.Close(ctx); err != nil {
			c.opt.Log.Debug("ending the session", "err", err)
		}
	}
	c.release()
}

func (c *connection) release() {
	for _, f := range c.closers {
		f()
	}
}
