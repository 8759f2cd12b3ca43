package decisions

import (
	"fmt"
	"net/http"

	"mcp-all-in-one/internal/mcp"
)

// A decisionID identifies a decision; the order is that in which decisions are
// made.
type decisionID int

const (
	// nothing is the control: the same attempts without any decision.
	nothing decisionID = iota
	draining
	pressure
	scopeSchema
	scopeServer
	scopeTool
	readOnly
	pending
	serverOff
	scriptNew
	itemOff
	allowList
	denyList
	pinHold
	scriptReads
	rateKey
	rateServer
	rateTool
	headerParams
	argumentsFit
	argumentSet
	repeat
	ask
	numDecisions
)

// A decision is one reason to refuse a call, and the configuration that causes
// it.
type decision struct {
	name, about string
	// rule is its name in the gateway; several rows may test one rule.
	rule string
	// reason is the reason that every attempt gets; let for the control.
	reason string
	// entry is added to the entry of the server; settings are added to the
	// file.
	entry    map[string]any
	settings map[string]any
	// schemas puts the server into a schema next to another one.
	schemas bool
	// scopes of the keys that make attempts.
	scopes []string
	target target
	// begin causes the decision in a running gateway. If early is set, the
	// doors are open by then.
	begin func(w *world)
	early bool
	// before runs before each attempt, as its principal.
	before func(w *world, id doorID, t target)
	cells  cells
}

// A cell describes the exception for one door and decision. The zero cell is
// the rule: refused with the reason, nothing sent, recorded and audited.
type cell struct{ kind, why string }

const (
	notApplicable = "na"   // there is nothing to decide
	closed        = "shut" // the key cannot use the door at all
	unrecorded    = "mute" // refused before there is a call to record
)

type cells = [numDoors][numEras]cell

// exceptions builds the cells of a decision.
func exceptions(sets ...func(*cells)) (c cells) {
	for _, set := range sets {
		set(&c)
	}
	return c
}

func on(kind, why string, ids []doorID, eras ...era) func(*cells) {
	return func(c *cells) {
		for _, id := range ids {
			for _, e := range eras {
				c[id][e] = cell{kind, why}
			}
		}
	}
}

func na(why string, ids ...doorID) func(*cells) {
	return on(notApplicable, why, ids, legacy, modern, ownEra)
}
func shut(why string, ids ...doorID) func(*cells) {
	return on(closed, why, ids, legacy, modern, ownEra)
}
func mute(why string, ids ...doorID) func(*cells) {
	return on(unrecorded, why, ids, legacy, modern, ownEra)
}

// naLegacy marks what exists only in the modern era.
func naLegacy(why string, ids ...doorID) func(*cells) { return on(notApplicable, why, ids, legacy) }

// Exceptions that several decisions share.
var (
	direct      = shut("a connection past the gateway needs the admin scope", doorDirect)
	toolsOnly   = na("it is about tools", doorPrompt, doorRead, doorSubscribe, doorComplete, doorSkill)
	scriptsOnly = na("it is about scripts of the configuration", doorHTTP, doorSSE, doorStdio, doorEndpoint, doorExec, doorAuto, doorRun, doorBench, doorDirect, doorSuite, doorCLI, doorScript,
		doorTask, doorPrompt, doorRead, doorSubscribe, doorComplete, doorSkill)
	madeByCall = na("a task is made by a call, which was decided", doorTask)
	noScopes   = na("who started the gateway has no scopes", doorStdio, doorCLI, doorScript)
	looksOnly  = shut("a read-only key may look at the console, and call nothing there", doorBench, doorSuite)
	itself     = mute("the call of the script itself is refused", doorStored)
	staysOpen  = na("a subscription is not a call: it stays open", doorSubscribe)
	newSession = mute("a new session is refused", doorSuite, doorCLI, doorScript)
)

var hello = target{arguments: map[string]any{"text": "hi"}}

// decisions has an entry for every decision; init fails if one is missing.
var decisions = [numDecisions]decision{
	nothing: {name: "nothing", about: "the control: nothing is in the way, and the server hears it", reason: let, target: hello},
	draining: {name: "draining", rule: "draining", about: "the gateway is shutting down, and a call still runs", reason: string(mcp.Draining), target: hello,
		settings: map[string]any{"limits": map[string]any{"drain": "30s"}}, begin: (*world).drain, early: true,
		cells: exceptions(direct, newSession, mute("the call of `exec` or `run` is refused, before the tool in it is read", doorExec, doorAuto, doorRun),
			mute("the call of the script is refused", doorStored),
			mute("the transport refuses every new request", doorHTTP, doorSSE, doorStdio, doorEndpoint, doorTask, doorPrompt, doorRead, doorSubscribe, doorComplete, doorSkill),
			na("the console ends with the gateway", doorBench, doorSuite))},
	pressure: {name: "pressure", rule: "pressure", about: "`limits.memory` is used up", reason: string(mcp.Overloaded), target: hello,
		begin: (*world).press, early: true, cells: exceptions(direct, itself, newSession, on(unrecorded, "all of `subscriptions/listen` is refused", []doorID{doorSubscribe}, modern))},
	scopeSchema: {name: "scope-schema", rule: "scope", about: "the key has `schema:elsewhere`", reason: notFound, target: hello, schemas: true, scopes: []string{"schema:elsewhere"},
		cells: exceptions(noScopes, mute("the endpoint is not there: there is no call", doorHTTP, doorSSE, doorEndpoint, doorExec, doorAuto, doorRun, doorStored,
			doorTask, doorPrompt, doorRead, doorSubscribe, doorComplete, doorSkill), direct, mute("the schema is not there: there is no session", doorBench, doorSuite))},
	scopeServer: {name: "scope-server", rule: "scope", about: "the key has `server:other`", reason: notFound, target: hello, scopes: []string{"server:other"},
		cells: exceptions(noScopes, direct, mute("the endpoint is not there: there is no call", doorEndpoint))},
	scopeTool: {name: "scope-tool", rule: "scope", about: "the key has `tool:look`", reason: notFound, target: hello, scopes: []string{"tool:look"},
		cells: exceptions(noScopes, direct, madeByCall)},
	readOnly: {name: "read-only", rule: "scope", about: "the key has `readonly`, and the tool does not say that it only reads", reason: notFound, target: hello, scopes: []string{"readonly"},
		cells: exceptions(noScopes, direct, looksOnly, madeByCall, na("it only reads", doorPrompt, doorRead, doorSubscribe, doorComplete, doorSkill))},
	pending: {name: "pending", rule: "present", about: "a client added the server, and no person has approved it", reason: notFound, target: hello, begin: (*world).addPending,
		cells: exceptions(direct, mute("the endpoint is not there: there is no call", doorEndpoint))},
	serverOff: {name: "server-off", rule: "present", about: "`enabled: false` of the server", reason: notFound, target: hello, entry: map[string]any{"enabled": false},
		cells: exceptions(direct, mute("the endpoint is not there: there is no call", doorEndpoint))},
	scriptNew: {name: "script-new", rule: "present", about: "no person has approved the script as it is", reason: notFound, target: hello,
		cells: exceptions(scriptsOnly, mute("the script is not there", doorStored))},
	itemOff: {name: "tool-off", rule: "lists", about: "`enabled: false` of the tool, the prompt and the resource", reason: notFound, target: hello,
		entry: map[string]any{"tools": off(tool), "prompts": off(prompt), "resources": map[string]any{uri: map[string]any{"enabled": false}, skill: map[string]any{"enabled": false}}}, cells: exceptions(direct, madeByCall)},
	allowList: {name: "allow", rule: "lists", about: "`allow` does not name the tool", reason: notFound, target: hello, entry: map[string]any{"allow": []string{"look"}},
		cells: exceptions(direct, madeByCall, toolsOnly)},
	denyList: {name: "deny", rule: "lists", about: "`deny` names the tool", reason: notFound, target: hello, entry: map[string]any{"deny": []string{tool}},
		cells: exceptions(direct, madeByCall, toolsOnly)},
	pinHold: {name: "pin", rule: "pin", about: "`pin: hold`, and the texts of the tool and the prompt give orders to the model", reason: notFound, target: hello,
		entry: map[string]any{"pin": "hold", envOrders: "1"}, cells: exceptions(direct, madeByCall, na("resources are not pinned", doorRead, doorSubscribe, doorSkill))},
	scriptReads: {name: "script-reads", rule: "claim", about: "the script has `readOnly`, and the tool does not say that it only reads", reason: string(mcp.PolicyDenied), target: hello,
		cells: exceptions(scriptsOnly)},
	rateKey: {name: "rate-key", rule: "rate", about: "`limits.callsPerMinute` is used up", reason: string(mcp.RateLimited), target: hello,
		settings: map[string]any{"limits": map[string]any{"callsPerMinute": 1}}, before: (*world).useUp, cells: exceptions(direct, itself, madeByCall, staysOpen)},
	rateServer: {name: "rate-server", rule: "rate", about: "`callsPerMinute` of the server is used up", reason: string(mcp.RateLimited), target: hello,
		entry: map[string]any{"callsPerMinute": 1}, before: (*world).useUp, cells: exceptions(direct, madeByCall, staysOpen)},
	rateTool: {name: "rate-tool", rule: "rate", about: "`callsPerMinute` of the tool is used up", reason: string(mcp.RateLimited), target: hello,
		entry: map[string]any{"tools": map[string]any{tool: map[string]any{"callsPerMinute": 1}}}, before: (*world).useUp, cells: exceptions(direct, madeByCall, toolsOnly)},
	headerParams: {name: "headers", rule: "headers", about: "the header of an `x-mcp-header` argument has another value", reason: headerMismatch,
		target: target{map[string]any{"text": "hi", "region": "eu"}, http.Header{"Mcp-Param-Region": {"us"}}},
		cells: exceptions(direct, madeByCall, toolsOnly, naLegacy("headers of arguments are modern", doorHTTP, doorEndpoint), na("it has no headers", doorSSE, doorStdio, doorBench, doorSuite, doorCLI, doorScript),
			na("its own arguments are no headers", doorExec, doorAuto, doorRun, doorStored))},
	argumentsFit: {name: "arguments", rule: "arguments", about: "a required argument is missing", reason: badArguments, target: target{arguments: map[string]any{}},
		cells: exceptions(direct, madeByCall, toolsOnly)},
	argumentSet: {name: "argument-set", rule: "arguments", about: "`arguments` of the tool sets the argument that the call has", reason: badArguments, target: hello,
		entry: map[string]any{"tools": map[string]any{tool: map[string]any{"arguments": map[string]any{"text": map[string]any{"value": "ours"}}}}}, cells: exceptions(direct, madeByCall, toolsOnly)},
	repeat: {name: "repeat", rule: "repeat", about: "the same call got the same answer `limits.sameCall` times", reason: string(mcp.RepeatedCall), target: hello,
		settings: map[string]any{"limits": map[string]any{"sameCall": 2}}, before: (*world).useUp, cells: exceptions(direct, itself, madeByCall, toolsOnly)},
	ask: {name: "ask", rule: "ask", about: "`ask: true`, and a person says no", reason: string(mcp.PolicyDenied), target: hello,
		entry: map[string]any{"tools": map[string]any{tool: map[string]any{"ask": true}}}, begin: (*world).decline, cells: exceptions(direct, madeByCall, toolsOnly)},
}

func off(name string) map[string]any { return map[string]any{name: map[string]any{"enabled": false}} }

func init() {
	for id, d := range decisions {
		if d.name == "" || d.about == "" || d.target.arguments == nil || (d.reason == let) != (decisionID(id) == nothing) || (d.rule == "") != (decisionID(id) == nothing) {
			panic(fmt.Sprintf("decision %d (%s) has no complete entry in decisions", id, d.name))
		}
		for door, eras := range d.cells {
			for _, c := range eras {
				if (c.kind == "") != (c.why == "") {
					panic(fmt.Sprintf("decision %s, door %s: an exception needs a reason", d.name, doors[door].name))
				}
			}
		}
	}
}
