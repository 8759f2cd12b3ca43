package upstream

import (
	"context"
	"net/http"
	"sync"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/pin"
)

// kind is a set of lists.
type kind uint8

const (
	kindTools kind = 1 << iota
	kindPrompts
	kindResources
	kindAll = kindTools | kindPrompts | kindResources
)

// maxPages bounds a server whose cursor never ends.
const maxPages = 1000

// loadFeatures fetches every list of the server to the last page.
func (l *link) loadFeatures(ctx context.Context) error {
	f, err := l.fetch(ctx, kindAll, nil)
	if err != nil {
		return err
	}
	l.loaded = f
	l.slot.features.Store(f)
	l.refresh.start()
	return nil
}

// fetch returns the features with the given lists fetched anew and the others
// taken from old.
func (l *link) fetch(ctx context.Context, which kind, old *catalog.Features) (*catalog.Features, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.up.limits.Handshake, failure.ErrSlow)
	defer cancel()
	var draft catalog.Features
	if old != nil {
		draft = catalog.Features{Tools: old.Tools, Prompts: old.Prompts, Resources: old.Resources, Templates: old.Templates}
	}
	draft.Instructions = l.up.pinnedInstructions(l.said.Instructions)
	draft.Capabilities = l.said.Capabilities
	lists := []struct {
		kind   kind
		method string
		caps   string
		pin    string // "" for what is not pinned
		parse  func([][]byte) ([]catalog.Item, []catalog.Issue)
		into   *[]catalog.Item
	}{
		{kindTools, mcp.MethodToolsList, "tools", pin.Tool, catalog.ParseTools, &draft.Tools},
		{kindPrompts, mcp.MethodPromptsList, "prompts", pin.Prompt, catalog.ParsePrompts, &draft.Prompts},
		{kindResources, mcp.MethodResourcesList, "resources", "", catalog.ParseResources, &draft.Resources},
		{kindResources, mcp.MethodTemplatesList, "resources", "", catalog.ParseTemplates, &draft.Templates},
	}
	var wg sync.WaitGroup
	errs := make([]error, len(lists))
	for i, list := range lists {
		if which&list.kind == 0 || !l.said.Has(list.caps) {
			continue
		}
		wg.Go(func() {
			pages, err := l.pages(ctx, list.method)
			if err != nil {
				errs[i] = i18n.Errorf("%s: %w", "%s：%w", list.method, err)
				return
			}
			items, issues := list.parse(pages)
			if list.kind == kindTools && l.era == mcp.Modern && l.child == nil {
				var bad []catalog.Issue
				items, bad = catalog.DropInvalidHeaders(items)
				issues = append(issues, bad...)
			}
			var said []catalog.Issue
			if list.pin != "" {
				items, said = l.up.pinned(list.pin, items)
			} else if l.up.Config().Pin != pin.Off {
				said = pin.Doubts(pin.SuspicionsOf(items))
			}
			issues = append(issues, said...)
			if list.kind == kindTools && l.era == mcp.Modern && l.said.HasTasks(l.era) {
				items = mayBeTasks(items)
			}
			*list.into = items
			l.up.reportIssues(list.method, issues)
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
func (l *link) pages(ctx context.Context, method string) ([][]byte, error) {
	var pages [][]byte
	params := []byte(`{}`)
	seen := make(map[string]bool)
	for range maxPages {
		resp, err := l.ask(ctx, method, params)
		if err != nil && (resp == nil || resp.Err == nil) {
			return nil, failure.Cause(ctx, err)
		}
		if resp.Err != nil {
			if resp.Err.Code == jsonrpc.CodeMethodNotFound {
				return pages, nil // declared, but not there
			}
			return nil, resp.Err
		}
		// The pages live on in the catalogue, so their buffers are not given
		// back.
		pages = append(pages, resp.Result)
		cursor := jsonrpc.Get(resp.Result, "nextCursor")
		if len(cursor) == 0 || cursor[0] != '"' {
			return pages, nil
		}
		if seen[string(cursor)] {
			l.up.log.Warn("list repeats a cursor", "method", method)
			return pages, nil
		}
		seen[string(cursor)] = true
		params = jsonrpc.Set([]byte(`{}`), cursor, "cursor")
	}
	return pages, nil
}

// ask sends a request of our own.
func (l *link) ask(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
	if l.era == mcp.Modern {
		params = l.withMeta(params, &Caller{Offer: l.offer, Era: mcp.Modern})
	} else if string(params) == `{}` {
		params = nil
	}
	resp, err := l.ours(ctx, &jsonrpc.Request{Method: method, Params: params, Back: l})
	if lost := failure.Refusal(err); lost != nil && l.era == mcp.Legacy && failure.StatusOf(err) != http.StatusTooManyRequests && failure.StatusOf(err) != http.StatusServiceUnavailable {
		l.finish(err)
	}
	return resp, err
}

// refreshDelay collects bursts of list_changed.
const refreshDelay = 50 * time.Millisecond

// A refresher fetches lists again after the server said that they changed.
type refresher struct {
	link    *link
	mu      sync.Mutex
	dirty   kind
	running bool
	loaded  bool // the first load is over
	stopped bool
	timer   *time.Timer
}

// mark notes that lists changed; they are fetched a moment later, once for a
// whole burst.
func (r *refresher) mark(k kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty |= k
	r.armLocked()
}

// start lets what changed during the first load be fetched again.
func (r *refresher) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded = true
	r.armLocked()
}

func (r *refresher) armLocked() {
	if r.dirty == 0 || r.running || r.stopped || !r.loaded {
		return
	}
	r.running = true
	r.timer = time.AfterFunc(refreshDelay, r.run)
}

func (r *refresher) run() {
	r.mu.Lock()
	which := r.dirty
	r.dirty = 0
	stopped := r.stopped
	r.mu.Unlock()
	if !stopped {
		r.fetch(which)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = r.dirty != 0 && !r.stopped
	if r.running {
		r.timer = time.AfterFunc(refreshDelay, r.run)
	}
}

func (r *refresher) fetch(which kind) {
	l := r.link
	f, err := l.fetch(l.up.life, which, l.slot.features.Load())
	if err != nil {
		l.up.log.Warn("refreshing lists", "err", err)
		return
	}
	l.slot.features.Store(f)
	l.up.changed()
}

func (r *refresher) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	if r.timer != nil {
		r.timer.Stop()
	}
}
