package script

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// bombs are scripts that exceed a limit. Each must end at the named limit.
var bombs = []struct{ name, code, limit string }{
	{"loop", `while (true) {}`, "cpu"},
	{"for loop", `for (let i = 0; ; i++) Math.sqrt(i)`, "cpu"},
	{"promise flood", `const f = () => Promise.resolve().then(f); await f()`, "memory cpu"}, // every promise waits for the next
	{"async flood", `while (true) await null`, "cpu"},
	{"promises without end", `const all = []; while (true) all.push(new Promise(() => {}))`, "memory cpu"},
	{"repeat", `return 'x'.repeat(1e9).length`, "memory"},
	{"padStart", `return 'x'.padStart(2**30 - 2, 'ab').length`, "memory"},
	{"array without end", `const a = []; while (true) a.push(a.length)`, "memory"},
	{"typed arrays without end", `const a = []; while (true) a.push(new Uint8Array(1 << 20).fill(1))`, "memory"},
	{"strings without end", `let s = 'x'; const a = []; while (true) { s += s.slice(0, 1 << 20); a.push(s + 'y') }`, "memory"},
	{"objects without end", `let o = {}; while (true) o = {o, x: [o]}`, "memory"},
	{"map without end", `const m = new Map(); for (let i = 0; ; i++) m.set('k' + i, {i})`, "memory cpu"},
	{"deep recursion", `const f = (n) => f(n + 1) + 1; return f(0)`, "depth"},
	{"exponential recursion", `const f = (n) => f(n + 1) + f(n + 1); try { f(0) } catch { while (true) f(0) }`, "depth cpu"},
	{"caught recursion", `const f = () => { try { f() } finally { f() } }; f()`, "depth cpu"},
	{"JSON nested 5 million deep", `return JSON.parse('['.repeat(5e6) + ']'.repeat(5e6)).length`, "depth memory"},
	{"regular expression", `return /^(a+)+$/.test('a'.repeat(40) + 'b')`, "cpu"},
	{"backreference", `return /(.*)*\1b/.test('a'.repeat(4e4))`, "cpu memory"},
	{"sort 30 million numbers", `const a = new Array(3e7); for (let i = 0; i < a.length; i++) a[i] = -i; return a.sort()[0]`, "memory"},
	{"toString that loops", `throw {toString() { while (true) {} }, toJSON() { while (true) {} }}`, "cpu"},
	{"memory that is caught", `const a = []; while (true) try { while (true) a.push('x'.repeat(1 << 20) + a.length) } catch {}`, "memory cpu"},
	{"BigInt", `let n = 3n; while (true) n = n ** 3n`, "error"},
	{"log flood", `while (true) console.log('x'.repeat(1000))`, "cpu"},
	{"array join", `const a = new Array(2**32 - 2); return a.join('xxxx').length`, "cpu memory"},
	{"proxy chain", `let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x`, "depth"},
}

// maxBeside is how much memory the process of a script may use besides the
// script: the program itself, and what is allocated before the meter checks
// again. The meter checks late if it has to wait for a processor.
const maxBeside = 64 << 20

type nobody struct{}

func (nobody) Handle(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Result: []byte(`{"value":null}`)}, nil
}
func (nobody) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

func TestBombs(t *testing.T) {
	r := newRunner(t)
	for _, b := range bombs {
		t.Run("code/bomb "+b.name, func(t *testing.T) {
			limits := Defaults
			limits.CPU = 2 * time.Second
			if strings.Contains(b.limit, "cpu") && !strings.Contains(b.limit, "memory") {
				limits.CPU /= 4
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			start := time.Now()
			o, err := r.Run(ctx, &Job{Code: b.code, Limits: limits}, nobody{})
			if err != nil {
				t.Fatalf("after %v: %v", time.Since(start), err)
			}
			if o.Fault == nil {
				t.Fatalf("it ended with the value %.100s", o.Value)
			}
			if limit := cmp.Or(o.Fault.Limit, "error"); !slices.Contains(strings.Fields(b.limit), limit) {
				t.Errorf("it ended at %q, want %q: %+v", limit, b.limit, o.Fault)
			}
			if over := o.CPU - limits.CPU; over > 500*time.Millisecond { // the meter may have to wait for a processor
				t.Errorf("it ended %v after its limit", over)
			}
			if most := limits.Memory + maxBeside; o.Peak > most {
				t.Errorf("the process took %d MB, want at most %d", o.Peak>>20, most>>20)
			}
			t.Logf("%s", o.Fault.Sentence(limits))
			t.Logf("%v cpu %v peak %d MB value %.60s fault %+v", time.Since(start).Round(time.Millisecond), o.CPU.Round(time.Millisecond), o.Peak>>20, o.Value, o.Fault)
		})
	}
}
