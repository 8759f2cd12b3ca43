package scripts

import "context"

// A Yes is what a person said about a call.
type Yes uint8

// What a person may say.
const (
	No Yes = iota
	// Once lets the call run.
	Once
	// ForScript lets this call run, and all of the same tool that the same run of
	// a script makes.
	ForScript
)

// Agreed puts a call to a person by ask, and says whether it may run. Where a
// person has agreed to all calls of that tool by this run of a script, nobody is
// asked, and calls that wait for an answer have it.
func Agreed(ctx context.Context, server, tool string, ask func(context.Context) Yes) bool {
	s := scriptOf(ctx)
	if s == nil {
		return ask(ctx) != No
	}
	defer s.watch.pause()()
	consent, give := s.consentTo(server, tool)
	if consent.Err() != nil {
		return true
	}
	asking, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(consent, end)()
	yes := ask(asking)
	if yes == ForScript {
		give()
	}
	return yes != No || consent.Err() != nil && ctx.Err() == nil
}

// consentTo is a context that ends when a person agrees to all calls of a tool by
// this run, and what ends it.
func (s *scripted) consentTo(server, tool string) (context.Context, context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{server, tool}
	c, ok := s.consents[key]
	if !ok {
		c.given, c.give = context.WithCancel(context.Background())
		if s.consents == nil {
			s.consents = make(map[[2]string]consent)
		}
		s.consents[key] = c
	}
	return c.given, c.give
}

type consent struct {
	given context.Context
	give  context.CancelFunc
}
