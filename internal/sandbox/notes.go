package sandbox

import (
	"bufio"
	"encoding/json"
	"os"
	"sync"

	"mcp-all-in-one/internal/i18n"
)

// A Note is something that a server did while nothing confined it.
type Note struct {
	// Call is one of the kinds below.
	Call string `json:"call"`
	// What is a file, an address or a host, with links followed.
	What   string `json:"what,omitempty"`
	Write  bool   `json:"write,omitempty"`
	Folder bool   `json:"folder,omitempty"`
	// Profile is what it may do confined; of the first note alone.
	Profile *Profile `json:"profile,omitempty"`
}

// The kinds of notes.
const (
	noteProfile = "profile"
	noteOpen    = "open"
	noteConnect = "connect"
	noteHost    = "host" // by name, through the proxy
	noteUnix    = "unix"
	noteListen  = "listen"
)

// maxNotes bounds what is noted of one server.
const maxNotes = 20_000

// notes are a file of notes, each once. The gateway and its helper both add to it.
type notes struct {
	mu   sync.Mutex
	file *os.File
	seen map[Note]bool
}

// openNotes opens a file of notes; nil where there is none.
func openNotes(path string) *notes {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		file = nil // the process goes on, and nothing is learnt
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
	_, _ = x.file.Write(append(line, '\n')) // what is not written is not learnt
}

// learn lets a program do everything, and notes it. What it would be allowed to
// do is the first note.
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
			continue // the process could write there, too
		}
		if n.Call == noteProfile && n.Profile != nil && !known {
			allowed, known = *n.Profile, true
			continue
		}
		list = append(list, n)
	}
	if !known {
		return allowed, nil, i18n.Errorf("nothing was learnt: the server did not start", "没有得到任何记录：服务没有启动")
	}
	return allowed, list, lines.Err()
}
