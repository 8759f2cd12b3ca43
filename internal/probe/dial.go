package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/stdio"
)

// A StartError is a server that could not be reached or ended before it had
// answered.
type StartError struct {
	Err error
	// Stderr is the end of what a command said.
	Stderr []string
}

func (e *StartError) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *StartError) In(l i18n.Lang) string {
	if len(e.Stderr) == 0 {
		return l.Of(e.Err)
	}
	return i18n.New("%v; it said: %s", "%v；它的输出：%s", e.Err, strings.Join(e.Stderr, " | ")).In(l)
}

func (e *StartError) Unwrap() error { return e.Err }

// Open connects to a target and shakes hands.
func Open(ctx context.Context, t Target, opt Options) (*Session, error) {
	opt.withDefaults()
	p, err := planOf(&opt)
	if err != nil {
		return nil, err
	}
	s, err := openEra(ctx, t, opt, p)
	if err != nil && p.probe && ctx.Err() == nil && maySpeakOther(err) {
		// Nothing but a new connection is clean: some servers end theirs when
		// the first message is not what they know.
		other := p.other()
		if again, err2 := openEra(ctx, t, opt, other); err2 == nil {
			return again, nil
		}
	}
	oldWay := p.probe || p.era == mcp.Legacy // SSE has no modern era
	if err != nil && oldWay && t.Command == "" && t.Dial == nil && t.Type != config.TypeHTTP && t.Type != config.TypeSSE && mayBeSSE(err) {
		t.Type = config.TypeSSE
		p.era, p.probe = mcp.Legacy, false
		if again, err2 := openEra(ctx, t, opt, p); err2 == nil {
			return again, nil
		}
	}
	return s, err
}

// A plan is how the conversation is to be opened.
type plan struct {
	era     mcp.Era
	version string
	probe   bool
}

func (p plan) other() plan {
	if p.era == mcp.Modern {
		return plan{era: mcp.Legacy, version: mcp.LatestLegacy}
	}
	return plan{era: mcp.Modern, version: mcp.LatestModern, probe: true}
}

func planOf(o *Options) (plan, error) {
	switch o.Protocol {
	case "auto":
		return plan{version: mcp.LatestLegacy, probe: true}, nil
	case "legacy":
		return plan{version: mcp.LatestLegacy}, nil
	case "modern":
		return plan{era: mcp.Modern, version: mcp.LatestModern}, nil
	}
	if !ValidProtocol(o.Protocol) {
		return plan{}, i18n.Errorf("protocol %q is none of auto, legacy, modern and a date", "协议 %q 不是 auto、legacy、modern 或日期", o.Protocol)
	}
	p := plan{version: o.Protocol}
	if o.Protocol >= mcp.Versions(mcp.Modern)[0] {
		p.era = mcp.Modern
	}
	return p, nil
}

// ValidProtocol says whether Options.Protocol can be that: a word, or a date.
// A date that no version has can be proposed too.
func ValidProtocol(text string) bool {
	if text == "auto" || text == mcp.Legacy.String() || text == mcp.Modern.String() {
		return true
	}
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// maySpeakOther says whether a refused handshake may mean that the server
// speaks the other era.
func maySpeakOther(err error) bool {
	var wire *jsonrpc.Error
	var status *httpclient.StatusError
	if errors.As(err, &status) {
		return status.Modern || status.Status == 400 || status.Status == 404 || status.Status == 405
	}
	return errors.As(err, &wire)
}

// mayBeSSE says whether a refusal of streamable HTTP means that an older
// server is there.
func mayBeSSE(err error) bool {
	var status *httpclient.StatusError
	if !errors.As(err, &status) || status.Modern {
		return false
	}
	return status.Status == http.StatusBadRequest || status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed
}

// streamWait bounds how long a server is waited for that holds back the headers
// of the stream on which it may ask.
const streamWait = 250 * time.Millisecond

func openEra(ctx context.Context, t Target, opt Options, p plan) (*Session, error) {
	s, err := connect(ctx, t, opt, p.era)
	if err != nil {
		return nil, &StartError{Err: err}
	}
	began := time.Now()
	limit := opt.Handshake
	if stdio.Fetches(t.Command) {
		limit = max(limit, firstFetch)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, i18n.Errorf("the server did not answer the handshake within %s: %w", "服务在 %s 内没有应答握手：%w", limit, errHandshake))
	defer cancel()
	if err := s.greet(ctx, p); err != nil {
		return nil, s.explain(ctx, err)
	}
	s.info.Greet = time.Since(began)
	switch {
	case opt.Listen:
		s.listen()
	case s.client != nil && s.info.Era == mcp.Legacy && !s.offer.Empty():
		// Servers ask for roots there as soon as they were greeted.
		s.client.OpenStream(s.life)
		s.client.AwaitStream(ctx, streamWait)
	}
	return s, nil
}

// explain closes a session whose handshake failed and says what the server
// said about it.
func (s *Session) explain(ctx context.Context, err error) error {
	failed := &StartError{Err: err}
	if s.child != nil {
		if s.hasEnded(ctx, err) {
			failed.Err = i18n.Errorf("the command ended before the handshake: %s", "命令在握手之前结束：%s", s.child.Exit())
		}
		failed.Stderr = s.child.Stderr().Lines(5)
	}
	s.opt.OnDown = nil
	s.Close(context.WithoutCancel(ctx))
	return failed
}

// hasEnded says whether the command is gone after a handshake that failed. Its
// pipes break a moment before its end is known.
func (s *Session) hasEnded(ctx context.Context, err error) bool {
	wait := lastBreath
	var answered *jsonrpc.Error
	if ctx.Err() != nil || errors.As(err, &answered) {
		wait = 0 // it spoke, or it is merely slow
	}
	select {
	case <-s.child.Done():
		return true
	case <-time.After(wait):
		return false
	}
}

// connect opens the transport.
func connect(ctx context.Context, t Target, opt Options, era mcp.Era) (*Session, error) {
	s := newSession(ctx, t, opt, era)
	began := time.Now()
	var err error
	switch {
	case t.Dial != nil || t.Command != "":
		err = s.dialStream(ctx)
	case t.Type == config.TypeSSE:
		err = s.dialSSE(ctx)
	default:
		s.dialHTTP()
	}
	s.info.Dial = time.Since(began)
	return s, err
}

// rawStream opens the stream to something in this process, or to a command.
func (s *Session) rawStream(ctx context.Context) (jsonrpc.Stream, error) {
	if s.target.Dial != nil {
		s.info.Transport = "in process"
		return s.target.Dial(ctx)
	}
	if s.opt.Launcher == nil {
		return nil, i18n.Errorf("commands cannot be started here", "此处不能启动命令")
	}
	child, err := s.opt.Launcher.Start(ctx, stdio.Command{
		Name: s.target.Name, Path: s.target.Command, Args: s.target.Args, Env: s.target.Env, Dir: s.target.Cwd, MaxLine: s.opt.MaxMessage,
		Sandbox: s.target.Sandbox,
	})
	if err != nil {
		return nil, err
	}
	s.child, s.info.Transport, s.info.PID = child, config.TypeStdio, child.PID()
	return child.Stream(), nil
}

func (s *Session) dialStream(ctx context.Context) error {
	stream, err := s.rawStream(ctx)
	if err != nil {
		return err
	}
	s.converse(stream)
	if s.child == nil || s.opt.OnLine == nil {
		return nil
	}
	lines, stop := s.child.Stderr().Follow(64)
	s.onClose(stop)
	s.wg.Go(func() {
		for line := range lines {
			s.opt.OnLine(line)
		}
	})
	return nil
}

func (s *Session) dialSSE(ctx context.Context) error {
	stream, err := httpclient.DialSSE(ctx, s.clientOptions())
	if err != nil {
		return err
	}
	s.info.Transport = config.TypeSSE
	// The transport has noted what passes already.
	s.talk(stream)
	return nil
}

func (s *Session) dialHTTP() {
	s.info.Transport = config.TypeHTTP
	s.client = httpclient.NewClient(s.clientOptions())
	s.peer = s.client
}

func (s *Session) clientOptions() httpclient.ClientOptions {
	base := httpclient.NewClientTransport()
	if s.target.Socket != "" {
		base = httpclient.NewSocketTransport(s.target.Socket)
	}
	s.onClose(base.CloseIdleConnections)
	var carrier http.RoundTripper = base
	if s.target.Carry != nil {
		carrier = s.target.Carry(base) // below the tap, which shows what it sees
	}
	return httpclient.ClientOptions{
		URL: s.target.URL, Header: s.target.Header, Handler: s, Modern: s.info.Era == mcp.Modern,
		Transport: &tappedTransport{RoundTripper: carrier, tap: s.tap}, MaxMessage: s.opt.MaxMessage, Log: s.opt.Log,
		ParamHeaders: s.paramHeaders,
		OnDown:       s.lost,
	}
}

// converse speaks over a stream, noting what passes.
func (s *Session) converse(stream jsonrpc.Stream) { s.talk(&tappedStream{stream, s.tap, &s.part}) }

func (s *Session) talk(stream jsonrpc.Stream) {
	conn := jsonrpc.NewConn(stream, jsonrpc.ConnOptions{
		Handler: s, CancelMethod: mcp.NotificationCancelled,
		OnDropped: func(reason string, head []byte) {
			s.opt.Log.Warn("ignoring what the server sent", "reason", reason, "head", fmt.Sprintf("%.200q", head))
		},
	})
	s.conn, s.peer = conn, conn
	s.wg.Go(func() {
		<-conn.Done()
		err := conn.Err()
		if s.child != nil {
			<-s.child.Done()
			err = i18n.Errorf("the server ended: %s", "服务已结束：%s", s.child.Exit())
		}
		s.lost(err)
	})
}
