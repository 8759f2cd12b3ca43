package mcp

import (
	"bytes"
	"regexp"
	"slices"

	"mcp-all-in-one/internal/jsonrpc"
)

// Era is a way of opening a conversation.
type Era uint8

const (
	// Legacy opens with a handshake, keeps sessions, and lets servers ask.
	Legacy Era = iota
	// Modern is stateless: each request says who asks and what it can do.
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

// A Version is what one published revision can do, as data.
type Version struct {
	Date string
	Era  Era
	// Batch says that a JSON-RPC batch must be accepted.
	Batch bool
	// Audio, Links, Elicitation, ElicitURL and ToolErrors say which content,
	// questions and habits the revision has.
	Audio       bool // audio content
	Links       bool // resource_link content, structuredContent
	Elicitation bool
	ElicitURL   bool
	SampleTools bool // tools, toolChoice and array content in sampling
	// ToolErrors asks for argument errors as tool results, not as protocol
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

// Lookup returns the row of a version.
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

// AllVersions lists every date that we speak, newest first.
func AllVersions() []string {
	var dates []string
	for _, v := range versions {
		dates = append(dates, v.Date)
	}
	slices.Reverse(dates)
	return dates
}

// preview is the version of the SDKs' first release; it has the wire format of
// the oldest published one.
const preview = "2024-10-07"

var dateForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// Negotiate answers the version that a client proposes in initialize: its own
// where we speak it, otherwise our newest legacy one. A date before any MCP
// client existed is refused.
func Negotiate(proposed string) (string, *jsonrpc.Error) {
	if v, ok := Lookup(proposed); ok && v.Era == Legacy {
		return proposed, nil
	}
	if proposed == preview {
		return preview, nil
	}
	if dateForm.MatchString(proposed) && proposed < preview {
		return "", jsonrpc.Errorf(CodeVersionRefused, "Unsupported protocol version: %s", proposed).
			WithData(map[string]any{"supported": Versions(Legacy), "requested": proposed})
	}
	return LatestLegacy, nil
}

// Rules returns the row that governs a session at the given version. An
// unknown one (the preview, or none negotiated yet) has the rules of the
// oldest.
func Rules(date string) Version {
	if v, ok := Lookup(date); ok {
		return v
	}
	return versions[0]
}

// UnsupportedVersion is the modern answer to a version that we do not speak.
func UnsupportedVersion(requested string) *jsonrpc.Error {
	return jsonrpc.Errorf(CodeVersionUnsupported, "Unsupported protocol version: %s", requested).
		WithData(map[string]any{"supported": AllVersions(), "requested": requested})
}

var firstModern = Versions(Modern)[0]

// IsModern says whether v is a date of the modern era, ours or a later one.
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

// SaysVersion says whether params name a protocol version, as those of modern
// requests do. Some encoders escape the slash in that name.
func SaysVersion(params []byte) bool {
	if !bytes.Contains(params, versionKey) && bytes.IndexByte(params, '\\') < 0 {
		return false
	}
	return jsonrpc.Get(params, "_meta", MetaVersion) != nil
}

// Reads says whether a client of v can read whatever a server of that version
// answers. Its answers then pass unread. For a client without the newer kinds of
// content they never do: servers agree to an old version in the handshake and
// answer with what their tools always answered with.
func (v Version) Reads(version string) bool {
	server, known := Lookup(version)
	return known && server.Era == v.Era && v.Audio && v.Links
}
