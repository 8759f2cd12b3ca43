package traffic

import "math"

// repeatsIn is how many calls of a schema Repeats looks at.
const repeatsIn = 1000

// Repeated are the calls that Repeats looked at, and how many of them were followed
// by another call of the same tool.
type Repeated struct{ Calls, Followed int }

// Repeats counts, by schema, the last calls to the tools of servers, without those of
// scripts and those that answer questions, and how many of them were followed by
// another call of the same tool by the same client. method is the one that calls a
// tool.
func (r *Recorder) Repeats(method string) map[string]Repeated {
	if r == nil {
		return nil
	}
	all := make(map[string]Repeated)
	direct := func(c *Call) bool {
		return c.Hop == HopServer && c.Kind == KindCall && c.Method == method && !c.FromServer && !c.Bench && !c.Answers &&
			(c.Door == DoorSession || c.Door == DoorExec) && all[c.Schema].Calls < repeatsIn
	}
	type client struct{ schema, session, principal, name string }
	type tool struct{ server, name string }
	next := make(map[client]tool)
	count := func(c *Call) bool { // newest first
		if !direct(c) {
			return false
		}
		by, of, n := client{c.Schema, c.Session, c.Principal, c.Client}, tool{c.Server, c.Name}, all[c.Schema]
		n.Calls++
		if next[by] == of {
			n.Followed++
		}
		all[c.Schema], next[by] = n, of
		return false
	}
	r.List(new(Filter).Only(count), 0, math.MaxInt)
	return all
}
