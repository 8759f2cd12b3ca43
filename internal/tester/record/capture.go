// Package record reads recordings of the messages between a client and a
// server, sends their requests again, and answers requests from them.
package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// captureFormat is the version of the recording format: one line of JSON for
// the header, then one per frame.
const captureFormat = 1

// captureHead is the first line of a recording.
type captureHead struct {
	Format  int       `json:"mcpcap"`
	Target  string    `json:"target,omitempty"`
	Started time.Time `json:"started"`
}

// captureLine is one frame of a recording.
type captureLine struct {
	At     float64           `json:"at"` // milliseconds since the start
	Sent   bool              `json:"sent,omitempty"`
	Method string            `json:"http,omitempty"`
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	// Message is the body if it is JSON, otherwise Text is.
	Message json.RawMessage `json:"message,omitempty"`
	Text    string          `json:"text,omitempty"`
}

// A CaptureWriter records frames. Its methods may be called concurrently. Each
// frame is written immediately, so that a killed recorder loses nothing.
type CaptureWriter struct {
	mu    sync.Mutex
	w     io.Writer
	began time.Time
	err   error
}

// NewCaptureWriter begins a recording.
func NewCaptureWriter(w io.Writer, target string) *CaptureWriter {
	c := &CaptureWriter{w: w, began: time.Now()}
	c.line(captureHead{Format: captureFormat, Target: target, Started: c.began.UTC()})
	return c
}

func (c *CaptureWriter) line(v any) {
	raw, err := json.Marshal(v)
	if err == nil {
		_, err = c.w.Write(append(raw, '\n'))
	}
	if c.err == nil {
		c.err = err
	}
}

// Write records one frame.
func (c *CaptureWriter) Write(f probe.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := captureLine{At: float64(f.At.Sub(c.began).Microseconds()) / 1000, Sent: f.Sent, Method: f.Method, Status: f.Status}
	if len(f.Header) > 0 {
		l.Header = make(map[string]string, len(f.Header))
		for name := range f.Header {
			l.Header[name] = f.Header.Get(name)
		}
	}
	if jsonrpc.Valid(f.Body) {
		l.Message = f.Body
	} else {
		l.Text = string(f.Body)
	}
	c.line(l)
}

// Err returns the first error.
func (c *CaptureWriter) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// A Capture is a recording.
type Capture struct {
	Frames []probe.Frame
}

var errNotCapture = i18n.Errorf("this is not a recording", "这不是录制文件")

// ReadCapture reads a recording.
func ReadCapture(r io.Reader) (*Capture, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	var head captureHead
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &head) != nil || head.Format == 0 {
		return nil, errNotCapture
	}
	if head.Format > captureFormat {
		return nil, i18n.Errorf("the recording has format %d, and only %d is known here", "录制文件的格式为 %d，此处只支持 %d", head.Format, captureFormat)
	}
	c := new(Capture)
	for n := 2; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var l captureLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, i18n.Errorf("line %d of the recording: %w", "录制文件第 %d 行：%w", n, err)
		}
		f := probe.Frame{At: head.Started.Add(time.Duration(l.At * float64(time.Millisecond))), Sent: l.Sent, Method: l.Method, Status: l.Status, Body: l.Message}
		if l.Message == nil {
			f.Body = []byte(l.Text)
		}
		c.Frames = append(c.Frames, f)
	}
	return c, lines.Err()
}

// A Turn is one request of a recording with its answer.
type Turn struct {
	// FromServer reports that the server sent the request.
	FromServer bool
	Method     string
	Params     json.RawMessage
	// Exactly one of Result and Err is set; both are nil for an unanswered
	// request.
	Result, Err json.RawMessage
}

// Turns pairs the requests of a recording with their answers, in the order of
// the requests.
func (c *Capture) Turns() []Turn {
	type key struct {
		sent bool
		id   string
	}
	var turns []Turn
	open := make(map[key]int)
	for _, f := range c.Frames {
		msg, bad := jsonrpc.ScanAnswer(f.Body, nil)
		if bad != nil {
			continue
		}
		switch msg.Kind {
		case jsonrpc.KindRequest:
			open[key{f.Sent, string(msg.ID)}] = len(turns)
			turns = append(turns, Turn{FromServer: !f.Sent, Method: msg.Method, Params: msg.Params})
		case jsonrpc.KindResult, jsonrpc.KindError:
			k := key{!f.Sent, string(msg.ID)}
			at, ok := open[k]
			if !ok {
				continue
			}
			delete(open, k)
			turns[at].Result, turns[at].Err = msg.Result, msg.Err
		}
	}
	return turns
}
