package probe

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync/atomic"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Listing is one complete list of a server.
type Listing struct {
	Kind  catalog.Kind
	Items []catalog.Item
	// Issues are the defects of the list.
	Issues []catalog.Issue
	// Raw holds the items as received.
	Raw   []json.RawMessage
	Pages int
	// Starting reports that servers that are still starting will add to the
	// list.
	Starting bool
}

// ListMethods maps each list to its method.
var ListMethods = map[catalog.Kind]string{
	catalog.Tools: mcp.MethodToolsList, catalog.Prompts: mcp.MethodPromptsList,
	catalog.Resources: mcp.MethodResourcesList, catalog.Templates: mcp.MethodTemplatesList,
}

// capabilityOf returns the capability of a list.
func capabilityOf(k catalog.Kind) string {
	if k == catalog.Templates {
		return "resources"
	}
	return k.Member()
}

// maxPages limits a server whose cursors never end.
const maxPages = 1000

// List fetches all pages of one list. If the server does not have the list, it
// is empty.
func (s *Session) List(ctx context.Context, k catalog.Kind) (*Listing, error) {
	l := &Listing{Kind: k}
	var pages [][]byte
	var params json.RawMessage
	seen := make(map[string]bool)
	for range maxPages {
		x, err := s.Call(ctx, ListMethods[k], params, CallOptions{})
		if err != nil {
			return nil, i18n.Errorf("%s: %w", "%s：%w", ListMethods[k], err)
		}
		if x.Err != nil {
			if x.Err.Code == jsonrpc.CodeMethodNotFound && len(pages) == 0 {
				return l, nil
			}
			return nil, i18n.Errorf("%s: %w", "%s：%w", ListMethods[k], x.Err)
		}
		pages = append(pages, x.Result)
		for item := range jsonrpc.Elements(jsonrpc.Get(x.Result, k.Member())) {
			l.Raw = append(l.Raw, json.RawMessage(item))
		}
		l.Starting = jsonrpc.Get(x.Result, "_meta", mcp.MetaStarting) != nil
		cursor := jsonrpc.Get(x.Result, "nextCursor")
		if len(cursor) == 0 || cursor[0] != '"' {
			break
		}
		if seen[string(cursor)] {
			l.Issues = append(l.Issues, catalog.Issue{Detail: i18n.New("the list repeats a cursor", "列表重复了游标")})
			break
		}
		seen[string(cursor)] = true
		params = jsonrpc.Set([]byte(`{}`), cursor, "cursor")
	}
	l.Pages = len(pages)
	l.parse(pages)
	if k == catalog.Tools {
		s.tools.Store(&l.Items)
	}
	return l, nil
}

func (l *Listing) parse(pages [][]byte) {
	parsers := map[catalog.Kind]func([][]byte) ([]catalog.Item, []catalog.Issue){
		catalog.Tools: catalog.ParseTools, catalog.Prompts: catalog.ParsePrompts,
		catalog.Resources: catalog.ParseResources, catalog.Templates: catalog.ParseTemplates,
	}
	items, issues := parsers[l.Kind](pages)
	l.Items = items
	l.Issues = append(l.Issues, issues...)
}

// Find returns the item with the given key, or nil.
func (l *Listing) Find(key string) *catalog.Item {
	for i := range l.Items {
		if l.Items[i].Key == key {
			return &l.Items[i]
		}
	}
	return nil
}

// Keys returns the names or URIs of the items.
func (l *Listing) Keys() []string {
	keys := make([]string, len(l.Items))
	for i := range l.Items {
		keys[i] = l.Items[i].Key
	}
	return keys
}

// A toolList holds the tools of a server as last listed; nil before the first
// list and after the tools have changed.
type toolList struct{ atomic.Pointer[[]catalog.Item] }

// paramHeaders returns the arguments that a modern HTTP server expects in
// headers.
func (l *toolList) paramHeaders(tool string, arguments []byte) http.Header {
	tools := l.Load()
	if tools == nil {
		return nil
	}
	at := slices.IndexFunc(*tools, func(it catalog.Item) bool { return it.Key == tool })
	if at < 0 {
		return nil
	}
	header := make(http.Header)
	for _, p := range catalog.HeaderParams(&(*tools)[at]) {
		if text, ok := mcp.HeaderText(arguments, p.Path...); ok {
			header.Set(mcp.ParamHeaderPrefix+p.Header, text)
		}
	}
	return header
}

// Offers reports whether the server declared the capability of a list.
func (s *Session) Offers(k catalog.Kind) bool { return s.info.Has(capabilityOf(k)) }

func KindWord(k catalog.Kind) string {
	if k == catalog.Templates {
		return "templates"
	}
	return k.Member()
}

// SubjectOf returns the tool, prompt or resource that a request is about.
func SubjectOf(params []byte) string {
	for _, key := range []string{"name", "uri"} {
		if s, ok := jsonrpc.GetString(params, key); ok {
			return s
		}
	}
	return ""
}
