package upstream

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/secrets"
	"mcp-all-in-one/internal/upstream/failure"
)

// errOtherValues ends a connection that was opened with values that no longer
// count.
var errOtherValues = i18n.Errorf("the values of its user have changed", "其用户的值已更改")

// personal is what is special about a server to which every user brings values
// along. The primary connection has none of them, unless its only client is the
// user: it shows what the server lists without.
type personal struct{ *connections }

func (p personal) on() bool { return len(p.Config().PerUser) > 0 }

// values are those that a user has given, by name; a *failure.ValueError where one is
// missing.
func (p personal) values(user string) (map[string]string, error) {
	cfg := p.Config()
	given := make(map[string]string, len(cfg.PerUser))
	for _, name := range slices.Sorted(maps.Keys(cfg.PerUser)) {
		err := error(secrets.ErrNoSecret)
		if p.opt.Values != nil {
			given[name], err = p.opt.Values.Get(user, name)
		}
		switch {
		case errors.Is(err, secrets.ErrNoSecret):
			return nil, &failure.ValueError{Server: p.name, User: user, Name: name, Description: cfg.PerUser[name].Description}
		case err != nil:
			return nil, err
		case cfg.PerUser[name].Header != "" && strings.ContainsFunc(given[name], func(r rune) bool { return r < ' ' || r == 0x7f }):
			return nil, mcp.Failure(mcp.ValueMissing, p.name, fmt.Sprintf("the value %s of %s has a character in it that no header can have; set it again with: %s", name, user, failure.SetValue(name, user)))
		}
	}
	return given, nil
}

// valuesFor are the values for a connection in s; none for one that is nobody's.
func (p personal) valuesFor(s *slot) (map[string]string, error) {
	if !p.on() || s.user == "" {
		return nil, nil
	}
	return p.values(s.user)
}

// ready returns the values of the user of c. Where some are missing, what was
// opened with earlier ones ends.
func (p personal) ready(c *Caller) (map[string]string, error) {
	if !p.on() {
		return nil, nil
	}
	given, err := p.values(c.Principal)
	if err != nil {
		p.end(c.Principal)
		return nil, err
	}
	if state, reason := p.State(); p.primary.user == c.Principal && state == SignIn && errors.As(reason, new(*failure.ValueError)) {
		p.setState(Restarting, reason) // so that the call waits for it
		p.Restart()
	}
	return given, nil
}

// end ends the connections of a user. Calls in flight may finish.
func (p personal) end(user string) {
	for _, s := range append(p.slots.all(), p.primary) {
		if l := s.current(); l != nil && s.user == user {
			outdate(l)
		}
	}
}

// outdate ends a connection whose values no longer count.
func outdate(l *link) {
	l.doneOnce.Do(func() {
		l.grace, l.err = l.up.limits.Drain, errOtherValues
		close(l.done)
	})
}

// learn remembers the tools that a user's connection lists, for those who have
// not given their values: they have to see a tool to call it, and to be asked.
// What else a server lists may be the user's own.
func (p personal) learn(s *slot, f *catalog.Features) {
	if p.on() && s.user != "" {
		p.learnt.Store(&catalog.Features{Tools: f.Tools})
	}
}

// refused is why the connection in s failed: where the server has refused the
// values of its user, what that user has to do. Which of several it refused it
// does not say.
func (p personal) refused(s *slot, err error) error {
	if !failure.RefusesValues(err) || p.Config().Auth.PerUser {
		return err
	}
	values, lacks := p.valuesFor(s)
	if lacks != nil || len(values) == 0 {
		return err
	}
	name := slices.Min(slices.Collect(maps.Keys(values)))
	return &failure.ValueError{Server: p.name, User: s.user, Name: name, Description: p.Config().PerUser[name].Description, Refused: secrets.Digest(values[name])}
}

// explain says of a primary connection that could not be opened that the values
// are missing there.
func (p personal) explain(err error) error {
	if !p.on() || p.primary.user != "" || neverRan(err) {
		return err
	}
	names := slices.Sorted(maps.Keys(p.Config().PerUser))
	return &failure.WithoutValues{Names: strings.Join(names, ", "), Err: err}
}
