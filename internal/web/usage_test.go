package web

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/usage"
	"mcp-all-in-one/internal/web/api"
)

// console/usage: a principal that sees only one server sees only the figures of
// other principals for that server, and all of its own.
func TestUsageOfOneServer(t *testing.T) {
	book := usage.Open(usage.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(book.Close)
	book.Use(true, 30)
	c := start(t, func(o *Options) { o.Usage = book })
	for _, principal := range []string{"key:bound", "key:other"} {
		for _, server := range []string{"", "demo", "prompts"} {
			book.Count(usage.Key{Principal: principal, Door: traffic.DoorSession, Schema: "default", Server: server, Kind: usage.Tool, Name: "echo"}, traffic.StatusOK, time.Now(), time.Millisecond, 4, 4)
			book.Count(usage.Key{Principal: principal, Door: traffic.DoorSession, Schema: "default", Server: server, Kind: usage.List}, traffic.StatusOK, time.Now(), time.Millisecond, 0, 400)
		}
	}
	for _, tt := range []struct {
		grant access.Grant
		other [2]int64
	}{
		{access.Grant{Admin: true, Servers: []string{"demo"}}, [2]int64{1, 100}},
		{access.Grant{Admin: true, Tools: []string{"demo/echo"}}, [2]int64{1, 0}},
	} {
		c.want(200, "POST", "login", map[string]string{"code": c.h.Logins.NewCode(access.Principal{ID: "key:bound", Grant: tt.grant})})
		for key, want := range map[string][2]int64{"key:bound": {3, 300}, "key:other": tt.other} {
			var got UsageReport
			c.get("usage?key="+key, &got)
			if got.Total.OK != want[0] || got.Total.Definitions != want[1] {
				t.Errorf("%+v sees of %s %+v", tt.grant, key, got.Total)
			}
		}
	}
}

// console/usage: each principal sees its own figures, an administrator all.
func TestUsage(t *testing.T) {
	book := usage.Open(usage.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(book.Close)
	book.Use(true, 30)
	c := start(t, func(o *Options) {
		o.Usage, o.Named = book, func(id string) string { return map[string]string{"key:caller": "ci"}[id] }
	})
	for principal, n := range map[string]int{"key:caller": 3, "key:reader": 2, usage.Other: 1} {
		for range n {
			book.Count(usage.Key{Principal: principal, Client: "Claude", Door: traffic.DoorSession, Schema: "default", Server: "demo", Kind: usage.Tool, Name: "echo"}, traffic.StatusOK, time.Now(), time.Millisecond, 10, 30)
		}
	}
	for scope, want := range map[string]int64{api.ScopeRead: 2, api.ScopeCall: 3, api.ScopeAdmin: 6} {
		c := c.login(scope)
		var got UsageReport
		c.get("usage?days=3&by=key", &got)
		if got.Total.OK != want || len(got.Days) != 3 {
			t.Errorf("%s sees %+v", scope, got)
		}
		if scope == api.ScopeAdmin && (len(got.Rows) != 3 || got.Names["key:caller"] != "ci") {
			t.Errorf("rows %+v, names %v", got.Rows, got.Names)
		}
		c.get("usage?tool=other", &got)
		if got.Total.OK != 0 {
			t.Errorf("of another tool: %+v", got.Total)
		}
		for _, query := range []string{"by=weather", "days=-1", "days=0", "days=367", "days=abc", "days=1e9", "days=1000000000", "days=99999999999999999999"} {
			if answer := string(c.want(400, "GET", "usage?"+query, nil)); !strings.Contains(answer, "usage is shown") {
				t.Errorf("%s: %s", query, answer)
			}
		}
	}
}
