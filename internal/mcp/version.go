package mcp

import (
	"bytes"
	"slices"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/lazy"
)

// Era is a generation of the protocol, which determines how a conversation
// begins.
type Era uint8

const (
	// Legacy begins with a handshake, has sessions, and lets servers send
	// requests.
	Legacy Era = iota
	// Modern is stateless: each request describes its client and the
	// capabilities.
	Modern
)

func (e Era) String() string {
	if e == Modern {
		return "modern"
	}
	return "legacy"
}

// The published versions.
const (
	V2024_11_05 = "2024-11-05"
	V2025_03_26 = "2025-03-26"
	V2025_06_18 = "2025-06-18"
	V2025_11_25 = "2025-11-25"
	V2026_07_28 = "2026-07-28"
)

// LatestLegacy and LatestModern are the newest version of each era.
const (
	LatestLegacy = V2025_11_25
	LatestModern = V2026_07_28
)

// A Version describes the features of one published revision.
type Version struct {
	Date string
	Era  Era
	// Batch reports that JSON-RPC batches must be accepted.
	Batch bool
	// The following fields report the content types, requests and conventions
	// of the revision.
	Audio       bool // audio content
	Links       bool // resource_link content, structuredContent
	Elicitation bool
	ElicitURL   bool
	SampleTools bool // tools, toolChoice and array content in sampling
	// ToolErrors reports that argument errors are tool results, not protocol
	// errors.
	ToolErrors bool
}

var versions = []Version{
	{Date: V2024_11_05},
	{Date: V2025_03_26, Batch: true, Audio: true},
	{Date: V2025_06_18, Audio: true, Links: true, Elicitation: true},
	{Date: V2025_11_25, Audio: true, Links: true, Elicitation: true, ElicitURL: true, SampleTools: true, ToolErrors: true},
	{Date: V2026_07_28, Era: Modern, Audio: true, Links: true, Elicitation: true, ElicitURL: true, SampleTools: true, ToolErrors: true},
}

// Lookup returns the Version of a date.
func Lookup(date string) (Version, bool) {
	for _, v := range versions {
		if v.Date == date {
			return v, true
		}
	}
	return Version{}, false
}

// Versions lists the dates of an era, oldest first.
func Versions(era Era) []string {
	var dates []string
	for _, v := range versions {
		if v.Era == era {
			dates = append(dates, v.Date)
		}
	}
	return dates
}

// AllVersions lists every supported version, newest first.
func AllVersions() []string {
	var dates []string
	for _, v := range versions {
		dates = append(dates, v.Date)
	}
	slices.Reverse(dates)
	return dates
}

// preview is the version of the SDKs' first release; it has the wire format of
// the oldest published version.
const preview = "2024-10-07"

var dateForm = lazy.Regexp(`^\d{4}-\d{2}-\d{2}$`)

// Negotiate returns the answer to the version that a client proposes in
// initialize: the same version if it is supported, otherwise the newest legacy
// one. A date before the first MCP client is refused.
func Negotiate(proposed string) (string, *jsonrpc.Error) {
	if v, ok := Lookup(proposed); ok && v.Era == Legacy {
		return proposed, nil
	}
	if proposed == preview {
		return preview, nil
	}
	if dateForm().MatchString(proposed) && proposed < preview {
		return "", jsonrpc.Errorf(CodeVersionRefused, "Unsupported protocol version: %s", proposed).
			WithData(map[string]any{"supported": Versions(Legacy), "requested": proposed})
	}
	return LatestLegacy, nil
}

// Rules returns the Version for a session. An unknown version (the preview, or
// none negotiated yet) has the rules of the oldest.
func Rules(date string) Version {
	if v, ok := Lookup(date); ok {
		return v
	}
	return versions[0]
}

// UnsupportedVersion returns the modern error for an unsupported version.
func UnsupportedVersion(requested string) *jsonrpc.Error {
	return jsonrpc.Errorf(CodeVersionUnsupported, "Unsupported protocol version: %s", requested).
		WithData(map[string]any{"supported": AllVersions(), "requested": requested})
}

var firstModern = Versions(Modern)[0]

// IsModern reports whether v is a date of the modern era, supported or later.
func IsModern(v string) bool {
	return v >= firstModern && isDate(v)
}

func isDate(v string) bool {
	if len(v) != len("2006-01-02") {
		return false
	}
	for i := range len(v) {
		if digit := v[i] >= '0' && v[i] <= '9'; digit == (i == 4 || i == 7) {
			return false
		}
	}
	return v[4] == '-' && v[7] == '-'
}

var versionKey = []byte(`"` + MetaVersion + `"`)

// SaysVersion reports whether params contain a protocol version, as in modern
// requests. Some encoders escape the slash in its key.
func SaysVersion(params []byte) bool {
	if !bytes.Contains(params, versionKey) && bytes.IndexByte(params, '\\') < 0 {
		return false
	}
	return jsonrpc.Get(params, "_meta", MetaVersion) != nil
}

// Reads reports whether a client of v can read every answer of a server of that
// version, so that answers are forwarded unread. This is never true for a
// client without the newer content types: servers accept an old version in the
// handshake and still send the newer types.
func (v Version) Reads(version string) bool {
	server, known := Lookup(version)
	return known && server.Era == v.Era && v.Audio && v.Links
}
