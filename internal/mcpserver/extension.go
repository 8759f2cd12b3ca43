package mcpserver

import "context"

// An Extension is a named set of methods.
type Extension struct {
	// ID and Settings are its entry in the capabilities.
	ID       string
	Settings any
	Methods  map[string]func(context.Context, *Call) (any, error)
}

// SetExtensions replaces the extensions of the server.
func (s *Server) SetExtensions(list ...Extension) {
	s.features.mu.Lock()
	defer s.features.mu.Unlock()
	s.features.extensions = list
}

func (f *features) extensionMethod(method string) func(context.Context, *Call) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.extensions {
		if run := e.Methods[method]; run != nil {
			return run
		}
	}
	return nil
}

// extensionSettings returns the extensions member of the capabilities.
func (f *features) extensionSettings() map[string]any {
	out := make(map[string]any, len(f.extensions))
	for _, e := range f.extensions {
		out[e.ID] = e.Settings
	}
	return out
}
