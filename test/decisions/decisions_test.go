// Package decisions tests every decision of the gateway at every door through
// which a request can enter, with the real binary: the request is refused
// everywhere, for the same reason, before the server gets it, and it is
// recorded.
//
// A row of the table is a decision, a column is a door, and a cell is a run.
// docs/decisions.md is made from the table.
package decisions

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
)

// A run is the outcome of one cell.
type run struct {
	answer
	prepared, from, to time.Time
}

type place struct {
	door doorID
	era  era
}

// evidence is what was found after all attempts on one configuration.
type evidence struct {
	d       *decision
	w       *world
	runs    map[place]run
	journal []heard
	record  []entry
	trail   []entry
}

func TestDecisions(t *testing.T) {
	var y tally
	t.Cleanup(func() { y.hold(t) }) // after all rows
	for row := range decisions {
		d := &decisions[row]
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ev := d.try(t)
			for id, door := range doors {
				for _, e := range door.eras {
					t.Run(fmt.Sprintf("%s/%s", door.name, e), func(t *testing.T) {
						at := place{doorID(id), e}
						defer func() { y.add(decisionID(row), at, t.Failed()) }()
						if d.cells[id][e].kind != notApplicable {
							ev.judge(t, at)
						}
					})
				}
			}
		})
	}
}

// try makes all attempts of a row, stops the gateway and collects the records.
func (d *decision) try(t *testing.T) *evidence {
	w := d.world(t)
	attempts := map[place]attempt{}
	open := func() {
		for id, door := range doors {
			for _, e := range door.eras {
				if d.cells[id][e].kind != notApplicable {
					attempts[place{doorID(id), e}] = door.open(w, e)
				}
			}
		}
	}
	if d.early {
		open()
	}
	if d.begin != nil {
		d.begin(w)
	}
	if !d.early {
		open()
	}
	ev := &evidence{d: d, w: w, runs: map[place]run{}}
	for id, door := range doors {
		for _, e := range door.eras {
			at := place{doorID(id), e}
			if try := attempts[at]; try != nil {
				prepared := time.Now()
				if d.before != nil && d.cells[id][e].kind != closed {
					d.before(w, at.door, d.target)
				}
				from := time.Now()
				ev.runs[at] = run{try(d.target), prepared, from, time.Now()}
			}
		}
	}
	ev.record = w.record()
	w.stop()
	ev.trail = w.trail()
	var err error
	if ev.journal, err = readJournal(w.journal()); err != nil {
		t.Fatal(err)
	}
	return ev
}

// world starts the configuration of a decision, with its servers.
func (d *decision) world(t *testing.T) *world {
	w := d.start(t, nil)
	w.startStdio()
	w.until("the servers have started", func() bool {
		status, _, _ := w.do(http.MethodGet, "/ready", "", nil, nil)
		return status == http.StatusOK
	})
	return w
}

// start starts only the gateway over HTTP; more is added to the server's entry.
func (d *decision) start(t *testing.T, more map[string]any) *world {
	w := newWorld(t, map[string][]string{
		keyPlain: d.scopes, keyCompact: append([]string{"mode:compact"}, d.scopes...), keyAuto: append([]string{"mode:auto"}, d.scopes...),
		keyCode:   append([]string{"mode:code"}, d.scopes...),
		keyStored: withRelay(d.scopes),
		keyAdmin:  {"admin"},
	})
	w.control = d.reason == let
	settings := map[string]any{}
	maps.Copy(settings, d.settings)
	entry := map[string]any{}
	maps.Copy(entry, d.entry)
	maps.Copy(entry, more)
	demo := map[string]any{"other": w.entry("other", nil), server: w.entry(server, entry), "relays": map[string]any{"scripts": d.relay()}}
	if d == &decisions[pending] {
		delete(demo, server) // a client adds it
	}
	settings["mcpServers"] = demo
	if d.schemas {
		delete(settings, "mcpServers")
		settings["schemas"] = map[string]any{
			"default":   map[string]any{"mcpServers": demo},
			"elsewhere": map[string]any{"mcpServers": map[string]any{"another": w.entry("another", nil)}},
		}
	}
	w.settings = settings
	if d != &decisions[scriptNew] {
		w.approveScripts()
	}
	w.start(settings)
	return w
}

// relay is a script of the configuration that calls the tool. A key with
// readonly may call it only if it claims to be read-only.
func (d *decision) relay() map[string]any {
	return map[string]any{"relay": map[string]any{
		"description": "Call the tool.", "arguments": map[string]any{"type": "object"}, "readOnly": d == &decisions[readOnly] || d == &decisions[scriptReads],
		"code": "return await tools." + server + "." + tool + "(args)",
	}}
}

// withRelay returns scopes that also allow the script.
func withRelay(scopes []string) []string {
	for _, s := range scopes {
		switch kind, _, _ := strings.Cut(s, ":"); kind {
		case "server":
			return append([]string{"server:relays"}, scopes...)
		case "tool":
			return append([]string{"tool:relay"}, scopes...)
		}
	}
	return scopes
}

// approveScripts approves the scripts of the configuration, as a person does.
func (w *world) approveScripts() {
	w.t.Helper()
	w.write(w.config(), "http")
	cfg, err := config.Load(config.LoadOptions{Path: w.config(), Home: w.dir, LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		w.t.Fatal(err)
	}
	s := cfg.Schema("default").Server("relays")
	if err := cfg.Approvals().Approve(s.ID(), s.ShownHash()); err != nil {
		w.t.Fatal(err)
	}
}

// judge checks one cell against the rule, or against its exception.
func (ev *evidence) judge(t *testing.T, at place) {
	d, door, r := ev.d, &doors[at.door], ev.runs[at]
	want := d.reason
	if d.cells[at.door][at.era].kind == closed {
		want = shutOut
	}
	if r.reason != want {
		t.Errorf("the client should be told %q, and was told %v", orLet(want), r.answer)
	}
	reached := ev.reached(r)
	if want == let {
		if len(reached) == 0 {
			t.Errorf("nothing reached the server; it was told %v", r.answer)
		}
		ev.check(t, door, r, "ok")
		return
	}
	for _, h := range reached {
		t.Errorf("the server heard %s %s", h.Method, h.Params)
	}
	if d.cells[at.door][at.era].kind == "" {
		ev.check(t, door, r, "error", "tool_error")
	}
}

func orLet(reason string) string {
	if reason == let {
		return "that it ran"
	}
	return reason
}

// reached returns the requests that a server got because of a run: from the
// start of the run until the next one is prepared.
func (ev *evidence) reached(r run) (list []heard) {
	end := time.Now()
	for _, other := range ev.runs {
		if other.prepared.After(r.from) && other.prepared.Before(end) {
			end = other.prepared
		}
	}
	for _, h := range ev.journal {
		if h.Server == server && !h.At.Before(r.from) && h.At.Before(end) && h.wanted() {
			list = append(list, h)
		}
	}
	return list
}

// wanted reports whether a request came from a client rather than from the
// gateway itself, such as handshakes, lists and notifications about lists.
func (h heard) wanted() bool {
	switch h.Method {
	case mcp.MethodToolsCall:
		return strings.Contains(string(h.Params), `"`+tool+`"`)
	case mcp.MethodListen:
		return strings.Contains(string(h.Params), uri)
	case mcp.MethodPromptsGet, mcp.MethodResourcesRead, mcp.MethodSubscribe, mcp.MethodComplete, mcp.MethodTasksGet, mcp.MethodSkillsGet:
		return true
	}
	return false
}

// check looks for the run in the record and in the audit trail.
func (ev *evidence) check(t *testing.T, door *door, r run, statuses ...string) {
	if door == &doors[doorDirect] {
		return // bypasses the gateway, for an administrator
	}
	want := entry{Principal: ev.w.principal(door.who), Door: door.via, Reason: ev.d.reason}
	if !slices.Contains(reasons, mcp.Reason(want.Reason)) {
		want.Reason = ""
	}
	if door != &doors[doorStdio] { // its record ends with its process
		ev.find(t, "record", ev.record, door, r, want, statuses)
	}
	ev.find(t, "audit trail", ev.trail, door, r, want, statuses)
}

// reasons are the reasons of the gateway that decisions use.
var reasons = []mcp.Reason{mcp.Draining, mcp.Overloaded, mcp.RateLimited, mcp.RepeatedCall, mcp.PolicyDenied}

func (ev *evidence) find(t *testing.T, where string, list []entry, door *door, r run, want entry, statuses []string) {
	var near []string
	for _, e := range list {
		if e.Start.Before(r.from) || e.Start.After(r.to) {
			continue
		}
		if e.Principal == want.Principal && e.Door == want.Door && e.names(door.subject) && (want.Reason == "" || e.Reason == want.Reason) &&
			slices.Contains(statuses, e.Status+e.Outcome) {
			return
		}
		near = append(near, e.String())
	}
	t.Errorf("the %s should have {principal %q door %q server %q subject %q, %s, reason %q}, and of that time it has %s",
		where, want.Principal, want.Door, server, door.subject, strings.Join(statuses, " or "), want.Reason, orNone(near))
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// names reports whether an entry is about a subject of the server, by its own
// name or by the name that clients use.
func (e entry) names(subject string) bool {
	text := e.Tool + " " + e.Name
	if !strings.Contains(text, subject) {
		return false
	}
	return e.Server == server || strings.Contains(text, server)
}

// principal returns the principal of a door: a key of the world, or a principal
// without a key.
func (w *world) principal(who string) string {
	if k, ok := w.keys[who]; ok {
		return k.principal
	}
	return who
}
