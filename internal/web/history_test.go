package web

import (
	"strings"
	"testing"
	"time"
)

func TestUptime(t *testing.T) {
	now := time.Date(2026, 11, 16, 10, 0, 0, 0, time.UTC)
	u := newUptimes(func() time.Time { return now })
	list := []Server{{Schema: "default", Name: "a", State: "up"}}
	set := func(state string, after time.Duration) {
		now = now.Add(after)
		list[0].State = state
		u.note(list)
	}
	set("up", 0)
	set("down", 45*time.Minute)
	set("disabled", 45*time.Minute)
	now = now.Add(30 * time.Minute)
	got := u.list(list)[0]
	if want := strings.Repeat("n", 43) + "upxnn"; got.Strip != want {
		t.Errorf("strip = %s, want %s", got.Strip, want)
	}
	if got.Share == nil || *got.Share != 0.5 {
		t.Errorf("share = %v: a server that is off is not down", got.Share)
	}
	u.note(nil)
	if left := u.list(list); len(left) != 0 {
		t.Errorf("a server that was removed is still known: %v", left)
	}
}

func TestFirstString(t *testing.T) {
	for _, c := range []struct{ body, key, want string }{
		{`{"code":-32603,"message":"database is locked"}`, "message", "database is locked"},
		{`{"_meta":{"a":["text"],"text2":"x"},"content":[{"type":"text","text":"this fails"}],"isError":true}`, "text", "this fails"},
		{`{"content":[{"type":"text","text":"an answer that is cu`, "text", ""},
		{`{"content":[{"type":"text","text":"whole"},{"type":"text","text":"cu`, "text", "whole"},
		{`{"text":{"text":1},"x":"text"}`, "text", ""},
		{`not JSON`, "text", ""},
	} {
		if got := firstString([]byte(c.body), c.key); got != c.want {
			t.Errorf("%s of %s = %q, want %q", c.key, c.body, got, c.want)
		}
	}
	if got := oneLine("two\n  lines " + strings.Repeat("é", 1000)); !strings.HasPrefix(got, "two lines é") || len([]rune(got)) != saidLength+1 {
		t.Errorf("oneLine = %q", got)
	}
}
