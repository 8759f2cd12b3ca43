package jsonrpc

import (
	"errors"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// read takes messages from the stream until it ends.
func (c *Conn) read() error {
	for {
		data, release, err := c.stream.Read()
		if err == nil {
			c.take(data, release)
			continue
		}
		var frame *FrameError
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
		if id, result, ok := PeekAnswer(data); ok {
			c.finishCall(id, outcome{resp: &Response{Result: result, release: release}}, data)
			return
		}
	}
	switch {
	case skipSpace(data, 0) == len(data):
		free(release)
	case IsBatch(data):
		c.takeBatch(data, release)
	default:
		msg, err := c.opt.scan(data)
		msg.tag = tag
		if err != nil {
			c.reject(&msg, data, err, nil)
			free(release)
		} else {
			c.route(&msg, data, release, nil)
		}
	}
}

// scan reads a message, strictly if the peer is a client.
func (o *ConnOptions) scan(data []byte) (Message, *Error) {
	if o.Strict {
		return Scan(data, &o.Limits)
	}
	return ScanAnswer(data, &o.Limits)
}

// reject answers or drops a refused message. An answer is never answered, and a
// peer that is not scanned strictly gets errors for requests only. If the
// message is the answer to a call, the call fails.
func (c *Conn) reject(msg *Message, data []byte, err *Error, b *batch) {
	answer := msg.Result != nil || msg.Err != nil
	if !c.opt.Strict {
		answer = Get(data, "method") == nil
	}
	if msg.Kind == KindRequest || c.opt.Strict && !answer && msg.Kind != KindNotification {
		c.opt.dropped(err.Message, data)
		c.answer(msg.ID, &Response{Err: err}, b)
		return
	}
	c.opt.dropped(err.Message, data)
	if !answer {
		return
	}
	id, result := msg.ID, msg.Result != nil
	if err.Code == CodeParse && !c.opt.Strict {
		id, result = headID(data)
	}
	if k := c.calls.broken(id, result); k != nil {
		k.outcome <- outcome{err: i18n.Errorf("%w: %s", "%w：%s", ErrBadAnswer, err.Message)}
	}
}

// route passes a valid message to its handler or to the waiting call.
func (c *Conn) route(msg *Message, data []byte, release func(), b *batch) {
	switch msg.Kind {
	case KindRequest:
		c.accept(msg, release, b)
	case KindNotification:
		if msg.Method == c.opt.CancelMethod && msg.Method != "" {
			if id := Get(msg.Params, "requestId"); id != nil {
				c.requests.cancel(id, c.opt.Uncancellable)
			}
			free(release)
			return
		}
		ctx, handler := c.ctx, c.opt.Handler
		if msg.tag != nil {
			ctx, handler = c.opt.Tags.whose(c, ctx, msg.tag)
		}
		if handler == nil {
			free(release)
			return
		}
		c.notices.add(notice{Notification{msg.Method, msg.Params}, ctx, handler, release}, c.calls.newest(), data)
	default:
		resp := &Response{Result: msg.Result, release: release}
		if msg.Kind == KindError {
			resp.Err = ParseError(msg.Err)
		}
		if id, ok := OwnNumber(msg.ID); ok {
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
	c.notices.settle(id)
	if k := c.calls.take(id); k != nil {
		if k.trip != nil {
			out.arrived = time.Now()
		}
		k.outcome <- out
		return
	}
	if c.calls.found(id) {
		c.opt.dropped("late answer", data)
	} else {
		c.opt.dropped("answer to an unknown call", data)
	}
	out.resp.Release()
}

// takeBroken handles a message that could not be read from the stream.
func (c *Conn) takeBroken(frame *FrameError) {
	_, head := c.opt.Tags.cut(frame.Head)
	id, answer := headID(head)
	if c.opt.Strict && !answer {
		c.answer(id, &Response{Err: Errorf(CodeInvalidRequest, "%s", frame.Error())}, nil)
		return
	}
	c.opt.dropped(frame.Reason.String(), frame.Head)
	if k := c.calls.broken(id, answer); k != nil {
		k.outcome <- outcome{err: i18n.Errorf("%w: %v", "%w：%v", ErrTooLarge, frame)}
	}
}
