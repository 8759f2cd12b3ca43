package probe

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
)

// A tappedTransport records every request and answer, and how long the steps of
// the connection took.
type tappedTransport struct {
	http.RoundTripper
	tap *tap
}

type callKey struct{}

// callOf returns the call for which a request is sent.
func callOf(ctx context.Context) *running {
	c, _ := ctx.Value(callKey{}).(*running)
	return c
}

func (t *tappedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	owner := callOf(r.Context()).number()
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			msg, _ := io.ReadAll(body) // an in-memory buffer: reading cannot fail
			t.tap.note(Frame{Sent: true, Method: r.Method, Header: r.Header, owner: owner}, msg)
		}
	} else {
		t.tap.note(Frame{Sent: true, Method: r.Method, Header: r.Header, owner: owner}, nil)
	}
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	frame := Frame{Status: resp.StatusCode, Header: resp.Header, owner: owner}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.tap.note(frame, nil)
		resp.Body = &tappedEvents{ReadCloser: resp.Body, tap: t.tap, owner: owner}
	} else {
		resp.Body = &tappedBody{ReadCloser: resp.Body, tap: t.tap, frame: frame}
	}
	return resp, nil
}

// A tappedBody records a whole body when it has been read.
type tappedBody struct {
	io.ReadCloser
	tap   *tap
	frame Frame
	buf   bytes.Buffer
	once  sync.Once
}

func (b *tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.buf.Write(p[:n])
	if err != nil {
		b.noted()
	}
	return n, err
}

func (b *tappedBody) Close() error {
	b.noted()
	return b.ReadCloser.Close()
}

func (b *tappedBody) noted() {
	b.once.Do(func() { b.tap.note(b.frame, b.buf.Bytes()) })
}

// A tappedEvents records each event of a stream as it arrives.
type tappedEvents struct {
	io.ReadCloser
	tap   *tap
	owner uint64
	line  []byte
	data  [][]byte
}

func (e *tappedEvents) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	for _, c := range p[:n] {
		if c != '\n' {
			e.line = append(e.line, c)
			continue
		}
		e.end(bytes.TrimSuffix(e.line, []byte("\r")))
		e.line = e.line[:0]
	}
	return n, err
}

// end handles one line of the stream; an empty line ends an event.
func (e *tappedEvents) end(line []byte) {
	if len(line) == 0 {
		if len(e.data) > 0 {
			e.tap.note(Frame{owner: e.owner}, bytes.Join(e.data, []byte("\n")))
		}
		e.data = nil
		return
	}
	if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		e.data = append(e.data, bytes.Clone(bytes.TrimPrefix(rest, []byte(" "))))
	}
}
