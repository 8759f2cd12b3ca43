package gateway

import (
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/receipt"
)

// fit is what the client takes of a tool; nil for everything. The key decides,
// then the schema. Only a legacy session may be judged by the name that the
// client gives: a modern request is answered the same for every sender. One
// server's own endpoint shows what the server shows.
func (s *Session) fit(era mcp.Era) *fit.Dialect {
	if s.opening.Server != "" {
		return nil
	}
	name := s.opening.Who.Fit
	if name == "" {
		name = s.schemaConfig().Fit
	}
	if name != "auto" {
		return fit.Of(name)
	}
	if limits := receipt.LimitOf(s.clientName()); limits != nil && era == mcp.Legacy {
		return fit.Of(limits.Fit)
	}
	return nil
}

// shortened finds a tool by the name that a client with a fit was shown.
func (s *Session) shortened(p party, name string, miss *catalog.Miss) (catalog.Ref, *catalog.Miss) {
	fit := s.fit(p.rules.Era)
	if fit == nil {
		return catalog.Ref{}, miss
	}
	ref, stillMissing := s.look().Shown.ToolFitting(fit, name, s.visible())
	if stillMissing != nil {
		return catalog.Ref{}, miss
	}
	return ref, nil
}
