package mcp

import (
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// An Offer lists the requests that a client accepts from a server.
type Offer struct {
	Roots         bool
	Sampling      bool
	SampleTools   bool
	SampleContext bool
	Elicit        bool // form mode
	ElicitURL     bool
	// Extensions is the raw extensions member, nil if absent.
	Extensions []byte
	// Tasks is the raw tasks member of 2025-11-25, nil if absent.
	Tasks []byte
}

// Everything is the offer of a shared connection. Servers that list tools
// depending on capabilities then list all of them.
var Everything = Offer{Roots: true, Sampling: true, SampleTools: true, SampleContext: true, Elicit: true, ElicitURL: true}

// Add adds the named capability: sampling, elicitation or roots. It reports
// whether the name is known.
func (o *Offer) Add(name string) bool {
	switch name {
	case "sampling":
		o.Sampling, o.SampleTools, o.SampleContext = true, true, true
	case "elicitation":
		o.Elicit, o.ElicitURL = true, true
	case "roots":
		o.Roots = true
	default:
		return false
	}
	return true
}

// appsExtension is the extension of MCP Apps: interfaces of tools.
const appsExtension = "io.modelcontextprotocol/ui"

// ShowsApps reports whether the client shows the interfaces of tools.
func (o *Offer) ShowsApps() bool {
	return len(o.Extensions) > 0 && jsonrpc.Get(o.Extensions, appsExtension) != nil
}

// ParseOffer parses the capabilities that a client declared.
func ParseOffer(caps []byte) Offer {
	var o Offer
	if len(caps) == 0 || caps[0] != '{' {
		return o
	}
	o.Roots = isObject(jsonrpc.Get(caps, "roots"))
	if s := jsonrpc.Get(caps, "sampling"); isObject(s) {
		o.Sampling = true
		o.SampleTools = isObject(jsonrpc.Get(s, "tools"))
		o.SampleContext = isObject(jsonrpc.Get(s, "context"))
	}
	if e := jsonrpc.Get(caps, "elicitation"); isObject(e) {
		form, url := isObject(jsonrpc.Get(e, "form")), isObject(jsonrpc.Get(e, "url"))
		o.ElicitURL = url
		o.Elicit = form || !url // {} means form mode
	}
	if x := jsonrpc.Get(caps, "extensions"); isObject(x) {
		o.Extensions = append([]byte(nil), x...)
	}
	if t := jsonrpc.Get(caps, "tasks"); isObject(t) {
		o.Tasks = append([]byte(nil), t...)
	}
	return o
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// Empty reports that the client accepts no requests.
func (o Offer) Empty() bool {
	return !o.Roots && !o.Sampling && !o.Elicit && !o.ElicitURL
}

// Key returns a text that is equal for equal offers.
func (o Offer) Key() string {
	var b strings.Builder
	for _, f := range []struct {
		on bool
		c  byte
	}{{o.Roots, 'r'}, {o.Sampling, 's'}, {o.SampleTools, 't'}, {o.SampleContext, 'c'}, {o.Elicit, 'e'}, {o.ElicitURL, 'u'}} {
		if f.on {
			b.WriteByte(f.c)
		}
	}
	b.Write(o.Extensions)
	b.Write(o.Tasks)
	return b.String()
}

// For returns the part of the offer that exists in a version.
func (o Offer) For(v Version) Offer {
	if !v.Elicitation {
		o.Elicit = false
	}
	if !v.ElicitURL {
		o.ElicitURL = false
	}
	if !v.SampleTools {
		o.SampleTools, o.SampleContext, o.Tasks = false, false, nil
	}
	if v.Era == Modern {
		o.Tasks = nil
	}
	return o
}

// JSON returns the offer as the capabilities of a client of version v.
// listChanged announces notifications about changed roots.
func (o Offer) JSON(v Version, listChanged bool) []byte {
	o = o.For(v)
	b := []byte{'{'}
	add := func(name, value string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(append(b, '"'), name...), `":`...), value...)
	}
	if o.Roots {
		value := "{}"
		if listChanged && v.Era == Legacy {
			value = `{"listChanged":true}`
		}
		add("roots", value)
	}
	if o.Sampling {
		add("sampling", flags("tools", o.SampleTools, "context", o.SampleContext))
	}
	if o.Elicit || o.ElicitURL {
		if v.ElicitURL {
			add("elicitation", flags("form", o.Elicit, "url", o.ElicitURL))
		} else {
			add("elicitation", "{}")
		}
	}
	if len(o.Tasks) > 0 {
		add("tasks", string(o.Tasks))
	}
	if len(o.Extensions) > 0 {
		add("extensions", string(o.Extensions))
	}
	return append(b, '}')
}

func flags(a string, aOn bool, b string, bOn bool) string {
	s := "{"
	if aOn {
		s += `"` + a + `":{}`
	}
	if bOn {
		if aOn {
			s += ","
		}
		s += `"` + b + `":{}`
	}
	return s + "}"
}

// Allows reports whether a server may send this request to a client with this
// offer.
func (o Offer) Allows(method string, params []byte) bool {
	switch method {
	case MethodRootsList:
		return o.Roots
	case MethodSampling:
		return o.Sampling
	case MethodElicit:
		if mode, _ := jsonrpc.GetString(params, "mode"); mode == "url" {
			return o.ElicitURL
		}
		return o.Elicit
	case MethodPing:
		return true
	}
	// The client decides about unknown requests.
	return !o.Empty()
}

// Refuse returns the answer to a request of a server for which no client is
// available.
func Refuse(req *jsonrpc.Request) *jsonrpc.Response {
	return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeMethodNotFound,
		"Method '%s' not found", req.Method).WithData(map[string]string{
		"method": req.Method,
		"reason": "no client with this capability has an open request",
	})}
}
