package sandbox

import (
	"bufio"
	"encoding/json"
	"os"
	"sync"

	"mcp-all-in-one/internal/i18n"
)

// A Note is an action of an unconfined server.
type Note struct {
	// Call is one of the kinds below.
	Call string `json:"call"`
	// What is a file (its real path), an address or a host.
	What   string `json:"what,omitempty"`
	Write  bool   `json:"write,omitempty"`
	Folder bool   `json:"folder,omitempty"`
	// Profile is what the server may do when it is confined. Only the first note has
	// it.
	Profile *Profile `json:"profile,omitempty"`
}

// The kinds of notes.
const (
	noteProfile = "profile"
	noteOpen    = "open"
	noteConnect = "connect"
	noteHost    = "host" // a host name, through the proxy
	noteUnix    = "unix"
	noteListen  = "listen"
)

// maxNotes is the maximum number of notes about one server.
const maxNotes = 20_000

// notes is a file of distinct notes. The gateway and its helper both write to it.
type notes struct {
	mu   sync.Mutex
	file *os.File
	seen map[Note]bool
}

// openNotes opens a file of notes. It returns nil if path is empty.
func openNotes(path string) *notes {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		file = nil // the process continues, and nothing is recorded
	}
	return &notes{file: file, seen: map[Note]bool{}}
}

func (x *notes) close() {
	if x != nil && x.file != nil {
		x.file.Close()
	}
}

func (x *notes) add(n Note) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil || x.seen[n] || len(x.seen) >= maxNotes {
		return
	}
	x.seen[n] = true
	line, err := json.Marshal(n)
	if err != nil {
		return
	}
	_, _ = x.file.Write(append(line, '\n')) // if this fails, the note is lost
}

// learn allows a program to connect to every host, and records what it does. The first
// note is the profile that would confine it.
func (x *Proxy) learn(s Server, p *Program, profile *Profile) (release func(), err error) {
	to := openNotes(s.Learn)
	end, err := x.open(grant{server: s.ID, noted: func(host string) { to.add(Note{Call: noteHost, What: host}) }}, p, profile)
	if err != nil {
		to.close()
		return nil, err
	}
	allowed := *profile
	to.add(Note{Call: noteProfile, Profile: &allowed})
	profile.Learn = s.Learn
	return func() { end(); to.close() }, nil
}

// readNotes reads a file of notes.
func readNotes(path string) (allowed Profile, list []Note, err error) {
	file, err := os.Open(path)
	if err != nil {
		return allowed, nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	known := false
	for lines.Scan() {
		var n Note
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			continue // the process can write to the file too
		}
		if n.Call == noteProfile && n.Profile != nil && !known {
			allowed, known = *n.Profile, true
			continue
		}
		list = append(list, n)
	}
	if !known {
		return allowed, nil, i18n.Errorf("nothing was learnt: the server did not start", "没有得到任何记录：服务器没有启动")
	}
	return allowed, list, lines.Err()
}
