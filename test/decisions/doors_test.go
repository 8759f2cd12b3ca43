package decisions

import (
	"encoding/json"
	"fmt"
	"net/http"

	"mcp-all-in-one/internal/mcp"
)

// An era is the kind of the client.
type era int

const (
	legacy era = iota // 2025-11-25, or the version of its transport
	modern            // 2026-07-28
	ownEra            // the era of the door, which cannot be chosen
	numEras
)

func (e era) String() string { return [numEras]string{"legacy", "modern", "own"}[e] }

// The item that all doors lead to.
const (
	server   = "demo"
	tool     = "echo"
	prompt   = "greet"
	uri      = "memo://demo"
	skill    = "skill://demo/SKILL.md"
	template = "memos://demo/{id}"
)

// A doorID identifies a way in which a request can enter.
type doorID int

const (
	doorHTTP doorID = iota
	doorSSE
	doorStdio
	doorEndpoint
	doorExec
	doorAuto
	doorRun
	doorStored
	doorBench
	doorDirect
	doorSuite
	doorCLI
	doorScript
	doorTask
	doorPrompt
	doorRead
	doorSubscribe
	doorComplete
	doorSkill
	numDoors
)

// A target is the content of an attempt: the arguments of the tool, and extra
// headers.
type target struct {
	arguments map[string]any
	header    http.Header
}

// An attempt tries the target through an open door.
type attempt func(target) answer

// A door is one way for a request to enter.
type door struct {
	name, about string
	eras        []era
	// via is its name in the record and the audit trail. who is the key that is
	// used, or a principal without a key.
	via, who string
	// subject is the requested item: the tool, the prompt, the resource.
	subject string
	// open does what a client does before its first request.
	open func(w *world, e era) attempt
}

// The keys of a world. All keys except the administrator's have the scopes of
// the decision; compact and auto see other tools.
const (
	keyPlain   = "plain"
	keyCompact = "compact"
	keyAuto    = "auto"
	keyCode    = "code"
	keyStored  = "stored" // may also call the stored script
	keyAdmin   = "admin"
)

var both = []era{legacy, modern}

// doors has an entry for every door; init fails if one is missing.
var doors = [numDoors]door{
	doorHTTP: {"http", "`tools/call` over streamable HTTP: in a session (legacy), without one (modern)", both, "session", keyPlain, tool,
		func(w *world, e era) attempt { return callTool(w.streamable("/mcp", keyPlain, e), server+"__"+tool) }},
	doorSSE: {"sse", "`tools/call` over legacy HTTP+SSE", []era{legacy}, "session", keyPlain, tool,
		func(w *world, _ era) attempt { return callTool(w.sse(keyPlain), server+"__"+tool) }},
	doorStdio: {"stdio", "`tools/call` on stdio", both, "session", "local", tool,
		func(w *world, e era) attempt { return callTool(w.piped(e), server+"__"+tool) }},
	doorEndpoint: {"endpoint", "`tools/call` at a server's own endpoint, `/s/NAME/mcp`", both, "session", keyPlain, tool,
		func(w *world, e era) attempt { return callTool(w.streamable("/s/"+server+"/mcp", keyPlain, e), tool) }},
	doorExec: {"exec", "`exec` in compact mode", both, "exec", keyCompact, tool,
		func(w *world, e era) attempt { return execTool(w.streamable("/mcp", keyCompact, e)) }},
	doorAuto: {"auto", "`exec` under `mode: auto`", both, "exec", keyAuto, tool,
		func(w *world, e era) attempt { return execTool(w.streamable("/mcp", keyAuto, e)) }},
	doorRun: {"run", "a script of `run` in code mode, which calls the tool", both, "run", keyCode, tool,
		func(w *world, e era) attempt { return runScript(w.streamable("/mcp", keyCode, e)) }},
	doorStored: {"stored", "a script of the configuration, which is a tool and calls the tool", both, "run", keyStored, tool,
		func(w *world, e era) attempt { return callTool(w.streamable("/mcp", keyStored, e), "relays__relay") }},
	doorBench: {"bench", "the console's Bench, through the gateway", both, "console", keyPlain, tool,
		func(w *world, e era) attempt {
			return w.bench(keyPlain, map[string]any{"via": "gateway"}, e, server+"__"+tool)
		}},
	doorDirect: {"direct", "the console's Bench, on a connection of its own to the server (the control is an administrator's)", both, "console", keyPlain, tool,
		func(w *world, e era) attempt {
			return w.bench(w.tester(), map[string]any{"server": server, "via": "direct"}, e, tool)
		}},
	doorSuite: {"suite", "a test file that the console runs, through the gateway", []era{ownEra}, "console", keyPlain, tool,
		func(w *world, _ era) attempt { return w.suite(keyPlain, ".", server+"__"+tool) }},
	doorCLI: {"cli", "`mcp-all-in-one call`, through the running gateway", []era{ownEra}, "cli", "local", tool,
		func(w *world, _ era) attempt { return w.command(".", server+"__"+tool) }},
	doorScript: {"script", "`mcp-all-in-one script`, through the running gateway", []era{ownEra}, "script", "local", tool,
		func(w *world, _ era) attempt { return w.scriptCommand() }},
	doorTask: {"task", "`tasks/get`, of a task that the same key made", []era{legacy}, "session", keyPlain, "task", openTask},
	doorPrompt: {"prompt", "`prompts/get`", both, "session", keyPlain, prompt,
		func(w *world, e era) attempt {
			return with(w.streamable("/mcp", keyPlain, e), mcp.MethodPromptsGet, map[string]any{"name": server + "__" + prompt})
		}},
	doorRead: {"read", "`resources/read`", both, "session", keyPlain, uri,
		func(w *world, e era) attempt {
			return with(w.streamable("/mcp", keyPlain, e), mcp.MethodResourcesRead, map[string]any{"uri": uri})
		}},
	doorSubscribe: {"subscribe", "`resources/subscribe` (legacy), `subscriptions/listen` (modern)", both, "session", keyPlain, uri, openSubscription},
	doorComplete: {"complete", "`completion/complete`", both, "session", keyPlain, prompt,
		func(w *world, e era) attempt {
			return with(w.streamable("/mcp", keyPlain, e), mcp.MethodComplete, map[string]any{
				"ref": map[string]any{"type": "ref/prompt", "name": server + "__" + prompt}, "argument": map[string]any{"name": "who", "value": "i"},
			})
		}},
	doorSkill: {"skill", "`skills/get`", both, "session", keyPlain, skill,
		func(w *world, e era) attempt {
			return with(w.streamable("/mcp", keyPlain, e), mcp.MethodSkillsGet, map[string]any{"uri": skill})
		}},
}

func init() {
	for id, d := range doors {
		if d.name == "" || d.about == "" || len(d.eras) == 0 || d.via == "" || d.who == "" || d.subject == "" || d.open == nil {
			panic(fmt.Sprintf("door %d (%s) has no complete entry in doors", id, d.name))
		}
	}
}

// tester returns the key for a direct connection of the Bench. The control
// shows that it works for an administrator.
func (w *world) tester() string {
	if w.control {
		return keyAdmin
	}
	return keyPlain
}

// callTool calls a tool by name.
func callTool(s session, name string) attempt {
	return func(t target) answer {
		return s.ask(mcp.MethodToolsCall, map[string]any{"name": name, "arguments": t.arguments}, t.header)
	}
}

// with sends one request, which does not depend on the target.
func with(s session, method string, params map[string]any) attempt {
	return func(target) answer { return s.ask(method, params, nil) }
}

// execTool calls the tool through exec.
func execTool(s session) attempt {
	return func(t target) answer {
		inner := map[string]any{"server_name": server, "tool_name": tool}
		if t.arguments != nil {
			inner["arguments"] = t.arguments
		}
		return s.ask(mcp.MethodToolsCall, map[string]any{"name": "exec", "arguments": inner}, nil)
	}
}

// scriptOf returns a script that calls the tool.
func scriptOf(t target) string {
	arguments, err := json.Marshal(t.arguments)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("return await tools.%s.%s(%s)", server, tool, arguments)
}

// runScript calls the tool in a script.
func runScript(s session) attempt {
	return func(t target) answer {
		return s.ask(mcp.MethodToolsCall, map[string]any{"name": "run", "arguments": map[string]any{"code": scriptOf(t)}}, nil)
	}
}

// openTask creates a task if the key may, so that there is a task to ask about.
func openTask(w *world, e era) attempt {
	s := w.streamable("/mcp", keyPlain, e)
	id := server + "~task1"
	made := s.ask(mcp.MethodToolsCall, map[string]any{"name": server + "__" + tool, "arguments": map[string]any{"text": "hi"}, "task": map[string]any{"ttl": 60000}}, nil)
	if found := taskID(made.raw); found != "" {
		id = found
	}
	return with(s, mcp.MethodTasksGet, map[string]any{"taskId": id})
}

func openSubscription(w *world, e era) attempt {
	s := w.streamable("/mcp", keyPlain, e)
	if e == modern {
		return with(s, mcp.MethodListen, map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{uri}}})
	}
	return with(s, mcp.MethodSubscribe, map[string]any{"uri": uri})
}
