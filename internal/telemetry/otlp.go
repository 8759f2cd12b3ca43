package telemetry

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/safehttp"
	"mcp-all-in-one/internal/traffic"
)

const (
	spanQueue   = 4096
	spanBatch   = 512
	spanFlush   = 2 * time.Second
	spanTimeout = 10 * time.Second
)

// A Tracer sends spans to a collector in the JSON form of OTLP. This needs only
// two small structs. The OpenTelemetry SDK would count and store everything a
// second time that is already counted and stored here.
type Tracer struct {
	conf    config.Tracing
	version string
	log     *slog.Logger
	client  *http.Client
	queue   chan span
	life    context.Context
	kill    context.CancelFunc
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
	dropped atomic.Int64
	failing bool
}

// NewTracer starts a tracer, which lives until ctx ends.
func NewTracer(ctx context.Context, conf config.Tracing, version string, log *slog.Logger) *Tracer {
	t := &Tracer{
		conf: conf, version: version, log: log, queue: make(chan span, spanQueue), stop: make(chan struct{}), done: make(chan struct{}),
		client: safehttp.NewConfigured(spanTimeout),
	}
	t.life, t.kill = context.WithCancel(ctx)
	go t.run()
	return t
}

// span and attribute have the form of OTLP.
type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Status     status      `json:"status"`
}

type status struct {
	Code int `json:"code,omitempty"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	Text   string `json:"stringValue,omitempty"`
	Number string `json:"intValue,omitempty"`
}

const (
	kindServer  = 2 // the gateway received the request
	kindClient  = 3 // the gateway sent the request
	statusError = 2
)

// Observe queues the span of a call, if its trace is sampled.
func (t *Tracer) Observe(o *traffic.Observation) {
	if !t.sampled(o.Span) {
		return
	}
	select {
	case t.queue <- newSpan(o):
	default:
		t.dropped.Add(1)
	}
}

// sampled returns the client's decision; without one it samples a share of all
// traces.
func (t *Tracer) sampled(s traffic.Span) bool {
	if s.Decided {
		return s.Sampled
	}
	return binary.BigEndian.Uint64(s.Trace[8:])%100 < uint64(t.conf.Sample)
}

func newSpan(o *traffic.Observation) span {
	name := o.Method
	if o.Name != "" && o.Method == "tools/call" {
		name += " " + o.Name
	}
	s := span{
		TraceID: hex.EncodeToString(o.Span.Trace[:]), SpanID: hex.EncodeToString(o.Span.ID[:]), Name: name, Kind: kindServer,
		Start: nanos(o.Start), End: nanos(o.Start.Add(o.Total)),
	}
	if o.Span.Parent != [8]byte{} {
		s.Parent = hex.EncodeToString(o.Span.Parent[:])
	}
	if o.Hop == traffic.HopServer {
		s.Kind = kindClient
	}
	if o.Failed() {
		s.Status.Code = statusError
	}
	reason := o.Reason
	if reason == "" && o.Failed() {
		reason = o.Status
	}
	for _, a := range []struct{ key, text string }{
		{"rpc.system", "jsonrpc"}, {"mcp.method.name", o.Method}, {"mcp.session.id", o.Session}, {"mcp.gateway.schema", o.Schema},
		{"mcp.gateway.server", o.Server}, {"mcp.gateway.client", o.Client}, {"enduser.id", o.Principal}, {"error.type", reason}, {nameKey(o.Method), o.Name},
	} {
		if a.text != "" && a.key != "" {
			s.Attributes = append(s.Attributes, attribute{a.key, value{Text: strings.ToValidUTF8(a.text, "\uFFFD")}})
		}
	}
	if o.Code != 0 {
		s.Attributes = append(s.Attributes, attribute{"rpc.jsonrpc.error_code", value{Number: strconv.FormatInt(o.Code, 10)}})
	}
	return s
}

// nameKey returns the attribute for the subject of a method in the semantic
// conventions.
func nameKey(method string) string {
	switch {
	case method == "tools/call":
		return "gen_ai.tool.name"
	case strings.HasPrefix(method, "prompts/"):
		return "gen_ai.prompt.name"
	case strings.HasPrefix(method, "resources/"):
		return "mcp.resource.uri"
	}
	return ""
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// Dropped returns how many spans were lost.
func (t *Tracer) Dropped() int64 { return t.dropped.Load() }

// Close sends the remaining spans and ends the tracer.
func (t *Tracer) Close() {
	t.once.Do(func() { close(t.stop) })
	<-t.done
	t.kill()
	t.client.CloseIdleConnections()
}

func (t *Tracer) run() {
	defer close(t.done)
	tick := time.NewTicker(spanFlush)
	defer tick.Stop()
	var batch []span
	for {
		select {
		case s := <-t.queue:
			if batch = append(batch, s); len(batch) >= spanBatch {
				batch = t.send(batch)
			}
		case <-tick.C:
			batch = t.send(batch)
		case <-t.stop:
			for len(t.queue) > 0 {
				batch = append(batch, <-t.queue)
			}
			t.send(batch)
			return
		}
	}
}

// send sends a batch and returns an empty one. Spans that the collector does not
// accept are lost.
func (t *Tracer) send(batch []span) []span {
	if len(batch) == 0 {
		return batch
	}
	err := t.post(batch)
	if err != nil {
		t.dropped.Add(int64(len(batch)))
	}
	if (err != nil) != t.failing {
		t.failing = err != nil
		if err != nil {
			t.log.Warn("traces cannot be sent", "err", err)
		} else {
			t.log.Info("traces are sent again")
		}
	}
	return batch[:0]
}

func (t *Tracer) post(batch []span) error {
	type object = map[string]any
	body, err := json.Marshal(object{"resourceSpans": []object{{
		"resource": object{"attributes": []attribute{{"service.name", value{Text: t.conf.Service}}, {"service.version", value{Text: t.version}}}},
		"scopeSpans": []object{{
			"scope": object{"name": "mcp-all-in-one", "version": t.version},
			"spans": batch,
		}},
	}}})
	if err != nil {
		return i18n.Errorf("encoding spans: %w", "编码 span 失败：%w", err)
	}
	req, err := http.NewRequestWithContext(t.life, http.MethodPost, strings.TrimSuffix(t.conf.URL, "/")+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, v := range t.conf.Headers {
		req.Header.Set(name, v.Reveal())
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode/100 != 2 {
		return i18n.Errorf("the collector answered %d", "收集器返回 %d", resp.StatusCode)
	}
	return nil
}
