package mcphttp

// Unfinished is the memory of the bodies of principal that have not arrived
// whole.
func (s *Server) Unfinished(principal string) int64 {
	s.unfinished.mu.Lock()
	defer s.unfinished.mu.Unlock()
	return s.unfinished.of[principal]
}
