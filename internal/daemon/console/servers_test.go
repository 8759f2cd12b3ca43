package console

import (
	"testing"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/upstream"
)

// TestConsoleTellsTheTruth checks the state of servers in the overview: a
// server that is retried again and again is down, and so is one that has not
// answered for too long.
func TestConsoleTellsTheTruth(t *testing.T) {
	now, before := time.Now(), time.Now().Add(-2*time.Minute)
	for name, tt := range map[string]struct {
		status upstream.Status
		want   string
	}{
		"new":               {upstream.Status{State: upstream.Starting, Since: now}, "starting"},
		"hangs":             {upstream.Status{State: upstream.Starting, Since: before}, "down"},
		"installs":          {upstream.Status{State: upstream.Starting, Since: before, Installer: "npx"}, "starting"},
		"tried again":       {upstream.Status{State: upstream.Starting, Since: now, Reason: i18n.Plain("no such file")}, "down"},
		"bounces":           {upstream.Status{State: upstream.Restarting, Since: now, Reason: i18n.Plain("it ended")}, "down"},
		"restarted by hand": {upstream.Status{State: upstream.Restarting, Since: now}, "starting"},
		"up":                {upstream.Status{State: upstream.Ready, Since: before}, "up"},
		"off":               {upstream.Status{State: upstream.Disabled, Since: before}, "disabled"},
	} {
		got := describeServer(nil, tt.status, time.Minute)
		if got.State != tt.want || (got.State == "down" || tt.status.Installer != "") != (got.Reason != "") {
			t.Errorf("%s: %s %q, want %s", name, got.State, got.Reason, tt.want)
		}
	}
}
