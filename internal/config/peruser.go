package config

import (
	"maps"
	"slices"
	"strings"
)

// EnvironmentFor returns the environment of the entry for a process, with the
// values of its user.
func (s *Server) EnvironmentFor(values map[string]string) map[string]Secret {
	if len(values) == 0 {
		return s.Env
	}
	own := maps.Clone(s.Env)
	if own == nil {
		own = make(map[string]Secret, len(values))
	}
	for name, v := range s.PerUser {
		own[v.Env] = Secret(v.Prefix + values[name])
	}
	return own
}

// WithoutUserValues removes the variables that users must provide themselves.
// If a user has not set one, the process must not get the gateway's variable of
// the same name.
func (s *Server) WithoutUserValues(env []string) []string {
	if len(s.PerUser) == 0 {
		return env
	}
	return slices.DeleteFunc(env, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		for _, v := range s.PerUser {
			if v.Env != "" && strings.EqualFold(v.Env, name) {
				return true
			}
		}
		return false
	})
}
