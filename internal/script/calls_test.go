package script

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// tools answers the calls of a script by their arguments.
type tools struct{ nobody }

func (tools) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	var call struct {
		Tool      string
		Arguments struct{ Size int }
	}
	if err := json.Unmarshal(req.Params, &call); err != nil {
		return nil, err
	}
	if call.Tool == "fail" {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "failed").WithData(map[string]string{"name": "ToolError", "message": "it failed"})
	}
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"value":%q}`, strings.Repeat("x", call.Arguments.Size))}, nil
}

func TestCalls(t *testing.T) {
	r := newRunner(t)
	for _, tt := range []struct{ name, code, want string }{
		{"one after the other", `let n = 0; for (let i = 0; i < 300; i++) n += (await tools.a.b({size: i})).length; return n`, "44850"},
		{"all at once", `const all = await Promise.all(Array.from({length: 1000}, (_, i) => tools.a.b({size: i}))); return all.every((v, i) => v.length === i)`, "true"},
		{"more than a pipe holds, each way", `const x = 'x'.repeat(5e4); const all = await Promise.all(Array.from({length: 200}, () => tools.a.b({size: 2e4, x}))); return all.length`, "200"},
		{"answers while it computes", `const p = Promise.all(Array.from({length: 20}, () => tools.a.b({size: 1e5}))); for (let i = 0; i < 1e5; i++); return (await p).length`, "20"},
		{"none is awaited", `for (let i = 0; i < 100; i++) tools.a.b({size: 1}); sleep(60000); return 1`, "1, 100 not awaited"},
		{"sleeps in order", `const seen = []; await Promise.all([900, 300, 600, 0].map(async (ms) => { await sleep(ms); seen.push(ms) })); return seen`, "[0,300,600,900]"},
		{"sleeps and calls", `let slept = 0, n = 0; sleep(0).then(() => slept++); sleep(60000).then(() => slept++); for (let i = 0; i < 5; i++) n += (await tools.a.b({size: 1})).length; await sleep(1); return [slept, n]`, `[1,5]`},
		{"a sleep after the end", `sleep(60000); return 1`, "1"},
		{"the place of a call", "const p = tools.a.b({size: 1});\n\nconst bad = tools.a.fail({});\nawait p;\nawait bad", "it failed at line 3, column 25"},
		{"the place of a late call", "for (let i = 0; i < 200; i++) {\n  await tools.a.b({size: 1})\n}\n\nawait tools.a.fail({})", "it failed at line 5, column 19"},
		{"a late call that is caught", "for (let i = 0; i < 200; i++) await tools.a.b({size: 1})\ntry { await tools.a.fail({}) } catch (e) { return [e.name, e instanceof ToolError, typeof e.stack] }", `["ToolError",true,"string"]`},
		{"tools stay", `tools.a.b; try { tools.c = 1 } catch (e) { return [e.message, typeof tools.a.b, Object.keys(tools)] }`, `["tools cannot be changed","function",["x.y","then","toJSON","a"]]`},
		{"tools are listed", `tools.a; return [Object.keys(tools), 'x.y' in tools]`, `[["x.y","then","toJSON","a"],true]`},
		{"servers with names of the language", `const t = await tools; return [t === tools, JSON.stringify(tools), (await tools.then.b({size: 1})).length, (await tools.toJSON.b({size: 2})).length]`, `[true,"{\"x.y\":{},\"then\":{},\"toJSON\":{}}",1,2]`},
		{"nothing of the script's is asked", `Object.prototype.get = () => 3; Object.prototype.value = 4; return (await tools.a.b({size: 2})).length`, "2"},
	} {
		t.Run("code/call "+tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			o, err := r.Run(ctx, &Job{Code: tt.code, Servers: []string{"x.y", "then", "toJSON"}, Limits: Limits{CPU: 20 * time.Second}}, tools{})
			if err != nil {
				t.Fatal(err)
			}
			got := string(o.Value)
			if o.Fault != nil {
				got = fmt.Sprintf("%s at line %d, column %d", o.Fault.Message, o.Fault.Line, o.Fault.Column)
			}
			if o.Unawaited > 0 {
				got += fmt.Sprintf(", %d not awaited", o.Unawaited)
			}
			if got != tt.want {
				t.Errorf("it is %q, want %q", got, tt.want)
			}
		})
	}
}
