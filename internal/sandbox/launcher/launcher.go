// Package launcher is the process that confines itself and becomes a server.
//
// It is started for each confined server, so it imports little: a process
// initializes all packages of the program before main, and most of ours take longer
// than the launcher itself.
package launcher

// Command is the argument that makes this program the launcher.
const Command = "__exec"

// StageExec is the last stage: the process is confined, but its program could not
// be executed.
const StageExec = "exec"

// A Profile is what a confined process may do. With the zero value it can read and
// write no files and connect to no address.
type Profile struct {
	// Read are files and folders that it may read and execute.
	Read []string `json:"read,omitempty"`
	// Write are files and folders that it may also write.
	Write []string `json:"write,omitempty"`
	// Public allows connections to public addresses, and UDP.
	Public bool `json:"public,omitempty"`
	// Addresses are further addresses that it may connect to: "10.0.0.5:5432".
	Addresses []string `json:"addresses,omitempty"`
	// Unix allows unix sockets.
	Unix bool `json:"unix,omitempty"`
	// Listen allows it to accept connections.
	Listen bool `json:"listen,omitempty"`
	// Learn is a file in which the helper notes what the process opens, runs and
	// connects to. Such a process is not confined.
	Learn string `json:"learn,omitempty"`
}

// A Request describes the server that the launcher becomes. Strings are sent as
// bytes, because file names and environments need not be UTF-8.
type Request struct {
	Profile Profile  `json:"profile"`
	Path    []byte   `json:"path"`
	Argv    [][]byte `json:"argv"`
	Env     [][]byte `json:"env"`
}
