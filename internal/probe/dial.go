package probe

import (
	"context"
	"strings"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/failure"
)

// A StartError means that a server could not be reached or ended before it
// answered.
type StartError struct {
	Err error
	// Stderr is the end of the command's standard error.
	Stderr []string
	// Noise is the first line on its standard output that was not a message.
	Noise string
}

func (e *StartError) Error() string { return e.In(i18n.English) }

// In returns the error in the given language.
func (e *StartError) In(l i18n.Lang) string {
	if len(e.Stderr) == 0 {
		return l.Of(e.Err)
	}
	return i18n.New("%v; its output: %s", "%v；它的输出：%s", e.Err, strings.Join(e.Stderr, " | ")).In(l)
}

func (e *StartError) Unwrap() error { return e.Err }

// Open connects to a target and performs the handshake.
func Open(ctx context.Context, t Target, opt Options) (*Session, error) {
	opt.withDefaults()
	p, err := planOf(&opt)
	if err != nil {
		return nil, err
	}
	s, err := openEra(ctx, t, opt, p)
	if err != nil && p.probe && ctx.Err() == nil && failure.AnswersOtherEra(err) {
		// Use a new connection: some servers close theirs if they do not know
		// the first message.
		other := p.other()
		if again, err2 := openEra(ctx, t, opt, other); err2 == nil {
			return again, nil
		}
	}
	oldWay := p.probe || p.era == mcp.Legacy // SSE exists only in the legacy era
	if err != nil && oldWay && t.Command == "" && t.Dial == nil && t.Type != config.TypeHTTP && t.Type != config.TypeSSE && failure.FallsBackToSSE(err) {
		t.Type = config.TypeSSE
		p.era, p.probe = mcp.Legacy, false
		if again, err2 := openEra(ctx, t, opt, p); err2 == nil {
			return again, nil
		}
	}
	return s, err
}

// A plan is how the conversation is opened.
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
		return plan{}, i18n.Errorf("protocol %q is not auto, legacy, modern or a date", "协议 %q 不是 auto、legacy、modern 或日期", o.Protocol)
	}
	p := plan{version: o.Protocol}
	if o.Protocol >= mcp.Versions(mcp.Modern)[0] {
		p.era = mcp.Modern
	}
	return p, nil
}

// ValidProtocol reports whether text is valid for Options.Protocol: a word or a
// date. The date of an unknown version can be proposed too.
func ValidProtocol(text string) bool {
	if text == "auto" || text == mcp.Legacy.String() || text == mcp.Modern.String() {
		return true
	}
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// streamWait limits the wait for a server that delays the headers of the stream
// for its questions.
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
	ctx, cancel := context.WithTimeoutCause(ctx, limit, i18n.Errorf("%w within %s", "%w（时限 %s）", ErrHandshake, limit))
	defer cancel()
	if err := s.greet(ctx, p); err != nil {
		failed := s.link.explain(ctx, err)
		s.Close(ctx)
		return nil, failed
	}
	s.info.Greet = time.Since(began)
	s.link.tellDown()
	switch {
	case opt.Listen && s.info.Era == mcp.Modern:
		s.subscriptions.open(s.listenRequest(listChanges))
	case opt.Listen:
		s.link.openStream()
	case s.link.client != nil && s.info.Era == mcp.Legacy && !s.identity.offer.Empty():
		// Servers ask for roots on this stream right after the handshake.
		s.link.openStream()
		s.link.client.AwaitStream(ctx, streamWait)
	}
	return s, nil
}

// connect opens the transport.
func connect(ctx context.Context, t Target, opt Options, era mcp.Era) (*Session, error) {
	s := newSession(ctx, t, opt, era)
	began := time.Now()
	err := s.link.dial(ctx)
	s.info.Transport, s.info.PID, s.info.Dial = s.link.transport, s.link.pid, time.Since(began)
	return s, err
}
