// Package model makes random configurations and requests, and compares what
// servers receive through the real binary with a small model of what may reach
// them.
//
// The model is written from the documentation, independently of the gateway: it
// shares no code with it.
package model

import "strings"

// A server is a server in the file, with all settings that can stop a call.
type server struct {
	name, schema string
	off          bool
	allow, deny  []string
	// By the name of a tool: off, on despite the lists, or asked about.
	toolOff, toolOn, toolAsk map[string]bool
	promptOff, resourceOff   bool
}

// A setting is one configuration: the servers, and what clients see.
type setting struct {
	mode    string
	servers []*server
}

// A holder is a principal: the scopes of its key, or no key.
type holder struct {
	name   string
	known  bool
	scopes []string
}

// The doors.
const (
	doorLegacy   = "legacy"   // tools/call in a session
	doorModern   = "modern"   // tools/call without one
	doorEndpoint = "endpoint" // at the endpoint of a server
	doorExec     = "exec"
	doorRun      = "run"
	doorBench    = "bench"
	doorPrompt   = "prompt"
	doorResource = "resource"
)

var allDoors = []string{doorLegacy, doorModern, doorEndpoint, doorExec, doorRun, doorBench, doorPrompt, doorResource}

// An attempt is one request.
type attempt struct {
	door           string
	schema, server string // the schema it is sent to, and the server it is for
	tool           string
	complete       bool // it has the argument that the tool requires
}

// reaches reports whether the request may reach its server.
func reaches(c *setting, who *holder, a attempt) bool {
	s := find(c, a.schema, a.server)
	if s == nil || s.off || !who.known {
		return false
	}
	if !within(who, "schema", s.schema) || !within(who, "server", s.name) {
		return false
	}
	switch a.door {
	case doorPrompt:
		return !has(who, "tool") && !s.promptOff
	case doorResource:
		return !has(who, "tool") && !s.resourceOff
	}
	if !offered(c, who, a.door) || a.door == doorBench && has(who, "readonly") {
		return false
	}
	return mayCall(who, s, a.tool) && listed(s, a.tool) && !s.toolAsk[a.tool] && a.complete
}

// strays returns the servers that may get a request for a URI because no server
// that the holder sees lists it: all servers that it may read from, but never
// the one that lists it.
func strays(c *setting, who *holder, a attempt) (list []string) {
	for _, s := range c.servers {
		other := a
		other.server = s.name
		open := *s
		open.resourceOff = false // its own resource is a different one
		if s.schema == a.schema && s.name != a.server && reaches(&setting{servers: []*server{&open}}, who, other) {
			list = append(list, s.schema+"/"+s.name)
		}
	}
	return list
}

func find(c *setting, schema, name string) *server {
	for _, s := range c.servers {
		if s.schema == schema && s.name == name {
			return s
		}
	}
	return nil
}

// offered reports whether the door exists in the holder's mode: its own, or
// that of the file.
func offered(c *setting, who *holder, door string) bool {
	mode := c.mode
	if own := values(who, "mode"); len(own) > 0 {
		mode = own[len(own)-1]
	}
	switch door {
	case doorExec:
		return mode != "full"
	case doorRun:
		return mode == "code"
	case doorEndpoint:
		return true
	}
	return mode == "full" || mode == "auto"
}

// mayCall checks a tool against the tool: and readonly scopes.
func mayCall(who *holder, s *server, tool string) bool {
	if has(who, "readonly") && tool != readsOnly {
		return false
	}
	patterns := values(who, "tool")
	for _, p := range patterns {
		of, own, both := strings.Cut(p, "/")
		if !both && like(p, tool) || both && like(of, s.name) && like(own, tool) {
			return true
		}
	}
	return len(patterns) == 0
}

// listed checks a tool against the lists: first the setting of the tool itself,
// then deny, then allow.
func listed(s *server, tool string) bool {
	switch {
	case s.toolOff[tool]:
		return false
	case s.toolOn[tool]:
		return true
	}
	for _, p := range s.deny {
		if like(p, tool) {
			return false
		}
	}
	for _, p := range s.allow {
		if like(p, tool) {
			return true
		}
	}
	return len(s.allow) == 0
}

func within(who *holder, kind, name string) bool {
	patterns := values(who, kind)
	for _, p := range patterns {
		if like(p, name) {
			return true
		}
	}
	return len(patterns) == 0
}

func has(who *holder, kind string) bool {
	for _, s := range who.scopes {
		if of, _, _ := strings.Cut(s, ":"); of == kind {
			return true
		}
	}
	return false
}

func values(who *holder, kind string) (list []string) {
	for _, s := range who.scopes {
		if of, value, _ := strings.Cut(s, ":"); of == kind {
			list = append(list, value)
		}
	}
	return list
}

// like matches a name against a pattern, in which * is any text.
func like(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	if pattern[0] == '*' {
		return like(pattern[1:], name) || name != "" && like(pattern, name[1:])
	}
	return name != "" && pattern[0] == name[0] && like(pattern[1:], name[1:])
}
