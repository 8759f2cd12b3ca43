package welcome

import (
	"mcp-all-in-one/internal/gateway/skills"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

const serverCapabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}`

// Capabilities are the gateway's capabilities, with those that servers add for a
// client.
type Capabilities struct {
	JSON []byte

	rules mcp.Version
	takes []byte // the extensions of the client
}

// NewCapabilities returns the gateway's own capabilities, for a client of a
// version with these extensions.
func NewCapabilities(rules mcp.Version, extensions []byte) *Capabilities {
	return &Capabilities{[]byte(serverCapabilities), rules, jsonrpc.AsObject(extensions)}
}

// Extend adds the extensions that a server declares.
func (c *Capabilities) Extend(declared []byte) {
	for id, settings := range jsonrpc.Members(jsonrpc.AsObject(jsonrpc.Get(declared, "extensions"))) {
		if id == mcp.SkillsExtension { // clients do not declare it
			settings = skills.Join(jsonrpc.Get(c.JSON, "extensions", id), settings)
		} else if id == mcp.TasksExtension || c.rules.Era == mcp.Legacy && jsonrpc.Get(c.takes, id) == nil {
			continue
		}
		c.JSON = jsonrpc.Set(c.JSON, settings, "extensions", id)
	}
}

// AddTasks adds the task capabilities of a server of an era.
func (c *Capabilities) AddTasks(era mcp.Era, declared []byte) {
	c.JSON = withTasks(c.JSON, c.rules, era, declared)
}

// withTasks adds the task capabilities of a server.
func withTasks(caps []byte, rules mcp.Version, era mcp.Era, declared []byte) []byte {
	switch {
	case rules.Era == mcp.Modern && (era == mcp.Modern || jsonrpc.Get(declared, "tasks", "requests", "tools", "call") != nil):
		settings := jsonrpc.AsObject(jsonrpc.Get(declared, "extensions", mcp.TasksExtension))
		return jsonrpc.Set(caps, settings, "extensions", mcp.TasksExtension)
	case rules.Era == mcp.Modern || !rules.SampleTools:
		return caps
	case era == mcp.Modern:
		declared = []byte(`{"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`)
	}
	tasks := jsonrpc.Get(caps, "tasks")
	if tasks == nil {
		return jsonrpc.Set(caps, jsonrpc.Get(declared, "tasks"), "tasks")
	}
	for member, value := range jsonrpc.Members(jsonrpc.Get(declared, "tasks")) {
		caps = jsonrpc.Set(caps, value, "tasks", member)
	}
	return caps
}
