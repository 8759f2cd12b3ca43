// Package mcpserver is a small MCP server of both eras. The demo and mock
// commands serve it, and tests use it as a peer.
//
// Nothing here is scripted: a Server really negotiates, pages, asks, reports
// progress and cancels. The package deliberately decodes JSON with the standard
// library: for tests it is the peer, not a second user of the code under test.
package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Server is a small working MCP server. Its exported fields must be set
// before the first session opens; its lists may change at any time.
type Server struct {
	Info         mcp.Implementation
	Instructions string
	// Versions lists the supported protocol versions; nil means all.
	Versions []string
	// OldQuestions simulates FastMCP 4: its tools can only ask in the way of
	// the legacy era, and server/discover does not name that era.
	OldQuestions bool
	// PageSize splits lists into pages; 0 means one page.
	PageSize int
	// OnCall is called before every tool call.
	OnCall func(tool string, arguments json.RawMessage)

	key [32]byte // signs requestState

	features features

	mu       sync.Mutex
	sessions map[*Session]struct{}
}

// New returns a server without features.
func New(name string) *Server {
	s := &Server{
		Info:     mcp.Implementation{Name: name, Version: mcp.ProductVersion},
		sessions: map[*Session]struct{}{},
	}
	rand.Read(s.key[:])
	return s
}

// SetTools replaces the tools and notifies every session.
func (s *Server) SetTools(tools ...Tool) {
	s.change(mcp.NotificationTools, func() { s.features.tools = tools })
}

// SetResources replaces the resources and notifies every session.
func (s *Server) SetResources(resources ...Resource) {
	s.change(mcp.NotificationResources, func() { s.features.resources = resources })
}

// SetTemplates replaces the resource templates and notifies every session.
func (s *Server) SetTemplates(templates ...Template) {
	s.change(mcp.NotificationResources, func() { s.features.templates = templates })
}

// SetPrompts replaces the prompts and notifies every session.
func (s *Server) SetPrompts(prompts ...Prompt) {
	s.change(mcp.NotificationPrompts, func() { s.features.prompts = prompts })
}

func (s *Server) change(method string, set func()) {
	s.features.mu.Lock()
	set()
	s.features.mu.Unlock()
	for _, session := range s.open() {
		session.announce(method, nil)
	}
}

// Updated notifies every subscriber that a resource has changed.
func (s *Server) Updated(uri string) {
	for _, session := range s.open() {
		session.updated(uri)
	}
}

// Sessions returns the number of open sessions.
func (s *Server) Sessions() int { return len(s.open()) }

func (s *Server) open() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.sessions))
}

// Open starts a session. client sends messages to the client outside any call;
// nil if that is not possible.
func (s *Server) Open(client jsonrpc.Peer) *Session {
	session := &Session{server: s, client: client, ticks: map[string]context.CancelFunc{}}
	session.life, session.end = context.WithCancel(context.Background())
	s.mu.Lock()
	s.sessions[session] = struct{}{}
	s.mu.Unlock()
	return session
}

func (s *Server) speaks(version string) bool {
	return s.Versions == nil || slices.Contains(s.Versions, version)
}

// spoken lists the supported versions of an era, newest first.
func (s *Server) spoken(era mcp.Era) []string {
	var list []string
	for _, v := range slices.Backward(mcp.Versions(era)) {
		if s.speaks(v) {
			list = append(list, v)
		}
	}
	return list
}

func (f *features) capabilities() map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	caps := map[string]any{}
	if f.tools != nil {
		caps["tools"] = map[string]any{"listChanged": true}
		caps["logging"] = struct{}{}
	}
	if f.resources != nil || f.templates != nil {
		caps["resources"] = map[string]any{"listChanged": true, "subscribe": true}
	}
	if f.prompts != nil {
		caps["prompts"] = map[string]any{"listChanged": true}
	}
	completes := slices.ContainsFunc(f.prompts, func(p Prompt) bool { return p.Complete != nil }) ||
		slices.ContainsFunc(f.templates, func(t Template) bool { return t.Complete != nil })
	if completes {
		caps["completions"] = struct{}{}
	}
	if len(f.extensions) > 0 {
		caps["extensions"] = f.extensionSettings()
	}
	return caps
}
