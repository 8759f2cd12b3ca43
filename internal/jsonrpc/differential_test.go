package jsonrpc

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/random"
)

// Mutations of envelopes that parsers are known to read differently.
var (
	splices = []string{
		`"`, `\`, `,`, `:`, `{`, `}`, `[`, `]`, "\x00", "\n", "\r", "\t", " ", "\u2028", "\ufeff", "\xff", "\xc0\xae", "\xed\xa0\x80", "ſ", "K",
		`\u0000`, `\u006d`, `\ud800`, `\ud83d\ude00`, `\/`, `"method":"evil",`, `"Method":"evil",`, `"id":2,`, `"params":{"name":"evil"},`, `"name":"evil",`,
		`NaN`, `-`, `+1`, `01`, `1.`, `.5`, `1e400`, `9007199254740993`, `-0`, `0x1`, `'a'`, `//x`, `/*x*/`, `true`, `null`, `,,`, `"a":1,`,
	}
	envelopes = []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,2.5,"c"]}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"ping"}`,
		`{"method":"tools/call","id":9007199254740993,"params":{"arguments":{},"name":"é\u0041"},"jsonrpc":"2.0"}`,
		` { "jsonrpc" : "2.0" , "id" : -1.5e3 , "method" : "prompts/get" , "params" : { "name" : "p" , "_meta" : { "progressToken" : "t" } } } `,
	}
)

func mutate(r *rand.Rand, data []byte) []byte {
	for range 1 + r.IntN(3) {
		at := r.IntN(len(data) + 1)
		switch r.IntN(6) {
		case 0:
			data = append(data[:at:at], append([]byte(splices[r.IntN(len(splices))]), data[at:]...)...)
		case 1:
			if at < len(data) {
				data = append(data[:at:at], data[at+1:]...)
			}
		case 2:
			if at < len(data) {
				data[at] = byte(r.IntN(256))
			}
		case 3:
			if at < len(data) {
				data[at] ^= 0x20 // change the case
			}
		case 4:
			to := min(len(data), at+r.IntN(20))
			data = append(data[:to:to], data[at:]...) // duplicate
		case 5:
			if at < len(data) && data[at] >= 'a' && data[at] <= 'z' {
				data = append(data[:at:at], append(fmt.Appendf(nil, `\u%04x`, data[at]), data[at+1:]...)...)
			}
		}
		if len(data) == 0 {
			return []byte("{}")
		}
	}
	return data
}

// Every other reader reads the messages that we accept as we do; we refuse
// ambiguous messages. The full run also uses Python and Node.
func TestDifferential(t *testing.T) {
	t.Run("fault/T25", func(t *testing.T) {
		n, readers := 50_000, map[string]func([]string) []string{}
		if os.Getenv("TORTURE") != "" {
			n = 1_000_000
			readers["python"] = func(in []string) []string { return ask(t, in, "python3", "-c", pythonReader) }
			readers["node"] = func(in []string) []string { return ask(t, in, "node", "-e", nodeReader) }
		}
		r := random.New(t)
		var accepted, passed, want, routed, wantRouted []string
		for range n {
			data := mutate(r, []byte(envelopes[r.IntN(len(envelopes))]))
			msg, err := Scan(data, nil)
			if err != nil || msg.Method == "" {
				continue
			}
			name, _ := GetString(msg.Params, "name")
			accepted = append(accepted, base64.StdEncoding.EncodeToString(data))
			passed = append(passed, base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`,
				orNull(msg.ID), Quote(msg.Method), orNull(msg.Params))))
			want = append(want, reading(msg.Method, idText(msg.ID), name))
			if isRouted(msg.Method) {
				routed, wantRouted = append(routed, passed[len(passed)-1]), append(wantRouted, want[len(want)-1])
			}
		}
		if len(accepted) < n/100 {
			t.Fatalf("only %d of %d are accepted", len(accepted), n)
		}
		compare := func(reader string, in, want, got []string) {
			for i := range got {
				if got[i] != want[i] {
					data, _ := base64.StdEncoding.DecodeString(in[i])
					t.Fatalf("%s reads %q as %s, we as %s", reader, data, got[i], want[i])
				}
			}
		}
		for reader, read := range readers {
			compare(reader, accepted, want, read(accepted))
			compare(reader, passed, want, read(passed))
		}
		// encoding/json ignores the case of members, so it gets only messages
		// that are forwarded and routed.
		compare("encoding/json", routed, wantRouted, goReader(routed))
		t.Logf("%d of %d accepted, %d readers", len(accepted), n, len(readers))
	})
}

func orNull(raw []byte) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}

// reading returns what a reader finds in a message, in a form that all readers
// can write.
func reading(method, id, name string) string {
	return fmt.Sprintf("%x %x %x", method, id, name)
}

// idText returns an id with the precision of a double, because not every reader
// keeps more.
func idText(id []byte) string {
	var text string
	if len(id) > 0 && id[0] == '"' && json.Unmarshal(id, &text) == nil {
		return "s" + text
	}
	n, _ := strconv.ParseFloat(string(id), 64)
	if math.IsInf(n, 0) {
		return "n" + strings.TrimPrefix(strings.ToLower(fmt.Sprint(n)), "+")
	}
	return "n" + strconv.FormatFloat(n, 'e', 17, 64)
}

func goReader(in []string) (out []string) {
	for _, line := range in {
		data, _ := base64.StdEncoding.DecodeString(line)
		var m struct {
			Method string
			ID     json.RawMessage
			Params struct{ Name any }
		}
		if err := json.Unmarshal(data, &m); err != nil {
			out = append(out, err.Error())
			continue
		}
		name, _ := m.Params.Name.(string)
		out = append(out, reading(m.Method, idText(m.ID), name))
	}
	return out
}

const pythonReader = `
import sys, json, base64
h = lambda s: s.encode("utf-8", "surrogatepass").hex()
for line in sys.stdin:
    try:
        m = json.loads(base64.b64decode(line).decode("utf-8"))
        i = m.get("id")
        i = 0 if i is None else i
        p = m.get("params")
        n = p.get("name") if isinstance(p, dict) else ""
        n = n if isinstance(n, str) else ""
        i = "s" + i if isinstance(i, str) else "n%.17e" % float(i)
        print(h(m["method"]), h(i), h(n))
    except Exception as e:
        print("error", repr(e).replace("\n", " "))
`

const nodeReader = `
const h = (s) => Buffer.from(s, "utf8").toString("hex");
const e = (n) => { if (!isFinite(n)) return n > 0 ? "inf" : "-inf"; let [m, x] = n.toExponential(17).split("e"); const sign = x[0] === "-" ? "-" : "+"; x = x.replace(/^[+-]/, ""); return m + "e" + sign + x.padStart(2, "0"); };
const lines = require("readline").createInterface({ input: process.stdin });
const out = [];
lines.on("line", (line) => {
  try {
    const m = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(line, "base64")));
    const i = m.id ?? 0, n = m.params && typeof m.params.name === "string" ? m.params.name : "";
    out.push(h(m.method) + " " + h(typeof i === "string" ? "s" + i : "n" + (Object.is(i, -0) ? "-" : "") + e(i)) + " " + h(n));
  } catch (err) { out.push("error " + String(err).replace(/\n/g, " ")); }
});
lines.on("close", () => process.stdout.write(out.join("\n") + "\n"));
`

// ask runs another program to read the messages.
func ask(t *testing.T, in []string, name string, args ...string) (out []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = strings.NewReader(strings.Join(in, "\n") + "\n")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		out = append(out, lines.Text())
	}
	if len(out) != len(in) {
		t.Fatalf("%s answered %d of %d", name, len(out), len(in))
	}
	return out
}
