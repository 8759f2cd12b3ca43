package web

import (
	"context"
	"encoding/json"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/upstream/pin"
)

var errClosed = i18n.Errorf("the console is closing", "控制台正在关闭")

// Servers is what is configured, and how it is doing.
type Servers interface {
	List() []Server
	// Detail adds what only one server's page shows.
	Detail(schema, name string) (ServerDetail, error)
	// Save writes one entry to the config file, new or changed. Values that
	// are Kept stay as they were.
	Save(ctx context.Context, schema, name string, entry json.RawMessage) error
	// Remove takes an entry out of the config file; undo puts it back.
	Remove(ctx context.Context, schema, name string) (undo func(context.Context) error, err error)
	SetEnabled(ctx context.Context, schema, name string, on bool) error
	Restart(ctx context.Context, schema, name string) error
	// SignIn begins a sign-in and returns the address where a person goes on;
	// the server's state says when it is done. watch hears every request of it,
	// and at last why it failed, or nil.
	SignIn(ctx context.Context, schema, name string, watch func(oauth.Step), done func(error)) (address string, err error)
	// Approve accepts what is pending: a new entry, or changed tools. shown is
	// the hash of what the person saw; ErrChanged when it is something else by
	// now, and then Detail has that.
	Approve(ctx context.Context, who access.Principal, schema, name, shown string) error
	// Watch calls changed, never concurrently, whenever List would differ. It
	// is called once, before anything else.
	Watch(changed func())
}

// A Server is one configured server in a list.
type Server struct {
	Replica string `json:"replica,omitempty"` // who says so, where there are several
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	// State is up, starting, down, idle, disabled, pending or auth.
	State string `json:"state"`
	// Reason says why it is in that state, in one sentence.
	Reason    string    `json:"reason,omitempty"`
	ReasonZH  string    `json:"reasonZH,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	Transport string    `json:"transport"`
	// Protocol is the negotiated version.
	Protocol  string `json:"protocol,omitempty"`
	Title     string `json:"title,omitempty"`
	Version   string `json:"version,omitempty"`
	PID       int    `json:"pid,omitempty"`
	Tools     int    `json:"tools"`
	Resources int    `json:"resources"`
	Prompts   int    `json:"prompts"`
	Restarts  int    `json:"restarts"`
	// ToolsSeen counts the tools that a principal sees.
	ToolsSeen func(access.Principal) int `json:"-"`
	// Sandbox is what of it is confined: "files", or "files, hosts".
	Sandbox string `json:"sandbox,omitempty"`
	// Pending is what waits for approval: "new", or what changed.
	Pending []string `json:"pending,omitempty"`
}

// A ServerDetail is one server's page.
type ServerDetail struct {
	Server
	// Entry is the entry of the config file, with Kept for secrets.
	Entry json.RawMessage `json:"entry"`
	// Approval is what waits for a person, for those who may approve it.
	Approval *Approval `json:"approval,omitempty"`
	// Source says which file the entry stands in.
	Source string `json:"source,omitempty"`
	// Handshake is the server's answer to initialize or server/discover.
	Handshake json.RawMessage `json:"handshake,omitempty"`
	// Stderr is the end of what it wrote to its stderr.
	Stderr []string `json:"stderr,omitempty"`
	// StderrLines is how many lines it has written since it was started.
	StderrLines int `json:"stderrLines,omitempty"`
	// Withheld are names of environment variables that it did not get.
	Withheld []string `json:"withheld,omitempty"`
	// Changes are its tools, prompts and instructions that are no longer what
	// they were, or give orders to the model, with an exact diff each.
	Changes []pin.Change `json:"changes,omitempty"`
	// Lookalikes are its tools that may be taken for others.
	Lookalikes []catalog.Lookalike `json:"lookalikes,omitempty"`
}

// An Approval is what a person is asked to approve.
type Approval struct {
	// Entry is the whole entry as the file has it, nothing hidden, and what it
	// takes away; empty when it is the Changes that wait.
	Entry string `json:"entry,omitempty"`
	// Hash names what is shown; approving sends it back.
	Hash string `json:"hash"`
}

// A Reload says what reading the config file again has changed.
type Reload struct {
	Path string `json:"path"`
	// Added, Removed and Changed are servers as schema/name. What is in none
	// of them was not touched.
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []string `json:"changed"`
	// Settings are the keys of other values that changed.
	Settings []string `json:"settings"`
	// Problems are what the file's readers should know.
	Problems   []string `json:"problems"`
	ProblemsZH []string `json:"problemsZH"`
}

// Empty says that nothing that counts is different.
func (r *Reload) Empty() bool {
	return len(r.Added)+len(r.Removed)+len(r.Changed)+len(r.Settings) == 0
}

// Unread is a config file that has changed since the gateway read it.
type Unread struct {
	Reload // what reading it would change
	// Error is why it cannot be read; the gateway goes on with what it read
	// before.
	Error   string `json:"error,omitempty"`
	ErrorZH string `json:"errorZH,omitempty"`
}

// A Client is one connected session.
type Client struct {
	Replica   string    `json:"replica,omitempty"` // where it is, where there are several
	Session   string    `json:"session"`
	Name      string    `json:"name,omitempty"`
	Version   string    `json:"version,omitempty"`
	Protocol  string    `json:"protocol,omitempty"`
	Transport string    `json:"transport"`
	Schema    string    `json:"schema,omitempty"`
	Principal string    `json:"principal,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	// Seen is when it last asked something.
	Seen         time.Time       `json:"seen,omitzero"`
	Calls        int64           `json:"calls"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
}

// A Problem is one violation of a schema.
type Problem struct {
	// Path is a JSON Pointer into the value.
	Path      string `json:"path"`
	Message   string `json:"message"`
	MessageZH string `json:"messageZH"`
}

// Settings are the values of the config that are not servers.
type Settings interface {
	List(lang i18n.Lang) []Setting
	// Set writes one value to the config file.
	Set(ctx context.Context, key string, value json.RawMessage) error
}

// A Setting is one row of the settings page.
type Setting struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Default json.RawMessage `json:"default,omitempty"`
	// Source is flag, env, file or default.
	Source string `json:"source"`
	// Restart says that a change counts after a restart.
	Restart bool   `json:"restart,omitempty"`
	Doc     string `json:"doc,omitempty"`
	// Secret values are never shown.
	Secret bool `json:"secret,omitempty"`
	// Choices are the allowed values, when they are few.
	Choices []string `json:"choices,omitempty"`
}
