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

// Servers gives access to the configured servers and their state.
type Servers interface {
	List() []Server
	// Detail adds the data that only the page of one server shows.
	Detail(schema, name string) (ServerDetail, error)
	// Save writes a new or changed entry to the config file. Values that are
	// equal to Kept are not changed.
	Save(ctx context.Context, schema, name string, entry json.RawMessage) error
	// Remove deletes an entry from the config file; undo restores it.
	Remove(ctx context.Context, schema, name string) (undo func(context.Context) error, err error)
	SetEnabled(ctx context.Context, schema, name string, on bool) error
	Restart(ctx context.Context, schema, name string) error
	// Ping asks the server for a sign of life, and reads its certificate.
	Ping(ctx context.Context, schema, name string) (Pulse, error)
	// SignIn begins a sign-in and returns the address where the user continues
	// it. The server's state shows when it is done. watch is called for every
	// request of the sign-in. done is called at the end, with the error or nil.
	SignIn(ctx context.Context, schema, name string, watch func(oauth.Step), done func(error)) (address string, err error)
	// Approve accepts the pending approval: a new entry, or changed tools.
	// shown is the hash of the state that the user saw. If the state differs
	// by now, Approve returns ErrChanged and Detail returns the new state.
	Approve(ctx context.Context, who access.Principal, schema, name, shown string) error
	// Watch makes the implementation call changed, never concurrently,
	// whenever the result of List changes. Watch is called once, before any
	// other method.
	Watch(changed func())
}

// A Server is one configured server in a list.
type Server struct {
	Replica string `json:"replica,omitempty"` // the replica that reports it, in a cluster
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	// State is up, starting, down, idle, disabled, pending or auth.
	State string `json:"state"`
	// Reason explains the state in one sentence.
	Reason    string    `json:"reason,omitempty"`
	ReasonZH  string    `json:"reasonZH,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	Transport string    `json:"transport"`
	// Protocol is the negotiated protocol version.
	Protocol  string `json:"protocol,omitempty"`
	Title     string `json:"title,omitempty"`
	Version   string `json:"version,omitempty"`
	PID       int    `json:"pid,omitempty"`
	Tools     int    `json:"tools"`
	Resources int    `json:"resources"`
	Prompts   int    `json:"prompts"`
	Restarts  int    `json:"restarts"`
	// ToolsSeen returns the number of tools that a principal sees.
	ToolsSeen func(access.Principal) int `json:"-"`
	// Sandbox says what the sandbox restricts: "files", or "files, hosts".
	Sandbox string `json:"sandbox,omitempty"`
	// Pending lists what needs approval: "new", or the names of what changed.
	Pending []string `json:"pending,omitempty"`
}

// A ServerDetail is the page of one server.
type ServerDetail struct {
	Server
	// Entry is the entry of the config file, with Kept in place of secrets.
	Entry json.RawMessage `json:"entry"`
	// Code holds the code of the scripts of the entry that are in files, by
	// name.
	Code map[string]string `json:"code,omitempty"`
	// Approval is the pending approval; nil for a principal that may not
	// approve it.
	Approval *Approval `json:"approval,omitempty"`
	// Source names the file that contains the entry.
	Source string `json:"source,omitempty"`
	// Handshake is the server's response to initialize or server/discover.
	Handshake json.RawMessage `json:"handshake,omitempty"`
	// Stderr holds the last lines that the server wrote to stderr.
	Stderr []string `json:"stderr,omitempty"`
	// StderrLines is the number of lines written to stderr since the gateway
	// started.
	StderrLines int `json:"stderrLines,omitempty"`
	// Accounts are the sign-ins to the server: of the gateway, or of its users.
	Accounts []oauth.Status `json:"accounts,omitempty"`
	// Withheld names the environment variables that the server did not get.
	Withheld []string `json:"withheld,omitempty"`
	// Changes lists the tools, prompts and instructions that have changed or
	// that give orders to the model, with an exact diff each.
	Changes []pin.Change `json:"changes,omitempty"`
	// Lookalikes lists tools that can be mistaken for other tools.
	Lookalikes []catalog.Lookalike `json:"lookalikes,omitempty"`
}

// A Pulse is a sign of life of a server.
type Pulse struct {
	// Took is how long the answer took.
	Took time.Duration `json:"took"`
	// Certificate is nil if the connection is not encrypted, or not to be had.
	Certificate *Certificate `json:"certificate,omitempty"`
}

// A Certificate says whose it is, who signed it, and until when it holds.
type Certificate struct {
	Subject string    `json:"subject"`
	Issuer  string    `json:"issuer"`
	Until   time.Time `json:"until"`
}

// An Approval is the state that the user is asked to approve.
type Approval struct {
	// Entry is the whole entry as the file has it, without masking, and what
	// it removes. It is empty if the Changes need approval instead.
	Entry string `json:"entry,omitempty"`
	// Hash identifies the state shown; the approval sends it back.
	Hash string `json:"hash"`
}

// A Reload reports what changed when the config file was read again.
type Reload struct {
	Path string `json:"path"`
	// Added, Removed and Changed are servers as schema/name. Servers in none
	// of these lists were not touched.
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []string `json:"changed"`
	// Settings are the keys of other values that have changed.
	Settings []string `json:"settings"`
	// Problems are warnings about the file.
	Problems   []string `json:"problems"`
	ProblemsZH []string `json:"problemsZH"`
}

// Empty reports whether the reload changed no server and no setting.
func (r *Reload) Empty() bool {
	return len(r.Added)+len(r.Removed)+len(r.Changed)+len(r.Settings) == 0
}

// Unread describes a config file that has changed since the gateway read it.
type Unread struct {
	Reload // the effect of reading it
	// Error is the reason why the file cannot be read. The gateway continues
	// with the configuration it read before.
	Error   string `json:"error,omitempty"`
	ErrorZH string `json:"errorZH,omitempty"`
}

// A Client is a connected client session.
type Client struct {
	Replica   string    `json:"replica,omitempty"` // the replica it is connected to, in a cluster
	Session   string    `json:"session"`
	Name      string    `json:"name,omitempty"`
	Version   string    `json:"version,omitempty"`
	Protocol  string    `json:"protocol,omitempty"`
	Transport string    `json:"transport"`
	Schema    string    `json:"schema,omitempty"`
	Principal string    `json:"principal,omitempty"`
	Owner     string    `json:"-"` // access.Principal.Owner
	Since     time.Time `json:"since,omitzero"`
	// Seen is the time of the last request.
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

// Settings gives access to the values of the config that are not servers.
type Settings interface {
	List(lang i18n.Lang) []Setting
	// Set writes one value to the config file.
	Set(ctx context.Context, key string, value json.RawMessage) error
	// File returns the whole config file.
	File() (ConfigFile, error)
	// Replace writes the whole config file if it still has the given mark. A
	// value of Kept keeps the value in the file. If the file would run commands
	// that it did not run before, confirm must list them, one per line;
	// otherwise Replace returns a NotConfirmed.
	Replace(ctx context.Context, text, mark, confirm string) error
}

// A ConfigFile is the config file as JSON, with Kept in place of secrets.
type ConfigFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
	// Mark identifies the content.
	Mark string `json:"mark"`
}

// A Setting is one row of the settings page.
type Setting struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Default json.RawMessage `json:"default,omitempty"`
	// Source is flag, env, file or default.
	Source string `json:"source"`
	// Restart reports that a change takes effect after a restart.
	Restart bool `json:"restart,omitempty"`
	// Waits reports that the file has another value than the gateway uses: it
	// takes effect after a restart.
	Waits bool   `json:"waits,omitempty"`
	Doc   string `json:"doc,omitempty"`
	// Secret marks values that are never shown.
	Secret bool `json:"secret,omitempty"`
	// Choices are the allowed values, if there are few.
	Choices []string `json:"choices,omitempty"`
}
