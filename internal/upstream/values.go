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

// errOtherValues ends a connection that was opened with outdated values.
var errOtherValues = i18n.Errorf("the values of its user have changed", "其用户的值已更改")

// personal adds the handling of a server with per-user values. The primary connection has
// no values, unless its only client is the user. It lists what the server lists without
// values.
type personal struct{ *connections }

func (p personal) on() bool { return len(p.Config().PerUser) > 0 }

// values returns the values that a user has set, by name. The error is a
// *failure.ValueError if one is missing.
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

// valuesFor returns the values for the connection in s; nil if the connection belongs to no
// user.
func (p personal) valuesFor(s *slot) (map[string]string, error) {
	if !p.on() || s.user == "" {
		return nil, nil
	}
	return p.values(s.user)
}

// ready returns the values of the user of c. If a value is missing, it ends the connections
// that were opened with earlier values.
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
		p.setState(Restarting, reason) // so that the call waits for the restart
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

func outdate(l *link) {
	l.doneOnce.Do(func() {
		l.grace, l.err = l.up.limits.Drain, errOtherValues
		close(l.done)
	})
}

// learn remembers the tools that a user's connection lists. Users who have not set their
// values must see a tool to call it and to be asked for the values. Only tools are
// remembered: the other lists may be private to the user.
func (p personal) learn(s *slot, f *catalog.Features) {
	if p.on() && s.user != "" {
		p.learnt.Store(&catalog.Features{Tools: f.Tools})
	}
}

// refused returns the error for a failed connection in s. If the server refused the values
// of the user, the error says what the user must do. The server does not say which of
// several values it refused.
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

// explain adds to the error of a primary connection that it was opened without the per-user
// values.
func (p personal) explain(err error) error {
	if !p.on() || p.primary.user != "" || neverRan(err) {
		return err
	}
	names := slices.Sorted(maps.Keys(p.Config().PerUser))
	return &failure.WithoutValues{Names: strings.Join(names, ", "), Err: err}
}
