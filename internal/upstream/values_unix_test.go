//go:build unix

package upstream_test

import (
	"bytes"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/secrets"
)

// The last output of a process, as reported, contains no value of its user.
func TestUserValuesAreNotTold(t *testing.T) {
	entry := fake(t, "hub")
	entry.Command, entry.Args = "/bin/sh", []string{"-c", `echo "error: bad token $HUB_TOKEN" >&2; exit 1`}
	entry.PerUser = map[string]config.UserValue{"hub": {Env: "HUB_TOKEN"}}
	dir := t.TempDir()
	setValue(t, dir, "key:ann", "the-value-of-ann")
	var log bytes.Buffer
	w := newWorld(t, worldOptions{values: secrets.NewValues(dir), log: &log}, entry)
	_, err := w.ask(asUser("key:ann"), nil, "hub", "env", "{}")
	if err == nil || !strings.Contains(err.Error(), "bad token ***") {
		t.Errorf("error %v", err)
	}
	w.set.Close(t.Context())
	if strings.Contains(log.String(), "the-value-of-ann") {
		t.Error("the log has the value")
	}
}
