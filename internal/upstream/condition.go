package upstream

import (
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/upstream/failure"
)

// A State is the stage of an upstream's life.
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
	Pending      State = "pending" // not approved yet
	Unconfigured State = "unconfigured"
	Refused      State = "refused" // mcp.lock does not allow it to start
)

// A condition is the state of a server and the reason for it.
type condition struct {
	*entry
	mu      sync.Mutex
	state   State
	reason  error
	since   time.Time
	falls   int           // how often the connection was lost or could not be opened
	settled chan struct{} // closed when the server has answered or failed once
	moved   chan struct{} // closed and replaced at every change of state
}

// now returns the state, a channel that is closed when the state changes, and the reason
// for the state.
func (c *condition) now() (State, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.moved, c.reason
}

func (c *condition) describe(s *Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.State, s.Since, s.Reason, s.Restarts = c.state, c.since, i18n.Why(c.reason), c.falls
	s.PerUser = c.state == SignIn && failure.LacksValues(c.reason)
	s.KeyRefused = c.state == SignIn && !s.PerUser && c.Config().Credential() != ""
}

// State returns the state of the upstream and the reason for it.
func (c *condition) State() (State, error) {
	state, _, reason := c.now()
	return state, reason
}

// Absent reports whether the server is treated as if it were not configured: it is
// disabled, or not approved yet.
func (c *condition) Absent() bool {
	state, _ := c.State()
	return state == Disabled || state == Pending
}

// Away reports whether the server neither runs nor starts. One that wants a sign-in may
// run for users.
func (c *condition) Away() bool {
	state, _ := c.State()
	return state != Starting && state != Ready && state != SignIn
}

func (c *condition) setState(s State, why error) { c.change(s, why, 0) }

// fall records that the connection was lost or could not be opened.
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
		c.markSettled()
	}
	close(moved)
}

// markSettled records that the server has answered or failed once.
func (c *condition) markSettled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.settled:
	default:
		close(c.settled)
	}
}

// Settled returns a channel that is closed when the server has answered or failed once.
func (c *condition) Settled() <-chan struct{} { return c.settled }
