package upstream

import (
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/upstream/failure"
)

// A State is where an upstream is in its life.
type State string

// The states.
const (
	Starting     State = "starting"
	Ready        State = "ready"
	Restarting   State = "restarting"
	Failed       State = "failed"
	CrashLooping State = "crash_looping"
	SignIn       State = "sign_in" // the server wants other credentials
	Stopped      State = "stopped"
	Disabled     State = "disabled"
	Pending      State = "pending" // nobody has approved it
	Unconfigured State = "unconfigured"
)

// A condition is the state of a server, and why it is in it.
type condition struct {
	*entry
	mu      sync.Mutex
	state   State
	reason  error
	since   time.Time
	falls   int           // how often it was up, or tried, and is not any more
	settled chan struct{} // closed when it has answered or failed once
	moved   chan struct{} // closed and replaced at every change of state
}

// now is the state, and what is closed when that changes.
func (c *condition) now() (State, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.moved, c.reason
}

// describe adds the state to a status.
func (c *condition) describe(s *Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.State, s.Since, s.Reason, s.Restarts = c.state, c.since, i18n.Why(c.reason), c.falls
	s.PerUser = c.state == SignIn && failure.LacksValues(c.reason)
}

// State is where the upstream is in its life, and why.
func (c *condition) State() (State, error) {
	state, _, reason := c.now()
	return state, reason
}

// Absent says that the server counts as one that is not there: it is switched
// off, or nobody has approved it.
func (c *condition) Absent() bool {
	state, _ := c.State()
	return state == Disabled || state == Pending
}

func (c *condition) setState(s State, why error) { c.change(s, why, 0) }

// fall notes that there is no connection any more, or none after all.
func (c *condition) fall(s State, why error) { c.change(s, why, 1) }

func (c *condition) change(s State, why error, falls int) {
	c.mu.Lock()
	c.state, c.reason, c.since, c.falls = s, why, time.Now(), c.falls+falls
	moved := c.moved
	c.moved = make(chan struct{})
	c.mu.Unlock()
	// Waiting calls read the lists when moved closes, so the lists change first.
	c.changed()
	if s != Starting {
		c.settle()
	}
	close(moved)
}

// settle notes that the server has answered or failed once.
func (c *condition) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.settled:
	default:
		close(c.settled)
	}
}

// Settled is closed when the server has answered or failed once.
func (c *condition) Settled() <-chan struct{} { return c.settled }
