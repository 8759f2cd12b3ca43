package web

import (
	"sync"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/web/api"
)

// maxSteps bounds the steps kept of one sign-in, maxSignIns the number of
// sign-ins kept.
const (
	maxSteps   = 64
	maxSignIns = 64
)

// signIns holds the steps of the last sign-in to each server.
type signIns struct {
	changed func() // makes the page read the steps again

	mu   sync.Mutex
	last map[string]*signIn
}

// A signIn is the progress of one sign-in.
type signIn struct {
	all *signIns

	steps   []oauth.Step
	done    bool
	message i18n.Text
}

// signInBody is the progress of a sign-in as the page shows it.
type signInBody struct {
	Steps []oauth.Step `json:"steps"`
	Done  bool         `json:"done"`
	// Message is the reason of a failure.
	Message   string `json:"message,omitempty"`
	MessageZH string `json:"messageZH,omitempty"`
}

func (s *signIns) begin(schema, name string) *signIn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.last {
		if len(s.last) >= maxSignIns {
			delete(s.last, key)
		}
	}
	one := &signIn{all: s}
	s.last[schema+"/"+name] = one
	return one
}

func (s *signIn) step(step oauth.Step) {
	s.all.mu.Lock()
	if len(s.steps) < maxSteps {
		s.steps = append(s.steps, step)
	}
	s.all.mu.Unlock()
	s.all.changed()
}

func (s *signIn) end(err error) {
	s.all.mu.Lock()
	s.done = true
	if err != nil {
		s.message = i18n.Why(err)
	}
	s.all.mu.Unlock()
	s.all.changed()
}

func (s *signIns) get(r *api.Request) (any, error) {
	s.mu.Lock()
	out := signInBody{Steps: []oauth.Step{}}
	if one := s.last[r.Param("schema")+"/"+r.Param("name")]; one != nil {
		out.Steps, out.Done = append(out.Steps, one.steps...), one.done
		out.Message, out.MessageZH = one.message.Both()
	}
	s.mu.Unlock()
	return out, nil
}
