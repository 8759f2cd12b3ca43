package mcphttp

// Unfinished returns the memory of the incomplete bodies of principal.
func (s *Server) Unfinished(principal string) int64 {
	s.unfinished.mu.Lock()
	defer s.unfinished.mu.Unlock()
	return s.unfinished.of[principal]
}
