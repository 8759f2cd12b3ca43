package web

import (
	"sync"
	"time"
)

const (
	// uptimeStep and uptimeSteps divide a day into half-hours.
	uptimeStep  = 30 * time.Minute
	uptimeSteps = 48
)

// uptimes records how long each server was up and down in each half-hour
// since this gateway started.
type uptimes struct {
	now func() time.Time

	mu  sync.Mutex
	all map[serverKey]*uptime
}

type serverKey struct{ schema, name string }

// uptime is the record of one server: its current state, the time since it
// was last counted, and the counts of past steps.
type uptime struct {
	state string
	since time.Time
	ring  [uptimeSteps]uptimeSlot
}

type uptimeSlot struct {
	number   int64 // steps since 1970
	up, down time.Duration
}

// An Uptime is the uptime of a server over the last day. Time in which the
// server was not supposed to run counts neither as up nor as down.
type Uptime struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	// Strip has one letter per half-hour, oldest first: u up, p partly up, x
	// down, n not running.
	Strip string `json:"strip"`
	// Share is the fraction of the time in which the server was up; nil if it
	// was neither up nor down.
	Share *float64 `json:"share,omitempty"`
}

func newUptimes(now func() time.Time) *uptimes {
	return &uptimes{now: now, all: map[serverKey]*uptime{}}
}

// note records the current states of the servers.
func (u *uptimes) note(list []Server) {
	now := u.now()
	u.mu.Lock()
	defer u.mu.Unlock()
	seen := make(map[serverKey]*uptime, len(list))
	for i := range list {
		k := serverKey{list[i].Schema, list[i].Name}
		one := u.all[k]
		if one == nil {
			one = &uptime{since: now}
		}
		one.advance(now)
		one.state = list[i].State
		seen[k] = one
	}
	u.all = seen
}

// advance adds the time until now to the counts of the current state.
func (o *uptime) advance(now time.Time) {
	if oldest := now.Add(-uptimeSteps * uptimeStep); o.since.Before(oldest) {
		o.since = oldest
	}
	for o.since.Before(now) {
		number := o.since.UnixNano() / int64(uptimeStep)
		end := time.Unix(0, (number+1)*int64(uptimeStep))
		if end.After(now) {
			end = now
		}
		s := &o.ring[number%uptimeSteps]
		if s.number != number {
			*s = uptimeSlot{number: number}
		}
		switch o.state {
		case "up":
			s.up += end.Sub(o.since)
		case "down", "auth":
			s.down += end.Sub(o.since)
		}
		o.since = end
	}
}

// list returns the uptime of the given servers.
func (u *uptimes) list(servers []Server) []Uptime {
	now := u.now()
	u.mu.Lock()
	defer u.mu.Unlock()
	out := []Uptime{}
	for i := range servers {
		if one := u.all[serverKey{servers[i].Schema, servers[i].Name}]; one != nil {
			one.advance(now)
			out = append(out, one.show(servers[i].Schema, servers[i].Name, now))
		}
	}
	return out
}

func (o *uptime) show(schema, name string, now time.Time) Uptime {
	strip := make([]byte, 0, uptimeSteps)
	var up, down time.Duration
	last := now.UnixNano() / int64(uptimeStep)
	for n := last - uptimeSteps + 1; n <= last; n++ {
		s := o.ring[n%uptimeSteps]
		if s.number != n {
			s = uptimeSlot{}
		}
		up += s.up
		down += s.down
		switch {
		case s.up > 0 && s.down > 0:
			strip = append(strip, 'p')
		case s.up > 0:
			strip = append(strip, 'u')
		case s.down > 0:
			strip = append(strip, 'x')
		default:
			strip = append(strip, 'n')
		}
	}
	out := Uptime{Schema: schema, Name: name, Strip: string(strip)}
	if up+down > 0 {
		share := float64(up) / float64(up+down)
		out.Share = &share
	}
	return out
}
