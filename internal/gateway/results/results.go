// Package results shortens large tool results: it finds the limit for a tool,
// cuts the result, and reads parts of the kept original.
package results

import (
	"cmp"
	"context"
	"errors"
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
)

const (
	// defaultRead is how much of a kept result is returned if no limit is set.
	defaultRead = 32 << 10
	// leastError is how much of an error is always shown.
	leastError = 8 << 10
	// ReaderName is the tool that reads kept results in full mode.
	ReaderName = "read_result"
)

// Reader is the tool ReaderName. ReaderAlone is the set for schemas without other
// tools of the gateway.
var (
	Reader      = builtin.ReadTool(ReaderName)
	ReaderAlone = builtin.NewSet([]builtin.Tool{Reader})
)

// Rules are the limits of results for a key, its schema and the file.
type Rules struct {
	Key          int64
	Schema, File config.ResultLimit
}

// Of returns the limit for one tool. The setting of the key counts first, then
// the most specific setting for the tool.
func (r Rules) Of(server *config.Server, tool string) config.ResultLimit {
	rules := config.ResultLimit{Limit: r.Key}
	for _, next := range []config.ResultLimit{server.Tools[tool].Results, server.Results, r.Schema, r.File} {
		rules.Limit = firstSize(rules.Limit, next.Limit)
		rules.Blobs = firstSize(rules.Blobs, next.Blobs)
		rules.Structured = cmp.Or(rules.Structured, next.Structured)
	}
	return rules
}

// ReadLimit returns how much of a kept result one read returns.
func (r Rules) ReadLimit() int64 {
	return firstSize(r.Key, r.Schema.Limit, r.File.Limit, defaultRead)
}

// Untyped returns which tools of a server are listed without outputSchema,
// because their structured content may be cut.
func (r Rules) Untyped(server *config.Server) func(tool string) bool {
	return func(tool string) bool {
		rules := r.Of(server, tool)
		return rules.Limit > 0 && rules.Structured == config.StructuredCut
	}
}

func firstSize(sizes ...int64) int64 {
	for _, n := range sizes {
		if n > 0 {
			return n
		}
	}
	return 0
}

// A Cutter shortens the result of one call.
type Cutter struct {
	Rules config.ResultLimit
	File  *config.Results
	// Links is set if the client supports resource links, Structured if structured
	// content may be cut because the tool is listed without outputSchema.
	Links, Structured bool
	// Mode is the one in which the client sees its tools.
	Mode string
	// Keep stores the original.
	Keep func(data []byte, block bool) (string, error)
}

// Cut shortens a large result and returns the cost of the removed part.
func (c *Cutter) Cut(resp *jsonrpc.Response) (left catalog.Cost, some bool) {
	cut := kept.Cutter{
		Text: c.Rules.Limit, Blob: c.Rules.Blobs, Head: c.File.Head, Tail: c.File.Tail, Links: c.Links, Reader: builtin.ReadName,
		Structured: c.Structured || c.Rules.Structured == config.StructuredCut,
		Keep:       c.Keep,
	}
	if c.Mode == builtin.ModeFull {
		cut.Reader = ReaderName
	}
	if cut.Text > 0 && mcp.IsToolError(resp.Result) {
		cut.Text = max(cut.Text, leastError)
	}
	resp.Result = cut.Result(resp.Result)
	if len(cut.Left) == 0 && cut.Blobs == 0 {
		return left, false
	}
	left = catalog.Cost{Bytes: int(cut.Blobs)} // the tokens of a picture do not follow from its size
	for _, text := range cut.Left {
		left = left.Plus(catalog.CostOf(text))
	}
	return left, true
}

// Read answers resources/read of a kept result: result://ID, with lines, grep, jq
// or offset in its query.
func Read(ctx context.Context, env *builtin.Env, uri string) (*jsonrpc.Response, error) {
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
	part, err := builtin.ReadPart(ctx, env, id, q)
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return nil, wire // the result may be read later
	}
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
