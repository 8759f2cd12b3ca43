package access

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrants(t *testing.T) {
	type ask struct{ schema, server, tool string }
	tests := []struct {
		scopes  []string
		yes, no []ask
	}{
		{nil, []ask{{"default", "", ""}, {"default", "git", ""}, {"default", "git", "push"}}, nil},
		{[]string{"schema:work"}, []ask{{"work", "", ""}, {"work", "git", "push"}}, []ask{{"default", "", ""}, {"default", "git", "push"}, {"workshop", "git", ""}}},
		{[]string{"schema:w*", "schema:x"}, []ask{{"work", "git", ""}, {"x", "git", ""}}, []ask{{"home", "git", ""}}},
		{[]string{"server:git*"}, []ask{{"default", "", ""}, {"default", "github", "push"}, {"default", "git", ""}}, []ask{{"default", "fs", ""}, {"default", "agit", "x"}}},
		{[]string{"tool:get_*"}, []ask{{"default", "git", ""}, {"default", "git", "get_x"}}, []ask{{"default", "git", "set_x"}, {"default", "git", "xget_"}}},
		{[]string{"tool:git/push", "tool:fs/*"}, []ask{{"default", "git", "push"}, {"default", "fs", "read"}, {"default", "fs", ""}}, []ask{{"default", "other", ""}, {"default", "svn", "push"}, {"default", "git", "pull"}}},
		{[]string{"server:git", "tool:p*h"}, []ask{{"default", "git", "push"}, {"default", "git", "ph"}}, []ask{{"default", "git", "pushy"}, {"default", "fs", "push"}}},
	}
	for _, tt := range tests {
		grant := grantOf(t, tt.scopes)
		if diff := cmp.Diff(tt.scopes, grant.Scopes()); diff != "" {
			t.Errorf("scopes differ after a round trip:\n%s", diff)
		}
		p := Principal{ID: "key:1", Grant: grant}
		for _, a := range tt.yes {
			if !p.MaySee(a.schema, a.server, a.tool) {
				t.Errorf("%v may not see %v", tt.scopes, a)
			}
		}
		for _, a := range tt.no {
			if p.MaySee(a.schema, a.server, a.tool) || p.MayCall(a.schema, a.server, a.tool, true) {
				t.Errorf("%v may see %v", tt.scopes, a)
			}
		}
		if p.Unbound() != (len(tt.scopes) == 0) {
			t.Errorf("%v: unbound is %v", tt.scopes, p.Unbound())
		}
	}
	for _, bad := range []string{"", "schema", "schema:", "admin:x", "readonly:1", "Admin", "everything", "resource:x"} {
		if _, err := ParseScopes([]string{bad}); err == nil {
			t.Errorf("scope %q was accepted", bad)
		}
	}
}

// The first slash in a scope separates the server from the tool, even if their
// names contain slashes.
func TestToolScopeNamesItsServer(t *testing.T) {
	for _, tt := range []struct {
		scope, server, tool string
		sees                bool
	}{
		{"fs/echo", "fs", "echo", true},
		{"fs/echo", "other", "fs/echo", false},
		{"fs/*", "other", "fs/echo", false},
		{"*/echo", "fs", "echo", true},
		{"*/echo", "other", "fs/echo", false},
		{"*", "fs", "a/b", true},
		{"*echo", "fs", "a/echo", true},
		{"f*/e*o", "fs", "echo", true},
		{"f*o", "fs", "echo", false},
		{"fs/a/b", "fs", "a/b", true},
		{"fs/a/b", "fs/a", "b", false},
		{"a/b", "fs", "a/b", false},
		{"*/a/b", "fs", "a/b", true},
		{"/echo", "fs", "echo", false},
		{"/echo", "fs", "/echo", false},
		{"fs/", "fs", "echo", false},
	} {
		t.Run("door/10 "+tt.scope+" "+tt.server+" "+tt.tool, func(t *testing.T) {
			grant := grantOf(t, []string{"tool:" + tt.scope})
			p := Principal{ID: "key:1", Grant: grant}
			if p.MaySee("default", tt.server, tt.tool) != tt.sees || p.MayCall("default", tt.server, tt.tool, true) != tt.sees {
				t.Errorf("%q of %q: want %v", tt.tool, tt.server, tt.sees)
			}
		})
	}
}

func TestPrincipals(t *testing.T) {
	reader := Principal{ID: "r", Grant: Grant{ReadOnly: true, Admin: true}}
	bound := Principal{ID: "b", Grant: Grant{Tools: []string{"x"}}}
	tests := []struct {
		name                           string
		p                              Principal
		see, call, callRO, read, admin bool
	}{
		{"nobody", Principal{}, false, false, false, false, false},
		{"nobody who claims to be admin", Principal{Grant: Grant{Admin: true}}, false, false, false, false, false},
		{"anonymous", Anonymous, true, true, true, true, false},
		{"local", Local, true, true, true, true, true},
		{"read-only", reader, true, false, true, true, false},
		{"bound to a tool", bound, true, true, true, false, false},
	}
	for _, tt := range tests {
		got := []bool{
			tt.p.MaySee("default", "s", "x"), tt.p.MayCall("default", "s", "x", false), tt.p.MayCall("default", "s", "x", true),
			tt.p.MayRead("default", "s"), tt.p.MayConfigure(),
		}
		if diff := cmp.Diff([]bool{tt.see, tt.call, tt.callRO, tt.read, tt.admin}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if From(t.Context()).ID != "" {
		t.Error("a context without a principal has one")
	}
	if got := From(With(t.Context(), Local)); got.ID != "local" {
		t.Errorf("got %q out of the context", got.ID)
	}
}

// A key that is restricted to tools of one server sees no other server.
func TestToolScopeHidesServers(t *testing.T) {
	p := Principal{ID: "key:k", Grant: Grant{Tools: []string{"fs/echo", "w*/x"}}}
	for server, want := range map[string]bool{"fs": true, "web": true, "other": false} {
		if got := p.MaySee("default", server, ""); got != want {
			t.Errorf("door/9: sees %s: %v", server, got)
		}
	}
	if any := (Principal{ID: "key:k", Grant: Grant{Tools: []string{"echo"}}}); !any.MaySee("default", "other", "") {
		t.Error("a tool of any server is on none")
	}
}

// What was opened with other rights is not resumed, whatever the difference is.
func TestMayResume(t *testing.T) {
	full := Grant{
		Schemas: []string{"s"}, Servers: []string{"v"}, Tools: []string{"t"}, ReadOnly: true, Admin: true,
		Mode: "full", Fit: "off", Code: true, Results: 1, Calls: 1,
	}
	opened := Principal{ID: "token:ann", Grant: full}
	if !opened.MayResume(opened) || (Principal{ID: "token:bob", Grant: full}).MayResume(opened) || (Principal{}).MayResume(Principal{}) {
		t.Error("a session belongs to the principal that opened it")
	}
	fields := reflect.TypeFor[Grant]()
	for i := range fields.NumField() {
		p := opened
		field := reflect.ValueOf(&p.Grant).Elem().Field(i)
		if field.IsZero() {
			t.Errorf("%s is not set in this test", fields.Field(i).Name)
		}
		field.SetZero()
		if p.MayResume(opened) || opened.MayResume(p) {
			t.Errorf("a session was resumed with another %s", fields.Field(i).Name)
		}
	}
}
