package access

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestWhoMayAnswer(t *testing.T) {
	ann := Principal{ID: "key:ann"}
	boss := Principal{ID: "key:boss", Grant: Grant{Admin: true}}
	reader := Principal{ID: "key:reader", Grant: Grant{Admin: true, ReadOnly: true}}
	for _, tt := range []struct {
		name     string
		who      Principal
		from, to string
		want     bool
	}{
		{"door/1 put to it", ann, "key:ann", "key:ann", true},
		{"door/1 put to another", boss, "key:ann", "key:ann", false},
		{"door/1 a decision about its own", boss, "key:boss", "", false},
		{"door/1 a decision about another's", boss, "key:ann", "", true},
		{"door/1 the owner about a program's", Owner, "local", "", true},
		{"door/1 the owner about its own", Owner, "owner", "", false},
		{"door/1 a plain key", ann, "key:boss", "", false},
		{"door/1 an admin that changes nothing", reader, "key:ann", "", false},
		{"door/1 nobody", Principal{}, "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.who.MayAnswer(tt.from, tt.to); got != tt.want {
				t.Errorf("MayAnswer = %v", got)
			}
		})
	}
	if (Principal{}).Owns("") || ann.Owns("") || !ann.Owns("key:ann") {
		t.Error("Owns")
	}
	for who, want := range map[*Principal]bool{&ann: false, &boss: true, &reader: true, &Owner: true, &Anonymous: true, {}: false} {
		if who.MayInspect() != want {
			t.Errorf("%s: MayInspect = %v", who.ID, !want)
		}
	}
}

// TestCovers checks that a bound administrator decides within its bounds only.
func TestCovers(t *testing.T) {
	for scope, want := range map[string][4]bool{ // a tool, another server, the whole server, the whole gateway
		"":              {true, true, true, true},
		"schema:team":   {true, true, true, false},
		"schema:other":  {false, false, false, false},
		"server:fs":     {true, false, true, false},
		"tool:read":     {true, true, false, false},
		"tool:fs/write": {false, false, false, false},
	} {
		scopes := []string{"admin"}
		if scope != "" {
			scopes = append(scopes, scope)
		}
		grant := grantOf(t, scopes)
		who := Principal{ID: "key:boss", Grant: grant}
		got := [4]bool{who.Covers("team", "fs", "read"), who.Covers("team", "web", "read"), who.Covers("team", "fs", ""), who.Covers("", "", "")}
		if got != want {
			t.Errorf("door/9 %q covers %v, want %v", scope, got, want)
		}
	}
}

// TestMayLookInto checks that a principal reads its own messages, and an
// administrator those of others within its bounds.
func TestMayLookInto(t *testing.T) {
	for scopes, want := range map[string][6]bool{ // its own; of another: a tool, another tool, the server, another server, all servers
		"":                   {true, false, false, false, false, false},
		"admin":              {true, true, true, true, true, true},
		"admin readonly":     {true, true, true, true, true, true},
		"admin schema:team":  {true, true, true, true, true, false},
		"admin schema:other": {true, false, false, false, false, false},
		"admin server:fs":    {true, true, true, true, false, false},
		"admin tool:read":    {true, true, false, false, true, false},
		"server:fs":          {true, false, false, false, false, false},
	} {
		grant := grantOf(t, strings.Fields(scopes))
		who := Principal{ID: "key:boss", Grant: grant}
		got := [6]bool{who.MayLookInto("key:boss", "team", "web", "read"), who.MayLookInto("key:ann", "team", "fs", "read"), who.MayLookInto("key:ann", "team", "fs", "write"),
			who.MayLookInto("key:ann", "team", "fs", ""), who.MayLookInto("key:ann", "team", "web", "read"), who.MayLookInto("key:ann", "team", "", "")}
		if got != want {
			t.Errorf("door/9 %q looks into %v, want %v", scopes, got, want)
		}
	}
	if (Principal{}).MayLookInto("", "team", "fs", "read") {
		t.Error("nobody looks into what is nobody's")
	}
}

// TestMayCount checks that a token with fewer rights reads only the figures of what
// it covers, also of the same person.
func TestMayCount(t *testing.T) {
	for scopes, want := range map[string][3]bool{ // its own: a tool that it sees, another, all; those of others are never shown
		"":          {true, true, true},
		"readonly":  {true, true, true},
		"server:fs": {true, false, false},
	} {
		grant := grantOf(t, strings.Fields(scopes))
		who := Principal{ID: "token:ann", Grant: grant}
		got := [3]bool{who.MayCount("token:ann", "team", "fs", "read"), who.MayCount("token:ann", "team", "web", "read"), who.MayCount("token:ann", "", "", "")}
		if got != want || who.MayCount("token:bob", "team", "fs", "read") {
			t.Errorf("door/9 %q counts %v, want %v", scopes, got, want)
		}
	}
	if (Principal{}).MayCount("", "team", "fs", "read") {
		t.Error("nobody counts what is nobody's")
	}
}

func TestCurrent(t *testing.T) {
	keys := openKeys(t, filepath.Join(t.TempDir(), "keys.json"))
	p := &Policy{Required: true, Keys: keys}
	if !p.DecidesFor("key:x") || p.DecidesFor(Owner.ID) {
		t.Error("without an admin key only the owner decides")
	}
	_, plain, err := keys.Create("plain", Grant{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.DecidesFor(Owner.ID) {
		t.Error("a plain key decides")
	}
	_, boss, err := keys.Create("boss", Grant{Admin: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !p.DecidesFor(Owner.ID) {
		t.Error("an admin key does not decide for the owner")
	}
	// The stored grant does not decide what a key may do now.
	forged := plain.principal()
	forged.Admin = true
	if who, ok := p.Current(forged); !ok || who.Admin {
		t.Errorf("Current = %+v, %v", who, ok)
	}
	if _, err := keys.Revoke(boss.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Current(boss.principal()); ok || p.DecidesFor(Owner.ID) {
		t.Error("a revoked key is current")
	}
	if who, ok := p.Current(Principal{ID: Owner.ID}); !ok || !who.Admin {
		t.Errorf("the owner = %+v, %v", who, ok)
	}
	if _, ok := p.Current(Principal{}); ok {
		t.Error("nobody is current")
	}
	token := Principal{ID: "token:x", Expires: time.Now().Add(-time.Second)}
	if _, ok := p.Current(token); ok {
		t.Error("an expired token is current")
	}
	if _, ok := (&Policy{}).Current(plain.principal()); ok {
		t.Error("a key is current where there are none")
	}
}

// A principal of the key in the configuration is valid as long as the configuration
// has a key.
func TestCurrentOfTheSoleKey(t *testing.T) {
	with := &Policy{Required: true}
	must.OK(t, with.SetKey("0123456789abcdef0123456789abcdef"))
	if who, ok := with.Current(soleKey); !ok || who.ID != "key:access.key" {
		t.Errorf("%+v, %v", who, ok)
	}
	if _, ok := (&Policy{Required: true}).Current(soleKey); ok {
		t.Error("it is good without a key")
	}
}
