package web

import (
	"context"
	"encoding/json"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/upstream/pin"
	"mcp-all-in-one/internal/web/inbox"
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
	Schema string `json:"schema"`
	Name   string `json:"name"`
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

// viaGateway is the way through this gateway, where its policies hold.
const viaGateway = "gateway"

// A Target is what the tester connects to: a configured server, this gateway
// as its clients see it, or anything else by command or URL.
type Target struct {
	// Server names a configured server of Schema; "" with Via "gateway" is the
	// whole of Schema.
	Server string `json:"server,omitempty"`
	Schema string `json:"schema,omitempty"`
	// Via is direct or gateway. Direct needs the scope admin.
	Via string `json:"via,omitempty"`
	// As is the session of a connected client whose offer is imitated.
	As string `json:"as,omitempty"`

	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`

	// Protocol is auto, legacy, modern or a version.
	Protocol string `json:"protocol,omitempty"`
	// ClientName and ClientVersion are what the tester calls itself.
	ClientName    string `json:"clientName,omitempty"`
	ClientVersion string `json:"clientVersion,omitempty"`
	// Offer names the client capabilities: sampling, elicitation, roots. Nil
	// offers all of them.
	Offer []string `json:"offer,omitempty"`
	Roots []Root   `json:"roots,omitempty"`
}

// A Root is one root the tester offers.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// Bench opens the tester's sessions.
type Bench interface {
	Open(ctx context.Context, who access.Principal, t *Target, hooks *BenchHooks) (BenchSession, error)
}

// BenchHooks hear what a session's server does on its own. They may be called
// concurrently, and not after Close has returned.
type BenchHooks struct {
	Notification func(method string, params json.RawMessage)
	// Line is one line of the server's stderr.
	Line func(text string)
	// Ask puts the server's question to a person.
	Ask func(ctx context.Context, q inbox.Question) (inbox.Answer, error)
	// Down says that the connection is gone.
	Down func(err error)
	// Sent hears each message as it is sent; it may be nil.
	Sent func(body []byte)
}

// A BenchSession is one connection of the tester. Its methods may be called
// concurrently.
type BenchSession interface {
	Info() BenchInfo
	// Call sends one request as it is. An error that the server answered is in
	// the Exchange; err says that no answer came, and the Exchange beside it, if
	// there is one, has what went over the wire until then.
	Call(ctx context.Context, method string, params json.RawMessage) (*Exchange, error)
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// SetRoots changes what roots/list answers and says so to the server.
	SetRoots(ctx context.Context, roots []Root) error
	// Wire is everything that went over the wire so far.
	Wire() []Frame
	// Redact replaces the secrets of the target in what is kept.
	Redact(raw []byte) []byte
	Close() error
}

// BenchInfo is what the handshake said.
type BenchInfo struct {
	Protocol     string          `json:"protocol"`
	Era          string          `json:"era"`
	Transport    string          `json:"transport"`
	Handshake    json.RawMessage `json:"handshake,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	PID          int             `json:"pid,omitempty"`
	Session      string          `json:"session,omitempty"`
}

// An Exchange is one call of the tester and everything known about it.
type Exchange struct {
	// Exactly one of Result and Error is set; both are raw JSON.
	Result json.RawMessage
	Error  json.RawMessage
	// Total is the whole time; the other three say where it went.
	Total, Gateway, Transport, ServerTime time.Duration
	// TrafficID is the entry of the record, 0 when there is none.
	TrafficID uint64
	// Wire are the messages as they were sent and received.
	Wire []Frame
}

// A Frame is one message on the wire, secrets redacted.
type Frame = history.WireFrame

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
