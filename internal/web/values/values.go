// Package values serves the page where a user enters a value for a server, such
// as an API key, that a call of the user's program lacks. The value goes from
// the browser to the gateway; neither the program nor a model sees it.
package values

import (
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/traffic"
)

// Path is the prefix of the page's addresses; a ticket follows it.
const Path = traffic.TicketPath

const (
	life    = 10 * time.Minute
	maxEach = 8 // tickets per principal
	maxAll  = 1024
)

// A Question asks for a value that a call lacks.
type Question struct {
	// Who is the principal that made the call. The value will belong to it.
	Who access.Principal
	// Server needs the value, Name names it, Description describes it.
	Server, Name, Description string
	// Refused is the digest of a value that the server has refused and that may
	// be replaced; empty if there is no value yet.
	Refused string
}

// A Book holds the open questions by ticket. It may be used concurrently; the
// zero Book is empty.
type Book struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]ticket
}

type ticket struct {
	Question
	expires time.Time
}

// Ask opens a question and returns the path of its page. The page works until
// the value is entered, at most ten minutes.
func (b *Book) Ask(q Question) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for key, t := range b.open {
		if now.After(t.expires) {
			delete(b.open, key)
		}
	}
	b.shrinkLocked(maxEach-1, func(t ticket) bool { return t.Who.ID == q.Who.ID })
	b.shrinkLocked(maxAll-1, func(ticket) bool { return true })
	if b.open == nil {
		b.open = make(map[[sha256.Size]byte]ticket)
	}
	text := rand.Text()
	b.open[sha256.Sum256([]byte(text))] = ticket{q, now.Add(life)}
	return Path + text
}

// shrinkLocked removes the oldest of the tickets that match until at most keep of
// them are left.
func (b *Book) shrinkLocked(keep int, match func(ticket) bool) {
	for {
		var oldest [sha256.Size]byte
		var first time.Time
		count := 0
		for key, t := range b.open {
			if !match(t) {
				continue
			}
			if count++; first.IsZero() || t.expires.Before(first) {
				oldest, first = key, t.expires
			}
		}
		if count <= keep {
			return
		}
		delete(b.open, oldest)
	}
}

// find returns the question of a ticket. take also removes it, together with
// all tickets that ask the same question.
func (b *Book) find(text string) (Question, bool) { return b.look(text, false) }
func (b *Book) take(text string) (Question, bool) { return b.look(text, true) }

func (b *Book) look(text string, take bool) (Question, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := sha256.Sum256([]byte(text))
	t, ok := b.open[key]
	if !ok || time.Now().After(t.expires) {
		return Question{}, false
	}
	if take {
		maps.DeleteFunc(b.open, func(_ [sha256.Size]byte, other ticket) bool { return other.Who.ID == t.Who.ID && other.Name == t.Name })
	}
	return t.Question, true
}
