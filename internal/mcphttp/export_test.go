package mcphttp

import (
	"cmp"
	"slices"
	"time"
)

// Unfinished returns the memory of the unfinished requests of principal.
func (s *Server) Unfinished(principal string) int64 {
	return s.lim.Weights.Of(principal)
}

// Replays returns the bytes that the sessions of principal keep for resumption.
func (s *Server) Replays(principal string) int64 { return s.replays.Of(principal) }

// A SessionInfo describes a session without its id.
type SessionInfo struct {
	// Ref is a part of the id: enough to tell sessions apart, too little to use one.
	Ref       string
	Transport Transport
	Endpoint  Endpoint
	Principal string
	Version   string
	Opened    time.Time
	LastUsed  time.Time
	InFlight  int
	Streams   int // open GET or SSE streams
	Queued    int // messages that wait for a stream
}

// Sessions lists the sessions, oldest first.
func (s *Server) Sessions() []SessionInfo {
	var infos []SessionInfo
	for _, ss := range s.table.all() {
		infos = append(infos, ss.info())
	}
	slices.SortFunc(infos, func(a, b SessionInfo) int {
		return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.Ref, b.Ref))
	})
	return infos
}

func (ss *session) info() SessionInfo {
	version := ss.handler.Version()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return SessionInfo{
		Ref: ss.ref(), Transport: ss.transport, Endpoint: ss.ep, Principal: ss.principal,
		Version: version, Opened: ss.opened, LastUsed: ss.opened.Add(ss.lastUsed),
		InFlight: len(ss.inFlight), Streams: ss.streams, Queued: ss.out.len(),
	}
}
