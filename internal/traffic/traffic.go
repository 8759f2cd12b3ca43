// Package traffic keeps a bounded record of the messages that pass through the
// gateway.
//
// It owns the ring of summaries, the first bytes of every body, whole bodies
// while somebody looks, per-server statistics and the filter grammar. It
// refuses to know what a method means; the caller says who talked to whom
// and how it ended.
package traffic

import "time"

// Hop says between whom a message travelled.
type Hop string

// The two hops of a call.
const (
	// HopClient is between a client and the gateway.
	HopClient Hop = "client"
	// HopServer is between the gateway and a server. Statistics per server
	// count these.
	HopServer Hop = "server"
)

// Kind says what an entry records.
type Kind string

// The kinds of entries.
const (
	KindCall         Kind = "call"
	KindNotification Kind = "notification"
)

// A Door is the way by which a call came in.
type Door string

// The doors.
const (
	DoorSession Door = "session" // a client's own request
	DoorExec    Door = "exec"    // a tool of the compact modes
	DoorRun     Door = "run"     // a script that a client runs
	DoorScript  Door = "script"  // a script of the command line
	DoorConsole Door = "console" // the console's Bench and test suites
	DoorCLI     Door = "cli"     // the command line, through a running gateway
)

// The values of Call.Status.
const (
	StatusPending   = "pending"
	StatusOK        = "ok"
	StatusError     = "error"
	StatusToolError = "tool_error"
	StatusCancelled = "cancelled"
)

// HeadSize is how much of each body is kept always.
const HeadSize = 4 << 10

// A Call is the summary of one request and its answer, or of one notification.
// Its strings are kept as long as the entry; they must not be slices of larger
// buffers, but for the name, which is copied.
type Call struct {
	// ID is monotonic; the recorder sets it.
	ID   uint64 `json:"id"`
	Kind Kind   `json:"kind"`
	Hop  Hop    `json:"hop"`
	// FromServer says that the server sent it: sampling, elicitation, roots,
	// progress.
	FromServer bool      `json:"fromServer,omitempty"`
	Start      time.Time `json:"start"`
	Session    string    `json:"session,omitempty"`
	Client     string    `json:"client,omitempty"`
	Principal  string    `json:"principal,omitempty"`
	Door       Door      `json:"door,omitempty"`
	Schema     string    `json:"schema,omitempty"`
	Server     string    `json:"server,omitempty"`
	Method     string    `json:"method"`
	// Name is the tool, the prompt or the URI the call is about.
	Name   string `json:"name,omitempty"`
	Status string `json:"status"`
	Code   int64  `json:"code,omitempty"`
	// Reason is the one that this gateway gave for an error of its own.
	Reason string `json:"reason,omitempty"`
	// Total is the whole time on this hop; the other three say where it went.
	Total      time.Duration `json:"total"`
	Gateway    time.Duration `json:"gateway,omitempty"`
	Transport  time.Duration `json:"transport,omitempty"`
	ServerTime time.Duration `json:"serverTime,omitempty"`
	ReqSize    int64         `json:"reqSize"`
	ResSize    int64         `json:"resSize"`
	// ReqHead and ResHead are the first bytes of the bodies. They are set on
	// what Get returns, not in lists and batches.
	ReqHead []byte `json:"-"`
	ResHead []byte `json:"-"`
	// Parent is the entry that caused this one: the client's call for a call
	// to a server, the call in flight for a question.
	Parent uint64 `json:"parent,omitempty"`
	// Notes say what was translated on the way, and why.
	Notes   []string `json:"notes,omitempty"`
	NotesZH []string `json:"notesZH,omitempty"`
	// Bench marks what the tester sent; it is shown and not counted.
	Bench bool `json:"bench,omitempty"`
}

// Failed reports whether the call ended in an error of any kind.
func (c *Call) Failed() bool {
	return c.Status == StatusError || c.Status == StatusToolError
}

// An Outcome is how a call ended.
type Outcome struct {
	Status     string
	Code       int64
	Reason     string
	Total      time.Duration
	Gateway    time.Duration
	Transport  time.Duration
	ServerTime time.Duration
	// Server is set when only the way down showed which server it was; Item is
	// that server's own name for what was called, or without a server the name
	// of a tool of ours.
	Server, Item string
	// Script is the code that the call ran, where its arguments do not say it.
	Script string
	// Notes are added to those the call began with.
	Notes []string
	// Yes is the one that it needed, and got; nil where it needed none.
	Yes *Yes
}

// A Yes is what a person says to a call that runs only then; the zero Yes is a
// no.
type Yes struct {
	// By is the principal who gave it.
	By string `json:"by"`
	// Door is the way by which it came: DoorConsole, DoorCLI or ByElicitation.
	Door Door `json:"door"`
	// For is ForScript where it was given for all calls of the tool by the same
	// run of a script; empty for one call.
	For string `json:"for,omitempty"`
}

const (
	// ByElicitation is the Door of a yes that the person at the client gave.
	ByElicitation Door = "elicitation"
	// ForScript is a value of Yes.For.
	ForScript = "script"
)

// Side names one of the two bodies of a call.
type Side uint8

// The two bodies of a call.
const (
	Request Side = iota
	Response
)

// A Line is one line that a server wrote: to its stderr, or as a log message.
type Line struct {
	ID      uint64    `json:"id"`
	Time    time.Time `json:"time"`
	Server  string    `json:"server,omitempty"`
	Session string    `json:"session,omitempty"`
	// Source is stderr, message or gateway.
	Source string `json:"source"`
	Level  string `json:"level,omitempty"`
	Text   string `json:"text"`
}
