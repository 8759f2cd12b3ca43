// Package traffic keeps a bounded record of the messages that pass through the
// gateway.
//
// It holds the ring of summaries, the first bytes of every body, whole bodies
// while a viewer is attached, statistics per server and the filter grammar. It
// does not know what a method means: the caller says who sent a message to whom
// and how the call ended.
package traffic

import "time"

// Hop says between which parties a message travelled.
type Hop string

// The two hops of a call.
const (
	// HopClient is between a client and the gateway.
	HopClient Hop = "client"
	// HopServer is between the gateway and a server. The statistics per server
	// count these calls.
	HopServer Hop = "server"
)

// Kind says what an entry records.
type Kind string

// The kinds of entries.
const (
	KindCall         Kind = "call"
	KindNotification Kind = "notification"
)

// A Door is the way by which a call reached the gateway.
type Door string

// The doors.
const (
	DoorSession Door = "session" // a request of a client
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

// HeadSize is how many bytes of each body are always kept.
const HeadSize = 4 << 10

// A Call is the summary of one request and its answer, or of one notification.
// Its strings live as long as the entry, so they must not be substrings of larger
// buffers. Only Name is copied.
type Call struct {
	// ID is monotonic and set by the recorder.
	ID   uint64 `json:"id"`
	Kind Kind   `json:"kind"`
	Hop  Hop    `json:"hop"`
	// FromServer says that the server sent the message: sampling, elicitation,
	// roots, progress.
	FromServer bool      `json:"fromServer,omitempty"`
	Start      time.Time `json:"start"`
	Session    string    `json:"session,omitempty"`
	Client     string    `json:"client,omitempty"`
	Principal  string    `json:"principal,omitempty"`
	// Owner is access.Principal.Owner of the principal.
	Owner  string `json:"-"`
	Door   Door   `json:"door,omitempty"`
	Schema string `json:"schema,omitempty"`
	Server string `json:"server,omitempty"`
	Method string `json:"method"`
	// Name is the tool, the prompt or the URI of the call.
	Name   string `json:"name,omitempty"`
	Status string `json:"status"`
	Code   int64  `json:"code,omitempty"`
	// Reason is the reason of an error that this gateway made.
	Reason string `json:"reason,omitempty"`
	// Total is the whole time on this hop; the other three are its parts.
	Total      time.Duration `json:"total"`
	Gateway    time.Duration `json:"gateway,omitempty"`
	Transport  time.Duration `json:"transport,omitempty"`
	ServerTime time.Duration `json:"serverTime,omitempty"`
	ReqSize    int64         `json:"reqSize"`
	ResSize    int64         `json:"resSize"`
	// ReqHead and ResHead are the first bytes of the bodies. Only Get sets them,
	// lists and batches do not.
	ReqHead []byte `json:"-"`
	ResHead []byte `json:"-"`
	// Parent is the entry that caused this one: the client's call for a call to a
	// server, the call in flight for a question.
	Parent uint64 `json:"parent,omitempty"`
	// Notes say what was translated, and why.
	Notes   []string `json:"notes,omitempty"`
	NotesZH []string `json:"notesZH,omitempty"`
	// Bench marks calls of the tester, which are shown but not counted.
	Bench bool `json:"bench,omitempty"`
	// Answers says that the client repeats a call of the modern era to answer the
	// questions that it got as its result.
	Answers bool `json:"-"`
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
	// Server is set if the server became known only during the call. Item is the
	// server's own name of what was called, or the name of a tool of the gateway
	// if there is no server.
	Server, Item string
	// Script is the code that the call ran, if it is not among its arguments.
	Script string
	// Notes are added to the notes of the call.
	Notes []string
	// Yes is the approval that the call needed and got; nil if it needed none.
	Yes *Yes
	// Forward says by which replica the call came.
	Forward Forward
}

// A Yes is a person's approval of a call that needs one; the zero Yes is a
// refusal.
type Yes struct {
	// By is the principal who approved.
	By string `json:"by"`
	// Door is the way of the approval: DoorConsole, DoorCLI or ByElicitation.
	Door Door `json:"door"`
	// For is ForScript if the approval holds for all calls of the tool by the
	// same run of a script; empty if it holds for one call.
	For string `json:"for,omitempty"`
}

const (
	// ByElicitation is the Door of an approval by the person at the client.
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

// A Line is one line that a server wrote to its stderr or sent as a log message.
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
