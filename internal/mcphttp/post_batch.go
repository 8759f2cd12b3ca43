package mcphttp

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/weight"
)

// serveBatch runs the requests of a batch concurrently and answers with an array.
func (p *post) serveBatch(body []byte) {
	msgs, err := p.readBatch(body)
	if err != nil {
		p.fail(http.StatusBadRequest, nil, err)
		return
	}
	if p.session != nil {
		ctx := p.within(p.session.ctx, &jsonrpc.Message{})
		defer p.end()
		if handOnBatch(p, msgs) {
			return
		}
		p.answerBatch(ctx, msgs, p.session.handler)
		return
	}
	ctx := p.within(p.r.Context(), &jsonrpc.Message{})
	defer p.end()
	if handOnBatch(p, msgs) {
		return
	}
	h, openErr := p.srv.open(ctx, p.opening(TransportPost))
	if openErr != nil {
		refuseOpen(p.w, p.srv.log, nil, openErr, p.status)
		return
	}
	defer h.Close()
	p.answerBatch(ctx, msgs, h)
}

// handOnBatch forwards a batch to another replica if this one is stopping: the
// whole batch, before any part of it runs. A batch with responses stays here,
// because they are for calls that run here.
func handOnBatch(p *post, msgs []batched) bool {
	answers := func(m batched) bool {
		return m.err == nil && m.Kind != jsonrpc.KindRequest && m.Kind != jsonrpc.KindNotification
	}
	return !slices.ContainsFunc(msgs, answers) && p.handOn(&jsonrpc.Message{})
}

// A batched message with an err is answered with that error.
type batched struct {
	jsonrpc.Message
	err    *jsonrpc.Error
	unread *weight.Answer // until all answers are here
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// A partPeer is the peer for one request of a batch.
type partPeer struct {
	*post
	id []byte
}

// RequestID returns the raw id of that request.
func (p partPeer) RequestID() []byte { return p.id }

// readBatch parses a batch. It fails if a batch is not allowed or contains a
// message that must not be in one; then no part of the batch runs.
func (p *post) readBatch(body []byte) ([]batched, *jsonrpc.Error) {
	if mcp.IsModern(p.version) || (p.session != nil && !mcp.Rules(p.session.handler.Version()).Batch) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "batches are not part of this protocol version")
	}
	parts, err := jsonrpc.SplitBatch(body, &p.srv.lim.Scan)
	if err != nil {
		p.srv.lim.countRefused(err)
		return nil, err
	}
	msgs := make([]batched, len(parts))
	for i, part := range parts {
		msgs[i].Message, msgs[i].err = jsonrpc.Scan(part, &p.srv.lim.Scan)
		switch {
		case msgs[i].err != nil:
		case msgs[i].Method == mcp.MethodInitialize:
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "initialize must not be part of a batch")
		case mcp.SaysVersion(msgs[i].Params):
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "batches are not part of this protocol version")
		}
	}
	return msgs, nil
}

// register gives each request its context and registers its id in the session. It
// registers all requests before any of them runs, so that a repeated id is
// detected.
func (p *post) register(ctx context.Context, msgs []batched) {
	for i := range msgs {
		m := &msgs[i]
		if m.err != nil || m.Kind != jsonrpc.KindRequest {
			continue
		}
		m.ctx, m.cancel = context.WithCancelCause(ctx)
		if p.session != nil && !p.session.begin(m.ID, &running{m.cancel, m.Method}) {
			m.err = duplicate()
		}
	}
}

func (p *post) answerBatch(ctx context.Context, msgs []batched, h Session) {
	p.register(ctx, msgs)
	answers := make([][]byte, len(msgs))
	var all sync.WaitGroup
	wanted := false
	for i := range msgs {
		m := &msgs[i]
		switch {
		case m.err != nil:
			wanted = true
			answers[i] = jsonrpc.AppendResponse(nil, m.ID, &jsonrpc.Response{Err: m.err})
		case m.Kind == jsonrpc.KindRequest:
			wanted = true
			all.Go(func() { answers[i] = p.answerOne(h, m) })
		case m.Kind == jsonrpc.KindNotification && p.session != nil:
			p.session.notified(&m.Message)
		case m.Kind == jsonrpc.KindNotification:
			h.HandleNotification(ctx, deaf{}, &jsonrpc.Notification{Method: m.Method, Params: m.Params})
		case p.session != nil:
			p.session.answered(&m.Message)
		default:
			p.srv.dropped.Add(1)
		}
	}
	all.Wait()
	for i := range msgs {
		msgs[i].unread.Done() // the array counts next
	}
	if !wanted {
		p.w.WriteHeader(http.StatusAccepted)
		return
	}
	p.answerArray(answers)
}

// answerOne runs one request of a batch; nil means that it gets no response.
func (p *post) answerOne(h Session, m *batched) []byte {
	defer m.cancel(nil)
	from := partPeer{p, m.ID}
	var resp *jsonrpc.Response
	if p.session == nil {
		resp = run(m.ctx, p.srv.log, h, from, &m.Message)
	} else {
		resp = p.runInSession(m.ctx, from, &m.Message)
	}
	if resp == nil {
		return nil
	}
	defer resp.Release()
	m.unread = p.srv.lim.unread(p.principal, len(resp.Result))
	return jsonrpc.AppendResponse(nil, m.ID, resp)
}

// answerArray sends the responses as one array.
func (p *post) answerArray(answers [][]byte) {
	out := []byte{'['}
	for _, a := range answers {
		if a != nil {
			out = append(append(out, a...), ',')
		}
	}
	if len(out) == 1 {
		p.answer(nil, nil)
		return
	}
	out[len(out)-1] = ']'
	if st := p.endMessages(); st != nil {
		p.finish(st, out)
		return
	}
	p.writeJSON(http.StatusOK, out)
}
