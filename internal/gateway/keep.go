package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/refusal"
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
	if s.opening.Who.Results > 0 || s.gw.config().Results.Cuts() {
		return true
	}
	return s.schemaConfig().CutsResults()
}

// resultRules say what is shown in part of the results of tools: for a key, for
// its schema, and for the file.
type resultRules struct {
	key          int64
	schema, file config.ResultLimit
}

func (s *Session) resultRules() resultRules {
	file := &s.gw.config().Results
	return resultRules{s.opening.Who.Results, s.schemaConfig().Results,
		config.ResultLimit{Limit: file.Limit, Blobs: file.Blobs, Structured: file.Structured}}
}

// of is what holds for one tool. What is said nearest to the client, then to
// the tool, counts.
func (r resultRules) of(server *config.Server, tool string) config.ResultLimit {
	rules := config.ResultLimit{Limit: r.key}
	for _, next := range []config.ResultLimit{server.Tools[tool].Results, server.Results, r.schema, r.file} {
		rules.Limit = firstSize(rules.Limit, next.Limit)
		rules.Blobs = firstSize(rules.Blobs, next.Blobs)
		rules.Structured = cmp.Or(rules.Structured, next.Structured)
	}
	return rules
}

// untyped says which tools of a server are listed without outputSchema, because
// their structured content may be cut; nil for none.
func (s *Session) untyped(server *config.Server) func(tool string) bool {
	if !s.reads() {
		return nil
	}
	all := s.resultRules()
	return func(tool string) bool {
		rules := all.of(server, tool)
		return rules.Limit > 0 && rules.Structured == config.StructuredCut
	}
}

// inPart shows a large result of a tool in part and keeps the rest for who
// asked. Results of a script's own calls are never cut: they do not reach a
// model.
func (s *Session) inPart(c *Call, t *target, resp *jsonrpc.Response) {
	if s.opening.Server != "" || c.Via == traffic.DoorRun || c.Via == traffic.DoorScript {
		return
	}
	rules := s.resultRules().of(t.upstream.Config(), t.name)
	if !kept.Small(len(resp.Result), rules.Limit, rules.Blobs) {
		s.cut(c, rules, resp)
	}
	if size := len(resp.Result); size > kept.LeastShown {
		name, _ := jsonrpc.GetString(c.client.caller.Info, "name")
		s.gw.tallies.Of(s.opening.Schema).Large.Note(size, name)
	}
}

// cut shows a large result in part, and counts what is left out.
func (s *Session) cut(c *Call, rules config.ResultLimit, resp *jsonrpc.Response) {
	cfg := &s.gw.config().Results
	cut := kept.Cutter{
		Text: rules.Limit, Blob: rules.Blobs, Head: cfg.Head, Tail: cfg.Tail, Links: c.client.rules.Links,
		// By exec there is no schema that asks for it.
		Structured: c.Via == traffic.DoorExec || rules.Structured == config.StructuredCut,
		Keep:       s.keepPart,
	}
	if cut.Text > 0 && mcp.IsToolError(resp.Result) {
		cut.Text = max(cut.Text, leastError)
	}
	resp.Result = cut.Result(resp.Result)
	if len(cut.Left) == 0 && cut.Blobs == 0 {
		return
	}
	left := catalog.Cost{Bytes: int(cut.Blobs)} // what a picture costs is not told by its size
	for _, text := range cut.Left {
		left = left.Plus(catalog.CostOf(text))
	}
	s.tally.Cut(left)
	s.gw.tallies.Of(s.opening.Schema).Cut(left)
}

// keepPart keeps a part of a result that is not shown.
func (s *Session) keepPart(data []byte, block bool) (string, error) {
	uri, err := s.gw.kept.Put(s.keeper(), kept.Result{Data: data, Block: block})
	if err != nil {
		s.gw.log.Warn("a large result passes whole: it could not be kept", "bytes", len(data), "err", err)
	}
	return uri, err
}

// readKept answers resources/read of a kept result: result://ID, with lines,
// grep, jq or offset in its query.
func (s *Session) readKept(ctx context.Context, uri string) (*jsonrpc.Response, error) {
	id, query, _ := strings.Cut(uri, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, jsonrpc.InvalidParams("the query of the URI cannot be read: %v", err)
	}
	q := kept.Query{Lines: values.Get("lines"), Grep: values.Get("grep"), JQ: values.Get("jq")}
	if text := values.Get("offset"); text != "" {
		if _, err := fmt.Sscan(text, &q.Offset); err != nil {
			return nil, jsonrpc.InvalidParams("offset must be a number")
		}
	}
	env := &builtin.Env{Kept: func(uri string) (kept.Result, error) { return s.gw.kept.Get(s.keeper(), uri) }, ReadLimit: s.readLimit(), JQ: s.gw.opt.Scripts.Filter}
	part, err := builtin.ReadPart(ctx, env, id, q)
	if err != nil {
		return nil, refusal.NoResource(uri, false).WithData(map[string]string{"uri": refusal.Clip(uri), "why": err.Error()})
	}
	mime, member, text := "text/plain", "text", string(part.Data)
	if part.Block {
		member = "blob"
		mime, text = kept.Blob(part.Data)
	}
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"contents":[{"uri":%s,"mimeType":%s,%q:%s}]}`, jsonrpc.Quote(uri), jsonrpc.Quote(mime), member, jsonrpc.Quote(text))}, nil
}
