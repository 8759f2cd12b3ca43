package mcphttp

import (
	"testing"
)

func TestAcceptedBy(t *testing.T) {
	for _, tc := range []struct {
		lines []string
		want  accepted
	}{
		{nil, accepted{json: true}},
		{[]string{""}, accepted{json: true}},
		{[]string{"*/*"}, accepted{json: true}},
		{[]string{"application/json, text/event-stream"}, accepted{json: true, events: true}},
		{[]string{"application/json", "TEXT/Event-Stream;q=0.5"}, accepted{json: true, events: true}},
		{[]string{"application/json;q=0.0, text/event-stream"}, accepted{events: true}},
		{[]string{"text/html, image/*"}, accepted{}},
	} {
		if got := acceptedBy(tc.lines); got != tc.want {
			t.Errorf("%q: %+v, want %+v", tc.lines, got, tc.want)
		}
	}
}
