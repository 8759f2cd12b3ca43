package model

import (
	"slices"
	"testing"

	"mcp-all-in-one/internal/mcptest/random"
)

// A source makes choices from the bytes of an input; after its end it always
// makes the first choice.
type source struct{ data []byte }

func (s *source) below(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// rarely is true for one byte in four.
func (s *source) rarely() bool { return s.below(4) == 1 }

func pick[T any](s *source, of []T) T { return of[s.below(len(of))] }

var (
	modes    = []string{"full", "compact", "search", "code", "auto"}
	patterns = []string{writes, readsOnly, pretends, "*", "e*", "*o*", "a/*", "Echo", "l*k"}
)

func (s *source) some(of []string) (list []string) {
	for s.rarely() {
		list = append(list, pick(s, of))
	}
	return list
}

func (s *source) set(of []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range s.some(of) {
		set[name] = true
	}
	return set
}

func (s *source) setting() *setting {
	c := &setting{mode: pick(s, modes)}
	for _, p := range places {
		if s.below(8) == 7 {
			continue // the file has no such server
		}
		c.servers = append(c.servers, &server{
			name: p.name, schema: p.schema, off: s.below(8) == 7, allow: s.some(patterns), deny: s.some(patterns),
			toolOff: s.set(tools), toolOn: s.set(tools), toolAsk: map[string]bool{pick(s, tools): s.below(2) == 1}, promptOff: s.rarely(), resourceOff: s.rarely(),
		})
	}
	return c
}

// often lists each door as often as it should be tried: a script takes a
// process.
var often = []string{
	doorLegacy, doorModern, doorModern, doorEndpoint, doorEndpoint, doorEndpoint, doorExec, doorExec, doorExec, doorExec, doorRun, doorBench, doorPrompt, doorResource,
}

// holder returns the principal for a door, mostly with a mode in which the door
// exists.
func (s *source) holder(door string) *holder {
	bound, mode := s.below(len(bounds)+1), s.below(2*len(ownModes))
	if bound == len(bounds) {
		return holders[len(holders)-1]
	}
	if mode >= len(ownModes) {
		mode = slices.Index(ownModes, map[string]string{doorExec: "compact", doorRun: "code"}[door])
		mode = max(mode, slices.Index(ownModes, "full"))
	}
	return holders[bound*len(ownModes)+mode]
}

func (s *source) attempt() attempt {
	p := pick(s, places)
	a := attempt{door: pick(s, often), schema: p.schema, server: p.name, tool: pick(s, tools), complete: s.below(8) != 7}
	if a.tool == pretends && a.door != doorExec && a.door != doorEndpoint {
		a.tool = writes // through the other doors it has another name
	}
	return a
}

// attempts is the maximum number of requests with one configuration.
const attempts = 60

// FuzzAuthorize compares the requests that servers get with the model. The
// gateway keeps running from input to input, with a reload for each.
func FuzzAuthorize(f *testing.F) {
	w := newTown(f)
	r := random.New(f)
	for range 12 {
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &source{data}
		c := s.setting()
		w.apply(t, c)
		for n := 0; n < attempts && len(s.data) > 0; n++ {
			a := s.attempt()
			who := s.holder(a.door)
			told, heard := w.make(t, who, a)
			var want []string
			if reaches(c, who, a) {
				want = []string{a.schema + "/" + a.server + " " + heard}
			}
			got := w.reached()
			if a.door == doorResource && want == nil {
				got = slices.DeleteFunc(got, func(g string) bool {
					return slices.ContainsFunc(strays(c, who, a), func(at string) bool { return g == at+" "+heard })
				})
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v by %s with %q, mode %s:\nthe servers heard %q, the model says %q\nthe client was told %.500s\nservers: %v",
					a, who.name, who.scopes, c.mode, got, want, told, c.servers)
			}
		}
	})
}

// TestModelDecides checks that the model allows and refuses requests, for every
// reason.
func TestModelDecides(t *testing.T) {
	r := random.New(t)
	let, refused := map[string]int{}, map[string]int{}
	for range 20_000 {
		data := make([]byte, 160)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		s := &source{data}
		c := s.setting()
		a := s.attempt()
		who := s.holder(a.door)
		if reaches(c, who, a) {
			let[a.door]++
		} else {
			refused[a.door]++
		}
	}
	for _, door := range allDoors {
		if let[door] < 50 || refused[door] < 50 {
			t.Errorf("by %s the model lets %d through and refuses %d", door, let[door], refused[door])
		}
	}
}
