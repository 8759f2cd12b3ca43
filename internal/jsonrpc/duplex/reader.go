package duplex

import (
	"bytes"
	"errors"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// read takes messages from the stream until it ends.
func (c *Conn) read() error {
	for {
		data, release, err := c.stream.Read()
		if err == nil {
			c.take(data, release)
			continue
		}
		var frame *jsonrpc.FrameError
		if !errors.As(err, &frame) {
			return err
		}
		c.takeBroken(frame)
	}
}

// take routes one message.
func (c *Conn) take(data []byte, release func()) {
	tag, data := c.opt.Tags.cut(data)
	if tag == nil && !c.opt.Strict {
		if id, result, ok := jsonrpc.PeekAnswer(data); ok {
			c.finishCall(id, outcome{resp: jsonrpc.NewResponse(result, release)}, data)
			return
		}
	}
	switch {
	case len(bytes.TrimLeft(data, " \t\r\n")) == 0:
		free(release)
	case jsonrpc.IsBatch(data):
		c.takeBatch(data, release)
	default:
		msg, err := c.opt.scan(data)
		if err != nil {
			c.reject(&msg, data, err, nil)
			free(release)
		} else {
			c.route(&msg, tag, data, release)
		}
	}
}

// scan reads a message, strictly if the peer is a client.
func (o *ConnOptions) scan(data []byte) (jsonrpc.Message, *jsonrpc.Error) {
	if o.Strict {
		return jsonrpc.Scan(data, &o.Limits)
	}
	return jsonrpc.ScanAnswer(data, &o.Limits)
}

// reject answers or drops a refused message. An answer is never answered, and a
// peer that is not scanned strictly gets errors for requests only. If the
// message is the answer to a call, the call fails.
func (c *Conn) reject(msg *jsonrpc.Message, data []byte, err *jsonrpc.Error, b *batch) {
	answer := msg.Result != nil || msg.Err != nil
	if !c.opt.Strict {
		answer = jsonrpc.Get(data, "method") == nil
	}
	if msg.Kind == jsonrpc.KindRequest || c.opt.Strict && !answer && msg.Kind != jsonrpc.KindNotification {
		c.opt.dropped(err.Message, data)
		c.answer(msg.ID, &jsonrpc.Response{Err: err}, b)
		return
	}
	c.opt.dropped(err.Message, data)
	if !answer {
		return
	}
	id, result := msg.ID, msg.Result != nil
	if err.Code == jsonrpc.CodeParse && !c.opt.Strict {
		id, result = jsonrpc.HeadID(data)
	}
	if k := c.calls.broken(id, result); k != nil {
		k.outcome <- outcome{err: i18n.Errorf("%w: %s", "%w：%s", jsonrpc.ErrBadAnswer, err.Message)}
	}
}

// route passes a valid message to its handler or to the waiting call.
func (c *Conn) route(msg *jsonrpc.Message, tag, data []byte, release func()) {
	switch msg.Kind {
	case jsonrpc.KindRequest:
		c.accept(msg, tag, release, nil)
	case jsonrpc.KindNotification:
		if msg.Method == c.opt.CancelMethod && msg.Method != "" {
			if id := jsonrpc.Get(msg.Params, "requestId"); id != nil {
				c.requests.cancel(id, c.opt.Uncancellable)
			}
			free(release)
			return
		}
		ctx, handler := c.ctx, c.opt.Handler
		if tag != nil {
			ctx, handler = c.opt.Tags.whose(c, ctx, tag)
		}
		if handler == nil {
			free(release)
			return
		}
		c.notices.add(notice{jsonrpc.Notification{Method: msg.Method, Params: msg.Params}, ctx, handler, release}, c.calls.newest(), data)
	default:
		resp := jsonrpc.NewResponse(msg.Result, release)
		if msg.Kind == jsonrpc.KindError {
			resp.Err = jsonrpc.ParseError(msg.Err)
		}
		if id, ok := jsonrpc.OwnNumber(msg.ID); ok {
			c.finishCall(id, outcome{resp: resp}, data)
			return
		}
		c.opt.dropped("answer to an unknown call", data)
		free(release)
	}
}

// finishCall delivers the outcome of a call; an answer without a waiting call
// is discarded.
func (c *Conn) finishCall(id uint64, out outcome, data []byte) {
	c.notices.awaitEarlier(id)
	if k := c.calls.take(id); k != nil {
		if k.trip != nil {
			out.arrived = time.Now()
		}
		k.outcome <- out
		return
	}
	if c.calls.found(id) {
		c.opt.dropped("late answer", data)
		if c.opt.OnLate != nil {
			c.opt.OnLate(id)
		}
	} else {
		c.opt.dropped("answer to an unknown call", data)
	}
	out.resp.Release()
}

// takeBroken handles a message that could not be read from the stream.
func (c *Conn) takeBroken(frame *jsonrpc.FrameError) {
	_, head := c.opt.Tags.cut(frame.Head)
	id, answer := jsonrpc.HeadID(head)
	if c.opt.Strict && !answer {
		c.answer(id, &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s", frame.Error())}, nil)
		return
	}
	c.opt.dropped(frame.Reason.String(), frame.Head)
	if k := c.calls.broken(id, answer); k != nil {
		k.outcome <- outcome{err: i18n.Errorf("%w: %v", "%w：%v", jsonrpc.ErrTooLarge, frame)}
	}
}
