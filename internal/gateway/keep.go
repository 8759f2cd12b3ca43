package gateway

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
)

const (
	// defaultRead is how much of a kept result is shown where no limit is set.
	defaultRead = 32 << 10
	// leastError is how much of an error is always shown.
	leastError = 8 << 10
	// readResult is the tool of full mode that reads on in a kept result.
	readResult = "read_result"
)

// keptReader is that tool.
var keptReader = builtin.ReadTool(readResult)

// readLimit is how much of a kept result is shown at once.
func (s *Session) readLimit() int64 {
	return firstSize(s.opening.Who.Results, s.schemaConfig().Results.Limit, s.gw.config().Results.Limit, defaultRead)
}

func firstSize(sizes ...int64) int64 {
	for _, n := range sizes {
		if n > 0 {
			return n
		}
	}
	return 0
}

// reads says whether the session can be shown a result in part, so that it
// needs a tool to read on. A server's own endpoint passes everything.
func (s *Session) reads() bool {
	if s.opening.Server != "" {
		return false
	}
	if s.opening.Who.Results > 0 || s.gw.config().Results.Limit > 0 {
		return true
	}
	return s.schemaConfig().CutsResults()
}

// resultLimit is the size above which a text of a target is shown in part; 0
// for none. What is said nearest to the client, then to the tool, counts.
func (s *Session) resultLimit(t *target) int64 {
	server := t.upstream.Config()
	return firstSize(s.opening.Who.Results, server.Tools[t.name].Results.Limit, server.Results.Limit,
		s.schemaConfig().Results.Limit, s.gw.config().Results.Limit)
}

// inPart shows a large result of a tool in part and keeps the rest for who
// asked. Results of a script's own calls are never cut: they do not reach a
// model.
func (s *Session) inPart(c *Call, t *target, resp *jsonrpc.Response) {
	if s.opening.Server != "" || c.Via == traffic.DoorRun || c.Via == traffic.DoorScript {
		return
	}
	limit := s.resultLimit(t)
	if limit <= 0 || int64(len(resp.Result)) <= limit {
		return
	}
	if mcp.IsToolError(resp.Result) {
		limit = max(limit, leastError)
	}
	content := jsonrpc.Get(resp.Result, "content")
	if len(content) == 0 || content[0] != '[' {
		return
	}
	cut := cutter{s: s, cfg: &s.gw.config().Results, limit: limit, links: c.client.rules.Links}
	blocks := cut.blocks(content)
	if cut.left == (catalog.Cost{}) {
		return
	}
	result := jsonrpc.Set(resp.Result, blocks, "content")
	if structured := jsonrpc.Get(result, "structuredContent"); c.Via == traffic.DoorExec && int64(len(structured)) > limit {
		result = jsonrpc.Set(result, nil, "structuredContent") // it says the same, and no schema asks for it
	}
	resp.Result = result
	s.tally.saved.result(cut.left)
	s.gw.tallies.of(s.opening.Schema).saved.result(cut.left)
}

// A cutter shortens the texts of one result.
type cutter struct {
	s     *Session
	cfg   *config.Results
	limit int64
	links bool
	left  catalog.Cost // what was left out
}

// blocks shortens the texts among content blocks; the others stay, in order.
func (k *cutter) blocks(content []byte) []byte {
	out := []byte{'['}
	for block := range jsonrpc.Elements(content) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		kind, _ := jsonrpc.GetString(block, "type")
		if int64(len(block)) <= k.limit || kind != "text" {
			out = append(out, block...)
			continue
		}
		out = append(out, k.block(block)...)
	}
	return append(out, ']')
}

// block shortens one text. Where the whole cannot be kept it passes: a handle
// is given only for what is stored.
func (k *cutter) block(block []byte) []byte {
	text, ok := jsonrpc.GetString(block, "text")
	if !ok || int64(len(text)) <= k.limit {
		return block
	}
	uri, err := k.s.gw.kept.Put(k.s.keeper(), []byte(text))
	if err != nil {
		k.s.gw.log.Warn("a large result passes whole: it could not be kept", "bytes", len(text), "err", err)
		return block
	}
	whole := []byte(text)
	head, tail, left := kept.HeadTail(whole, min(k.cfg.Head, k.limit), min(k.cfg.Tail, k.limit))
	gone := catalog.CostOf(whole[len(head) : len(head)+int(left)])
	k.left = plus(k.left, gone)
	shown := string(head) + kept.Marker(left, int64(len(text)), kept.Shape(whole), uri) + string(tail)
	block = jsonrpc.Set(block, jsonrpc.Quote(shown), "text")
	if !k.links {
		return block
	}
	return fmt.Appendf(block, `,{"type":"resource_link","uri":%s,"name":"whole result","mimeType":%q,"size":%d}`, jsonrpc.Quote(uri), mimeOf(text), len(text))
}

func mimeOf(text string) string {
	if t := strings.TrimSpace(text); t != "" && (t[0] == '{' || t[0] == '[') {
		return "application/json"
	}
	return "text/plain"
}

// readKept answers resources/read of a kept result: result://ID, with lines,
// grep, jq or offset in its query.
func (s *Session) readKept(ctx context.Context, uri string) (*jsonrpc.Response, error) {
	id, query, _ := strings.Cut(uri, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, invalidParams("the query of the URI cannot be read: %v", err)
	}
	q := kept.Query{Lines: values.Get("lines"), Grep: values.Get("grep"), JQ: values.Get("jq")}
	if text := values.Get("offset"); text != "" {
		if _, err := fmt.Sscan(text, &q.Offset); err != nil {
			return nil, invalidParams("offset must be a number")
		}
	}
	env := &builtin.Env{Kept: func(uri string) ([]byte, error) { return s.gw.kept.Get(s.keeper(), uri) }, ReadLimit: s.readLimit()}
	text, err := builtin.ReadPart(ctx, env, id, q)
	if err != nil {
		return nil, resourceNotFound(uri, false).WithData(map[string]string{"uri": clip(uri), "why": err.Error()})
	}
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"contents":[{"uri":%s,"mimeType":"text/plain","text":%s}]}`, jsonrpc.Quote(uri), jsonrpc.Quote(text))}, nil
}
