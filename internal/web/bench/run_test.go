package bench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestPromptArguments checks what is sent for each input of the prompt tester.
func TestPromptArguments(t *testing.T) {
	for _, tt := range []struct{ id, in, want string }{
		{"req/S004-4", `{"name":"p","arguments":{}}`, `{"name":"p"}`},
		{"req/S004-5", `{"name":"p"}`, `{"name":"p"}`},
		{"req/S004-5 null", `{"name":"p","arguments":null}`, `{"name":"p"}`},
		{"req/S004-6", `{"name":"p","arguments":{"arg1":"","arg2":""}}`, `{"name":"p","arguments":{"arg1":"","arg2":""}}`},
		{"req/S004-7", `{"name":"p","arguments":{"arg1":"value"}}`, `{"name":"p","arguments":{"arg1":"value"}}`},
		{"req/S004-9", `{"name":"p","arguments":{"arg1":null}}`, `{"name":"p"}`},
		{"req/S004-12", `{"name":"p","arguments":{"arg1":"","arg2":null}}`, `{"name":"p","arguments":{"arg1":""}}`},
	} {
		t.Run(tt.id, func(t *testing.T) {
			got, err := prepare("prompts/get", json.RawMessage(tt.in))
			if err != nil || string(got) != tt.want {
				t.Errorf("prepare = %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	t.Run("req/S004-19", func(t *testing.T) {
		in := `{"name":"t","arguments":{}}`
		if got, err := prepare("tools/call", json.RawMessage(in)); err != nil || string(got) != in {
			t.Errorf("a tool call changed: %s, %v", got, err)
		}
	})
}

// TestIDs checks that ids do not begin with a dash, which would make them flags
// on a command line.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 2000 {
		id := newID()
		if strings.Trim(id, "0123456789abcdef") != "" || len(id) != 12 || seen[id] {
			t.Fatalf("an id is %q", id)
		}
		seen[id] = true
	}
}

// TestOutcome checks that a run that the user cancelled is cancelled, even if
// the server answers because its question was withdrawn.
func TestOutcome(t *testing.T) {
	failed := errors.New("failed")
	for _, tt := range []struct {
		name, want string
		cause, err error
	}{
		{"answered", "", nil, nil},
		{"not answered", "failed", nil, failed},
		{"cancelled", "cancelled", errRunCancelled, context.Canceled},
		{"cancelled, and answered", "cancelled", errRunCancelled, nil},
		{"too long", "timeout", errRunTooLong, context.Canceled},
	} {
		t.Run("console/4 "+tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			if tt.cause != nil {
				cancel(tt.cause)
			}
			if got, _ := outcomeOf(ctx, tt.err); got != tt.want {
				t.Errorf("the run is %q, not %q", got, tt.want)
			}
			cancel(nil)
		})
	}
}
