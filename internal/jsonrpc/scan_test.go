package jsonrpc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestScanDuplicates writes nested objects of all sizes, with one duplicate key
// or none.
func TestScanDuplicates(t *testing.T) {
	var write func(rt *rapid.T, b *strings.Builder, depth int)
	write = func(rt *rapid.T, b *strings.Builder, depth int) {
		n := rapid.SampledFrom([]int{0, 1, 3, 15, 16, 17, 18, 40, 70}).Draw(rt, "keys")
		b.WriteByte('{')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			name := fmt.Sprintf(`"%sk%d":`, strings.Repeat("-", 9*(i%2)), i)
			if rapid.IntRange(0, 9).Draw(rt, "escape") == 0 {
				name = strings.Replace(name, "k", `\u006b`, 1)
			}
			b.WriteString(name)
			if depth > 0 && rapid.IntRange(0, n/2).Draw(rt, "nest") == 0 {
				write(rt, b, depth-1)
			} else {
				b.WriteString("[{},1]")
			}
		}
		if n > 0 && rapid.IntRange(0, 19).Draw(rt, "twice") == 0 {
			i := rapid.IntRange(0, n-1).Draw(rt, "which")
			fmt.Fprintf(b, `,"%s\u006b%d":0`, strings.Repeat("-", 9*(i%2)), i)
		}
		b.WriteByte('}')
	}
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		b.WriteString(`{"jsonrpc":"2.0","id":1,"method":"m","params":`)
		write(rt, &b, 3)
		b.WriteByte('}')
		data := []byte(b.String())
		_, err := Scan(data, nil)
		if want := hasTwice(data); (err != nil) != want {
			rt.Fatalf("Scan says %v, twice is %v: %s", err, want, data)
		}
		if err != nil && (err.Code != CodeInvalidRequest || !strings.HasPrefix(err.Message, "duplicate key")) {
			rt.Fatal(err)
		}
	})
}

func TestScanLimits(t *testing.T) {
	lim := &ScanLimits{Depth: 4, IDBytes: 3, MethodBytes: 5, Keys: 20, NumberBytes: 4}
	keys := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"%d":0`, i))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	for _, c := range []struct {
		id, method, params string
		code               int64
	}{
		{`123`, `m`, `{}`, 0},
		{`1234`, `m`, `{}`, CodeInvalidRequest},
		{`"1"`, `m`, `{}`, 0},
		{`"12"`, `m`, `{}`, CodeInvalidRequest},
		{`1`, `abcde`, `{}`, 0},
		{`1`, `abcdef`, `{}`, CodeInvalidRequest},
		{`1`, `m`, `{"a":[[]]}`, 0},
		{`1`, `m`, `{"a":[[[]]]}`, CodeInvalidRequest},
		{`1`, `m`, `{"a":[[{}]]}`, CodeInvalidRequest},
		{`1`, `m`, `{"a":-1.5}`, 0},
		{`1`, `m`, `{"a":-1.55}`, CodeInvalidRequest},
		{`1`, `m`, keys(20), 0},
		{`1`, `m`, keys(21), CodeInvalidRequest},
		{`1`, `m`, `{"a":` + keys(20) + `,"b":` + keys(20) + `}`, 0},
	} {
		data := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}`, c.id, c.method, c.params)
		_, err := Scan([]byte(data), lim)
		if (err == nil) != (c.code == 0) || err != nil && err.Code != c.code {
			t.Errorf("%s: %v, want %d", data, err, c.code)
		}
	}
}

func TestScanAnswer(t *testing.T) {
	deep := func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	for _, c := range []struct {
		in   string
		kind Kind
		code int64
	}{
		{`{"jsonrpc":"2.0","id":1,"result":null}`, KindResult, 0},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, KindError, 0},
		{`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1}}`, KindError, 0},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, KindResult, 0},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, KindInvalid, CodeInvalidRequest},
		{`{"jsonrpc":"2.0","id":null,"error":{}}`, KindError, 0},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, KindInvalid, CodeInvalidRequest},
		{`{"jsonrpc":"2.0","result":{}}`, KindInvalid, CodeInvalidRequest},
		{`{"jsonrpc":"2.0","method":"m"}`, KindNotification, 0},
		{`{"jsonrpc":"2.0","id":"x","method":"m","params":{"a":{"a":1,"a":2}}}`, KindRequest, 0},
		{`{"jsonrpc":"2.0","id":"x","method":"m","params":[1]}`, KindRequest, CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, KindInvalid, CodeInvalidRequest},
		{`{"jsonrpc":"2.0","id":1,"\u0069d":2,"result":{}}`, KindInvalid, CodeInvalidRequest},
		{`{"id":1,"result":{}}`, KindInvalid, CodeInvalidRequest},
		{`{"jsonrpc":"2.0","id":1,"result":{]}}`, KindInvalid, CodeParse},
		{`{"jsonrpc":"2.0","id":1,"result":{}`, KindInvalid, CodeParse},
		{`{"jsonrpc":"2.0","id":1,"result":{}}}`, KindInvalid, CodeParse},
		{`{"jsonrpc":"2.0","id":1,"result":{}} x`, KindInvalid, CodeParse},
		{`{"jsonrpc":"2.0","id":1,"result":"\"}`, KindInvalid, CodeParse},
		{`{"jsonrpc":"2.0" "id":1,"result":{}}`, KindInvalid, CodeParse},
		{`{"jsonrpc":"2.0","id":1,"result":}`, KindInvalid, CodeParse},
		{`[{"jsonrpc":"2.0","id":1,"result":{}}]`, KindInvalid, CodeInvalidRequest},
		{`Listening on 8080`, KindInvalid, CodeParse},
		{``, KindInvalid, CodeParse},
		{deep(1000), KindResult, 0},
		{deep(1001), KindInvalid, CodeInvalidRequest},
		{deep(2_000_000), KindInvalid, CodeInvalidRequest},
	} {
		msg, err := ScanAnswer([]byte(c.in), nil)
		var code int64
		if err != nil {
			code = err.Code
		}
		if msg.Kind != c.kind || code != c.code {
			t.Errorf("%.80s: %v, %v", c.in, msg.Kind, err)
		}
	}
	if _, err := ScanAnswer([]byte(deep(1500)), &ScanLimits{Depth: 2000}); err != nil {
		t.Errorf("a limit above the fixed stack: %v", err)
	}
}

func TestPeekAnswer(t *testing.T) {
	big := `{"text":"` + strings.Repeat("x", peekUnread) + `"}`
	for _, c := range []struct {
		in     string
		id     uint64
		result string
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{}}`, 7, `{}`},
		{`{"jsonrpc":"2.0","id":0,"result":{"id":8,"result":{}}}`, 0, `{"id":8,"result":{}}`},
		{`{"jsonrpc":"2.0","id":7,"result":{}}` + " \r", 7, `{}`},
		{`{"result":{"a":[]},"jsonrpc":"2.0","id":9007199254740993}`, 9007199254740993, `{"a":[]}`},
		{`{"jsonrpc":"2.0","result":{"a":"}"},"id":7}` + "\r", 7, `{"a":"}"}`},
		{`{"jsonrpc":"2.0","id":7,"result":` + big + `}`, 7, big},
		{`{"jsonrpc":"2.0","result":` + big + `,"id":7}`, 7, big},
		{`{"result":` + big + `,"jsonrpc":"2.0","id":7}`, 7, big},
	} {
		id, result, ok := PeekAnswer([]byte(c.in))
		if !ok || id != c.id || string(result) != c.result {
			t.Errorf("%.80s: %d, %.80s, %v", c.in, id, result, ok)
		}
	}
	for _, in := range []string{
		``, `}`, `{}`, `null`,
		`{"jsonrpc":"2.0","id":7,"result":null}`,
		`{"jsonrpc":"2.0","id":7,"result":}`,
		`{"jsonrpc":"2.0","id":7,"result":{}`,
		`{"jsonrpc":"2.0","id":7,"result":{},"id":8}`,
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{}}`,
		`{"jsonrpc":"2.0","id":7,"result":{]}}`,
		`{"jsonrpc":"2.0","id":7,"result":{}}}`,
		`{"jsonrpc":"2.0","id":-7,"result":{}}`,
		`{"jsonrpc":"2.0","id":07,"result":{}}`,
		`{"jsonrpc":"2.0","id":"7","result":{}}`,
		`{"jsonrpc":"2.0","id":7.0,"result":{}}`,
		`{"jsonrpc":"2.0","id":,"result":{}}`,
		`{"jsonrpc":"2.0","id":18446744073709551617,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}`,
		`{"jsonrpc":"2.0","id":7,"method":"m","params":{"result":{}}}`,
		`{"jsonrpc":"1.0","id":7,"result":{}}`,
		`{"result":{"a":{}},"id":7}`,
		`{"result":{"a":{},"jsonrpc":"2.0","id":7}`,
		`{"result":{},"id":3,"jsonrpc":"2.0","id":7}`,
		`{"params":{"jsonrpc":"2.0","id":7,"result":{}}}`,
		`{"result":` + big + `,"error":1,"jsonrpc":"2.0","id":7}`,
		`{"jsonrpc":"2.0","id":7,"result":` + big,
		`x{"jsonrpc":"2.0","id":7,"result":{}}`,
	} {
		if id, result, ok := PeekAnswer([]byte(in)); ok {
			t.Errorf("%.80s: %d, %.80s", in, id, result)
		}
	}
}

// TestResponseID shows why the id is last: an unread result cannot replace it.
func TestResponseID(t *testing.T) {
	smuggled := []byte(`{},"id":8,"x":{}`)
	got := AppendResponse(nil, []byte("7"), &Response{Result: smuggled})
	if id := string(object(t, got)["id"]); id != "7" {
		t.Errorf("a reader takes %s for the id of %s", id, got)
	}
}

func TestAppend(t *testing.T) {
	for _, c := range []struct{ got, want []byte }{
		{AppendRequest(nil, []byte(`"a"`), "m", nil), []byte(`{"jsonrpc":"2.0","id":"a","method":"m"}`)},
		{AppendRequest([]byte("x"), []byte(`1`), "m\n", []byte(`{}`)), []byte(`x{"jsonrpc":"2.0","id":1,"method":"m\n","params":{}}`)},
		{AppendNotification(nil, "m", nil), []byte(`{"jsonrpc":"2.0","method":"m"}`)},
		{AppendResponse(nil, nil, &Response{Err: Errorf(CodeParse, "a %q", "b")}), []byte(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"a \"b\""},"id":null}`)},
		{AppendResponse(nil, []byte(`1`), &Response{Result: []byte(`{}`)}), []byte(`{"jsonrpc":"2.0","result":{},"id":1}`)},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

func TestParseError(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"code":-32601,"message":"no","data":{"a":1},"x":2}`, `{"code":-32601,"message":"no","data":{"a":1},"x":2}`},
		{`{"code":"7","message":"no"}`, `{"code":-32603,"message":"the server sent a malformed error","data":{"code":"7","message":"no"}}`},
		{`{"code":7}`, `{"code":-32603,"message":"the server sent a malformed error","data":{"code":7}}`},
		{`"oops"`, `{"code":-32603,"message":"the server sent a malformed error","data":"oops"}`},
		{`{oops}`, `{"code":-32603,"message":"the server sent a malformed error","data":"{oops}"}`},
	} {
		if got := string(AppendError(nil, ParseError([]byte(c.in)))); got != c.want {
			t.Errorf("%s became %s", c.in, got)
		}
	}
	e := ParseError([]byte(`{"code":-1,"message":"a\nb"}`))
	if e.Code != -1 || e.Message != "a\nb" || e.Data != nil {
		t.Errorf("got %+v", e)
	}
}

// TestLongStrings checks strings with everything that ends a plain run, at every
// distance from the borders of blocks.
func TestLongStrings(t *testing.T) {
	pieces := []string{`"`, `\\`, `\"`, `\n`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\x`, "\n", "\x00", "\x1f", "\x7f", "\u00e9", "\u4e2d\u6587", "\U0001f600", "\xff", "\xe4\xb8"}
	for at := range 200 {
		for _, first := range pieces {
			for _, second := range pieces[:8] {
				text := `"` + strings.Repeat("a", at) + first + strings.Repeat("b", at%70) + second + strings.Repeat("c", 75) + `"`
				// encoding/json accepts what is not UTF-8, and half of a pair.
				want := json.Valid([]byte(text)) && utf8.ValidString(text) && !strings.Contains(strings.ReplaceAll(text, `\ud83d\ude00`, ""), `\ud83d`)
				if got := Valid([]byte(text)); got != want {
					t.Fatalf("%q is valid: %t, want %t", text, got, want)
				}
			}
		}
	}
}
