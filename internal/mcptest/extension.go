package mcptest

import "context"

// An Extension is a set of methods with a name of its own.
type Extension struct {
	// ID and Settings are what the capabilities say.
	ID       string
	Settings any
	Methods  map[string]func(context.Context, *Call) (any, error)
}

// SetExtensions replaces the extensions that the server speaks.
func (s *Server) SetExtensions(list ...Extension) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extensions = list
}

func (s *Server) extensionMethod(method string) func(context.Context, *Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.extensions {
		if f := e.Methods[method]; f != nil {
			return f
		}
	}
	return nil
}

// extensionSettings are the member extensions of the capabilities.
func (s *Server) extensionSettings() map[string]any {
	out := make(map[string]any, len(s.extensions))
	for _, e := range s.extensions {
		out[e.ID] = e.Settings
	}
	return out
}
