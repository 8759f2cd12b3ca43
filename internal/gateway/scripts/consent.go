package scripts

import (
	"context"

	"mcp-all-in-one/internal/traffic"
)

// Agreed puts a call to a person by ask, and returns the yes that it may run
// under. Where a person has agreed to all calls of that tool by this run of a
// script, nobody is asked, and calls that wait for an answer have it.
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

// A consent is one to all calls of a tool by one run. given ends when a person
// gives it, and yes is written before.
type consent struct {
	given context.Context
	end   context.CancelFunc
	yes   traffic.Yes
}

// consentTo is the consent to the calls of a tool.
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

// give gives a consent, once.
func (s *scripted) give(c *consent, yes traffic.Yes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.given.Err() == nil {
		c.yes = yes
		c.end()
	}
}
