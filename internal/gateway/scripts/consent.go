package scripts

import (
	"context"

	"mcp-all-in-one/internal/traffic"
)

// Agreed asks a person with ask to approve a call, and returns the approval. If
// a person has approved all calls of that tool by this run of the script,
// Agreed returns that approval without asking, also to calls that are waiting
// for an answer.
func Agreed(ctx context.Context, server, tool string, ask func(context.Context) traffic.Yes) traffic.Yes {
	s := scriptOf(ctx)
	if s == nil {
		return ask(ctx)
	}
	defer s.pause()()
	c := s.consentTo(server, tool)
	if c.given.Err() != nil {
		return c.yes
	}
	asking, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(c.given, end)()
	yes := ask(asking)
	switch {
	case yes.For == traffic.ForScript:
		s.give(c, yes)
	case yes == traffic.Yes{} && c.given.Err() != nil && ctx.Err() == nil:
		return c.yes
	}
	return yes
}

// A consent is the approval of all calls of a tool by one run. given is done
// when a person gives it; yes is written before that.
type consent struct {
	given context.Context
	end   context.CancelFunc
	yes   traffic.Yes
}

// consentTo returns the consent to the calls of a tool.
func (s *scripted) consentTo(server, tool string) *consent {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{server, tool}
	c := s.consents[key]
	if c == nil {
		c = new(consent)
		c.given, c.end = context.WithCancel(context.Background())
		if s.consents == nil {
			s.consents = make(map[[2]string]*consent)
		}
		s.consents[key] = c
	}
	return c
}

// give sets the approval of a consent, once.
func (s *scripted) give(c *consent, yes traffic.Yes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.given.Err() == nil {
		c.yes = yes
		c.end()
	}
}
