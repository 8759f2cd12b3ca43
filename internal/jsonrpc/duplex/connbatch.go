package duplex

import (
	"bytes"
	"sync"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// A batch collects the answers to the requests of one array.
type batch struct {
	conn    *Conn
	release func()
	mu      sync.Mutex
	open    int // requests without an outcome, plus one for the reader
	out     []byte
}

// takeBatch routes the messages of a batch.
func (c *Conn) takeBatch(data []byte, release func()) {
	parts, err := c.opt.splitBatch(data)
	if err != nil {
		var msg jsonrpc.Message
		if !c.opt.Strict { // a call may wait for the first message of the array
			data = data[bytes.IndexByte(data, '[')+1:]
			msg, _ = c.opt.scan(data)
		}
		c.reject(&msg, data, err, nil)
		free(release)
		return
	}
	b := &batch{conn: c, release: release, open: 1}
	for _, part := range parts {
		msg, err := c.opt.scan(part)
		if err != nil {
			c.reject(&msg, part, err, b)
			continue
		}
		if msg.Kind == jsonrpc.KindRequest {
			b.hold()
			c.accept(&msg, nil, nil, b)
			continue
		}
		// The message outlives the batch, so it gets its own copy of the bytes.
		msg.Params = bytes.Clone(msg.Params)
		msg.Result = bytes.Clone(msg.Result)
		c.route(&msg, nil, part, nil)
	}
	b.done()
}

// splitBatch returns the messages of a batch, or an error if batches are not
// accepted.
func (o *ConnOptions) splitBatch(data []byte) ([][]byte, *jsonrpc.Error) {
	if o.Batch == nil || !o.Batch() {
		if _, err := jsonrpc.Scan(data, &o.Limits); err.Code == jsonrpc.CodeParse {
			return nil, err
		}
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "batches are not supported")
	}
	parts, err := jsonrpc.SplitBatch(data, &o.Limits)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if name, _ := jsonrpc.GetString(part, "method"); name != "" && name == o.Uncancellable {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s is not allowed in a batch", name)
		}
	}
	return parts, nil
}

func (b *batch) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open++
}

func (b *batch) add(id []byte, resp *jsonrpc.Response) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.out) == 0 {
		b.out = append(b.out, '[')
	} else {
		b.out = append(b.out, ',')
	}
	b.out = jsonrpc.AppendResponse(b.out, id, resp)
}

// done counts down and sends the answers after the last request.
func (b *batch) done() {
	b.mu.Lock()
	b.open--
	last := b.open == 0
	b.mu.Unlock()
	if !last {
		return
	}
	if len(b.out) > 0 && !b.conn.closing.Load() {
		if err := b.conn.stream.Write(b.out, []byte{']'}); err != nil {
			b.conn.abort(i18n.Errorf("sending the answers to a batch: %w", "发送批量应答失败：%w", err))
		}
	}
	free(b.release)
}
