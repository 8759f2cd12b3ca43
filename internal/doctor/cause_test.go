package doctor

import (
	"errors"
	"os"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/failure"
)

// A server that keeps ending is restarted repeatedly. Between its ends it has
// the state of a starting server, and the reason of its last end.
func TestFixOfAServerThatEnds(t *testing.T) {
	for name, test := range map[string]struct {
		why  error
		want string
	}{
		"true/12 it ended":            {errors.New("the server ended during the handshake: exit status 1"), "run it by hand"},
		"true/12 it has not answered": {nil, "it runs and does not answer"},
		"true/12 it was too slow":     {failure.ErrSlow, "it runs and does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &env.Env{Getenv: os.LookupEnv}
			st := &upstream.Status{State: upstream.Starting}
			if got := fixFor(a, &config.Server{Command: "true"}, st, test.why); !strings.HasPrefix(got, test.want) {
				t.Errorf("the fix is %q, want %q", got, test.want)
			}
		})
	}
}

// What an entry refers to and nobody has defined is defined in different ways.
func TestFixOfAnUndefinedValue(t *testing.T) {
	a := &env.Env{Getenv: os.LookupEnv}
	st := &upstream.Status{State: upstream.Unconfigured}
	for _, cfg := range []*config.Server{{Command: "true"}, {URL: "http://127.0.0.1:1"}} {
		cfg.Missing = []string{"secret:nosuch", "NOVAR"}
		got := fixFor(a, cfg, st, &failure.MissingError{Names: cfg.Missing})
		if !strings.Contains(got, "mcp-all-in-one secret set nosuch") || !strings.Contains(got, "${NOVAR:-default}") || strings.Contains(got, "inheritEnv") {
			t.Errorf("the fix is %q", got)
		}
	}
}
