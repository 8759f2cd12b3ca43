// Package lists fetches the lists of servers, and fetches them again when they
// change.
package lists

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/greet"
	"mcp-all-in-one/internal/upstream/pin"
)

// A Kind is a set of lists.
type Kind uint8

// The kinds of lists. Resources includes resource templates.
const (
	Tools Kind = 1 << iota
	Prompts
	Resources
	All = Tools | Prompts | Resources
)

// maxPages limits a list whose cursor never ends.
const maxPages = 1000

// A Source fetches the lists over one connection to a server.
type Source struct {
	// Ask sends a request to the server.
	Ask func(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error)
	Era mcp.Era
	// Said is what the server said about itself in the handshake.
	Said *greet.Server
	// Headers says that arguments are mirrored as headers.
	Headers bool
	Config  func() *config.Server
	Pins    *pin.Checker
	// Report is called with the problems of the items of a list.
	Report  func(list string, issues []catalog.Issue)
	Timeout time.Duration
	Log     *slog.Logger
}

// Fetch returns the features with the given lists fetched again, to the last
// page, and the others copied from old.
func (s *Source) Fetch(ctx context.Context, which Kind, old *catalog.Features) (*catalog.Features, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, failure.ErrSlow)
	defer cancel()
	var draft catalog.Features
	if old != nil {
		draft = catalog.Features{Tools: old.Tools, Prompts: old.Prompts, Resources: old.Resources, Templates: old.Templates}
	}
	draft.Instructions = s.instructions()
	draft.Capabilities = s.Said.Capabilities
	lists := []struct {
		kind   Kind
		method string
		caps   string
		pin    string // "" if not pinned
		parse  func([][]byte) ([]catalog.Item, []catalog.Issue)
		into   *[]catalog.Item
	}{
		{Tools, mcp.MethodToolsList, "tools", pin.Tool, catalog.ParseTools, &draft.Tools},
		{Prompts, mcp.MethodPromptsList, "prompts", pin.Prompt, catalog.ParsePrompts, &draft.Prompts},
		{Resources, mcp.MethodResourcesList, "resources", "", catalog.ParseResources, &draft.Resources},
		{Resources, mcp.MethodTemplatesList, "resources", "", catalog.ParseTemplates, &draft.Templates},
	}
	var wg sync.WaitGroup
	errs := make([]error, len(lists))
	for i, list := range lists {
		if which&list.kind == 0 || !s.Said.Has(list.caps) {
			continue
		}
		wg.Go(func() {
			pages, err := s.pages(ctx, list.method)
			if err != nil {
				errs[i] = i18n.Errorf("%s: %w", "%s：%w", list.method, err)
				return
			}
			items, issues := list.parse(pages)
			if list.kind == Tools && s.Era == mcp.Modern && s.Headers {
				var bad []catalog.Issue
				items, bad = catalog.DropInvalidHeaders(items)
				issues = append(issues, bad...)
			}
			var said []catalog.Issue
			if list.pin != "" {
				items, said = s.pinned(list.pin, items)
			} else if s.Config().Pin != pin.Off {
				said = pin.Doubts(pin.SuspicionsOf(items))
			}
			issues = append(issues, said...)
			if list.kind == Tools && s.Era == mcp.Modern && s.Said.HasTasks(s.Era) {
				items = mayBeTasks(items)
			}
			if list.kind == Tools {
				issues = append(issues, s.misnamed(items)...)
			}
			*list.into = items
			s.Report(list.method, issues)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return &draft, nil
}

// pages fetches one list to its last page.
func (s *Source) pages(ctx context.Context, method string) ([][]byte, error) {
	var pages [][]byte
	params := []byte(`{}`)
	seen := make(map[string]bool)
	for range maxPages {
		resp, err := s.Ask(ctx, method, params)
		if err != nil && (resp == nil || resp.Err == nil) {
			return nil, failure.Cause(ctx, err)
		}
		if resp.Err != nil {
			if resp.Err.Code == jsonrpc.CodeMethodNotFound {
				return pages, nil // declared, but not implemented
			}
			return nil, resp.Err
		}
		// The catalogue keeps the pages, so their buffers are not released.
		pages = append(pages, resp.Result)
		cursor := jsonrpc.Get(resp.Result, "nextCursor")
		if len(cursor) == 0 || cursor[0] != '"' {
			return pages, nil
		}
		if seen[string(cursor)] {
			s.Log.Warn("list repeats a cursor", "method", method)
			return pages, nil
		}
		seen[string(cursor)] = true
		params = jsonrpc.Set([]byte(`{}`), cursor, "cursor")
	}
	return pages, nil
}

// pinned checks the items of a list against their pins.
func (s *Source) pinned(kind string, items []catalog.Item) ([]catalog.Item, []catalog.Issue) {
	items, issues, err := s.Pins.Check(s.Config(), kind, items)
	if err != nil {
		s.Log.Warn("remembering definitions", "kind", kind, "err", err)
	}
	return items, issues
}

// instructions returns the instructions of the server, or "" if they are
// withheld.
func (s *Source) instructions() string {
	text := s.Said.Instructions
	if text == "" {
		return ""
	}
	items, issues := s.pinned(pin.Instructions, []catalog.Item{{Key: pin.Instructions, Raw: jsonrpc.Quote(text)}})
	s.Report(pin.Instructions, issues)
	if len(items) == 0 {
		return ""
	}
	return text
}

// mayBeTasks marks each tool of a modern server as optionally a task, because
// clients of 2025-11-25 check that before they request a task. The server
// decides.
func mayBeTasks(items []catalog.Item) []catalog.Item {
	items = slices.Clone(items)
	for i := range items {
		items[i].Raw = jsonrpc.Set(items[i].Raw, []byte(`{"taskSupport":"optional"}`), "execution")
	}
	return items
}

// misnamed returns the arguments in the configuration that the tools do not
// have.
func (s *Source) misnamed(tools []catalog.Item) (issues []catalog.Issue) {
	configured := s.Config().Tools
	for i := range tools {
		issues = append(issues, catalog.UnknownArguments(&tools[i], configured[tools[i].Key].Arguments)...)
	}
	return issues
}
