package jsonrpc

import (
	"errors"
	"fmt"
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
	if c.opt.Strict {
		c.takeStrict(data, release)
		return
	}
	if id, result, ok := PeekAnswer(data); ok {
		c.finishCall(id, outcome{resp: &Response{Result: result, release: release}}, data)
		return
	}
	msg, err := ScanAnswer(data, &c.lim)
	if err == nil {
		c.route(&msg, data, release, nil)
		return
	}
	if msg.Kind == KindRequest {
		c.answer(msg.ID, &Response{Err: err}, nil)
	} else {
		c.refuse(&msg, data, err)
	}
	free(release)
}

// takeStrict routes one message from a client; bad ones are answered.
func (c *Conn) takeStrict(data []byte, release func()) {
	if skipSpace(data, 0) == len(data) {
		free(release)
		return
	}
	if IsBatch(data) {
		c.takeBatch(data, release)
		return
	}
	msg, err := Scan(data, &c.lim)
	if err == nil {
		c.route(&msg, data, release, nil)
		return
	}
	c.reject(&msg, data, err, nil)
	free(release)
}

// reject answers a bad message, unless it is an answer itself.
func (c *Conn) reject(msg *Message, data []byte, err *Error, b *batch) {
	answer := msg.Kind == KindInvalid && msg.Method == "" && (msg.Result != nil || msg.Err != nil)
	if answer || msg.Kind == KindNotification {
		c.refuse(msg, data, err)
		return
	}
	c.answer(msg.ID, &Response{Err: err}, b)
}

// refuse drops what cannot be understood; a call that it meant to answer
// fails.
func (c *Conn) refuse(msg *Message, data []byte, err *Error) {
	c.dropped(err.Message, data)
	if id, ok := decimal(msg.ID); ok {
		if k := c.calls.take(id); k != nil {
			k.outcome <- outcome{err: fmt.Errorf("%w: %s", ErrBadAnswer, err.Message)}
		}
	}
}

// route hands a good message to whom it concerns.
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
		c.notify(msg, data, release)
	default:
		out := outcome{resp: &Response{Result: msg.Result, release: release}}
		if msg.Kind == KindError {
			out.resp = &Response{Err: ParseError(msg.Err), release: release}
		}
		id, ok := decimal(msg.ID)
		if !ok {
			c.dropped("answer to no call of ours", data)
			free(release)
			return
		}
		c.finishCall(id, out, data)
	}
}

// finishCall gives a call its outcome; an answer that no call waits for is
// thrown away.
func (c *Conn) finishCall(id uint64, out outcome, data []byte) {
	c.settle(id)
	if k := c.calls.take(id); k != nil {
		k.outcome <- out
		return
	}
	if c.calls.found(id) {
		c.dropped("late answer", data)
	} else {
		c.dropped("answer to no call of ours", data)
	}
	out.resp.Release()
}

// takeBroken deals with a message that could not be read from the stream.
func (c *Conn) takeBroken(frame *FrameError) {
	id, answer := headID(frame.Head)
	if c.opt.Strict && !answer {
		c.answer(id, &Response{Err: Errorf(CodeInvalidRequest, "%s", frame.Error())}, nil)
		return
	}
	c.dropped(frame.Reason, frame.Head)
	var k *call
	if n, ok := decimal(id); ok {
		k = c.calls.take(n)
	} else if id == nil && answer {
		// Servers that write the id last: the cut took it away.
		k = c.calls.only()
	}
	if k != nil {
		k.outcome <- outcome{err: fmt.Errorf("%w: %s", ErrTooLarge, frame.Error())}
	}
}
