package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/backoff"
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

const (
	healthyAfter = 60 * time.Second
	crashWindow  = 60 * time.Second
	crashLimit   = 5
	listGrace    = 30 * time.Second
	restartPause = 5 * time.Second
)

// supervise keeps the primary connection up until the upstream is stopped.
func (u *Upstream) supervise() {
	var tries int
	var ends []time.Time
	for {
		l, err := dialer{up: u, slot: u.primary, spec: u.baseSpec()}.open(u.life)
		if u.life.Err() != nil {
			u.farewell(l)
			return
		}
		started := time.Now()
		if err == nil {
			u.up(l)
			select {
			case <-l.done:
				err = l.err
			case <-u.wake:
				u.log.Info("restarting on request")
				u.down(Restarting, nil)
				l.close(u.life)
				continue
			case <-u.life.Done():
				u.farewell(l)
				return
			}
			if time.Since(started) > healthyAfter {
				tries = 0
			}
		}
		ends = recent(ends)
		if o := (once{u}); o.on() && (errors.Is(err, errMoved) || failure.IsRefusal(err)) {
			o.shift(l)
			continue
		}
		if errors.Is(err, errOtherValues) {
			u.down(Restarting, err)
			u.bury(l)
			continue
		}
		if l != nil || u.Config().Transport() == config.TypeStdio && !neverRan(err) {
			ends = append(ends, time.Now())
		}
		if l == nil {
			err = personal{u}.explain(err)
		}
		state, delay := u.judge(err, tries, len(ends))
		tries++
		u.down(state, err)
		u.bury(l)
		if !u.rest(state, delay) {
			return
		}
	}
}

// farewell ends a connection at the end of the upstream's life, which waits
// for it: Close may not know of one that is so new.
func (u *Upstream) farewell(l *link) {
	if l != nil {
		l.close(context.WithoutCancel(u.life))
	}
}

// bury ends a connection that broke. Two processes of one server never run
// side by side; saying goodbye to a host that is gone keeps nobody waiting.
func (u *Upstream) bury(l *link) {
	switch {
	case l == nil:
	case l.child != nil:
		l.close(u.life)
	default:
		u.background.Go(func() { l.close(u.life) })
	}
}

// neverRan says that there was no process: one that cannot be started, such as
// a command that is not installed, has not crashed.
func neverRan(err error) bool {
	var start *stdio.StartError
	return errors.As(err, &start)
}

func recent(ends []time.Time) []time.Time {
	for len(ends) > 0 && time.Since(ends[0]) > crashWindow {
		ends = ends[1:]
	}
	return ends
}

// judge decides what an end means and how long to wait before the next try.
func (u *Upstream) judge(err error, tries, endsInWindow int) (State, time.Duration) {
	cfg := u.Config()
	switch {
	case !cfg.Restart:
		return Failed, 0
	case failure.IsAuth(err) || lacksValues(err):
		return SignIn, backoff.Cap
	case endsInWindow > max(crashLimit, cfg.Retries):
		return CrashLooping, backoff.Spread(backoff.Cap)
	}
	state := Restarting
	if u.primary.features.Load() == nil {
		state = Failed
	}
	pause := min(cfg.RestartDelay, backoff.Base<<min(tries, 16))
	if u.Config().Transport() == config.TypeStdio {
		return state, backoff.Jitter(pause)
	}
	return state, max(backoff.Spread(pause), failure.RetryAfter(err))
}

// rest waits before the next attempt; a person may end the wait. It says
// whether there is a next attempt.
func (u *Upstream) rest(state State, delay time.Duration) bool {
	next := time.NewTimer(delay)
	defer next.Stop()
	tick := next.C
	if state == Failed && !u.Config().Restart {
		tick = nil
	}
	select {
	case <-tick:
	case <-u.wake:
	case <-u.life.Done():
		return false
	}
	_, why := u.State() // until it is up, that is still why it is not
	u.setState(Starting, why)
	return true
}

// up publishes a connection that is ready.
func (u *Upstream) up(l *link) {
	u.primary.link.Store(l)
	u.mu.Lock()
	if u.grace != nil {
		u.grace.Stop()
		u.grace = nil
	}
	u.mu.Unlock()
	u.primary.features.CompareAndSwap(nil, l.loaded) // the grace ended meanwhile
	u.greeted.Store(true)
	u.lastDown = ""
	u.setState(Ready, nil)
	u.log.Info("upstream connected", "version", l.said.Version)
}

// down notes that there is no connection. What the server offered stays
// listed for a while: a server that bounces does not churn its clients' lists.
func (u *Upstream) down(state State, err error) {
	u.primary.link.Store(nil)
	u.mu.Lock()
	u.restarts++
	if u.grace == nil && u.primary.features.Load() != nil {
		u.grace = time.AfterFunc(listGrace, u.unlist)
	}
	u.mu.Unlock()
	u.setState(state, err)
	level := slog.LevelWarn
	if again := fmt.Sprint(state, err); again == u.lastDown {
		level = slog.LevelDebug // it has been said
	} else {
		u.lastDown = again
	}
	u.log.Log(u.life, level, "upstream down", "state", string(state), "err", err)
}

// unlist forgets what a server offered that has been down for too long.
func (u *Upstream) unlist() {
	u.mu.Lock()
	over := u.grace != nil
	u.grace = nil
	u.mu.Unlock()
	if over && u.life.Err() == nil && u.primary.features.Swap(nil) != nil {
		u.changed()
	}
}

func (u *Upstream) setState(s State, why error) {
	u.mu.Lock()
	u.state, u.reason, u.since = s, why, time.Now()
	moved := u.moved
	u.moved = make(chan struct{})
	u.mu.Unlock()
	// Whoever is woken looks at what there is now, so the change is told first.
	u.changed()
	if s != Starting {
		u.settle()
	}
	close(moved)
}

// settle notes that the server has answered or failed once.
func (u *Upstream) settle() {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case <-u.settled:
	default:
		close(u.settled)
	}
}

func (u *Upstream) changed() {
	restand(u)
	if u.opt.OnChange != nil {
		u.opt.OnChange(u)
	}
}

// Settled is closed when the server has answered or failed once.
func (u *Upstream) Settled() <-chan struct{} { return u.settled }

// Restart opens the primary connection anew, at once.
func (u *Upstream) Restart() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// waitPrimary returns the primary connection. It waits for one that is being
// opened: a first start as long as that takes, a restart for a moment.
func (u *Upstream) waitPrimary(ctx context.Context) (*link, error) {
	if l := u.primary.current(); l != nil {
		return l, nil
	}
	wait := time.NewTimer(once{u}.wait())
	defer wait.Stop()
	for {
		u.mu.Lock()
		state, reason, moved := u.state, u.reason, u.moved
		u.mu.Unlock()
		if l := u.primary.current(); l != nil {
			return l, nil
		}
		patience := wait.C
		switch state {
		case Starting, Ready:
			select {
			case <-u.settled:
			default:
				patience = nil // the first start has its own limit
			}
		case Restarting:
		default:
			return nil, u.report.Unavailable(ctx, reason)
		}
		select {
		case <-moved:
		case <-patience:
			return nil, u.report.Unavailable(ctx, orStarting(reason))
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-u.life.Done():
			return nil, u.report.Unavailable(ctx, errStopped)
		}
	}
}

func orStarting(err error) error {
	if err == nil {
		return i18n.Errorf("it is starting", "正在启动")
	}
	return err
}
