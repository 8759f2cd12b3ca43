package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"mcp-all-in-one/internal/mcptest/corpus"
	"mcp-all-in-one/internal/mcptest/must"
)

// errTwice is returned by walkTokens for a duplicate key.
var errTwice = errors.New("duplicate key")

// walkTokens reads one value with encoding/json and looks for duplicate keys.
func walkTokens(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	keys := make(map[string]bool)
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if keys[key.(string)] {
				return errTwice
			}
			keys[key.(string)] = true
		}
		if err := walkTokens(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func hasTwice(data []byte) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return errors.Is(walkTokens(d), errTwice)
}

func FuzzScan(f *testing.F) {
	for _, row := range corpus.Load(f, "../..") {
		if row.Flight == nil && !row.In.Large() {
			f.Add(row.In.Bytes(f))
		}
	}
	f.Add([]byte(request100))
	f.Add([]byte(`{"method":"a","params":{"a":[1,{"b":-0.5e-7}]},"jsonrpc":"2.0","id":"x"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","\u0069d":1,"result":{"\ud83d\ude00":"\n"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`))
	f.Add([]byte(` {"a":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":13,"n":14,"o":15,"p":16,"q":17,"a":18}} `))
	f.Fuzz(func(t *testing.T, data []byte) {
		msg, err := Scan(data, nil)
		valid := json.Valid(data)
		if Valid(data) && !valid {
			t.Fatal("Valid accepts what encoding/json refuses")
		}
		if err != nil {
			checkRefused(t, data, err, valid)
			return
		}
		if !valid || !utf8.Valid(data) || hasTwice(data) {
			t.Fatal("Scan accepts what can be read two ways, or not at all")
		}
		want := object(t, data)
		if v := string(want["jsonrpc"]); !strings.HasPrefix(v, `"`) || unquote(want["jsonrpc"]) != "2.0" {
			t.Fatalf("jsonrpc is %s", v)
		}
		var method string
		if raw, ok := want["method"]; ok {
			must.Parse(t, raw, &method)
		}
		if string(want["params"]) == "null" {
			delete(want, "params")
		}
		if params := want["params"]; len(params) > 0 && params[0] == '{' {
			want["params"] = exact(method, params)
		}
		if msg.Method != method || !bytes.Equal(msg.ID, want["id"]) || !bytes.Equal(msg.Params, want["params"]) ||
			!bytes.Equal(msg.Result, want["result"]) || !bytes.Equal(msg.Err, want["error"]) {
			t.Fatalf("got %+v", msg)
		}
		// A message that Scan accepts is accepted by the lenient reader too.
		again, err := ScanAnswer(data, nil)
		if err != nil || again.Kind != msg.Kind || !bytes.Equal(again.ID, msg.ID) || !bytes.Equal(again.Result, msg.Result) {
			t.Fatalf("ScanAnswer: %+v, %v", again, err)
		}
	})
}

// checkRefused compares a refusal with encoding/json.
func checkRefused(t *testing.T, data []byte, err *Error, valid bool) {
	surrogates := bytes.Contains(bytes.ToLower(data), []byte(`\ud`))
	if err.Code == CodeParse && valid && utf8.Valid(data) && !surrogates {
		t.Fatalf("a parse error for valid JSON: %v", err)
	}
	if strings.HasPrefix(err.Message, "duplicate key") && valid && !hasTwice(data) {
		t.Fatalf("no key is there twice: %v", err)
	}
	if err.Code == CodeParse && len(data) < 10_000 && Valid(data) {
		t.Fatalf("Valid accepts what Scan cannot parse: %v", err)
	}
}

func FuzzPeekAnswer(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{"a":[{}]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","result":{},"id":7}` + "\r"))
	f.Add([]byte(`{"result":{"x":"}"},"jsonrpc":"2.0","id":18446744073709551615}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{},"id":8,"x":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		id, result, ok := PeekAnswer(data)
		if !ok || len(data) > peekUnread {
			return
		}
		msg, err := ScanAnswer(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := decimal(msg.ID)
		if msg.Kind != KindResult || n != id || !bytes.Equal(msg.Result, result) {
			t.Fatalf("peeked %d %s, scanned %+v", id, result, msg)
		}
	})
}

func FuzzSet(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":"\u0064"}}`), "b", "c")
	f.Add([]byte("{ \"a\" : [1, 2] ,\n\"b\":null}"), "b", "")
	f.Add([]byte(`{"a" 1 "b" {`), "a", "b")
	f.Fuzz(func(t *testing.T, data []byte, first, second string) {
		before := bytes.Clone(data)
		value := []byte(`{"new":[true]}`)
		once, twice := Set(data, value, first), Set(data, value, first, second)
		removed := Set(data, nil, first, second)
		if !bytes.Equal(data, before) {
			t.Fatal("Set changed its argument")
		}
		if !Valid(data) || hasTwice(data) || !utf8.ValidString(first) || !utf8.ValidString(second) || data[skipSpace(data, 0)] != '{' {
			return
		}
		if !bytes.Equal(Get(once, first), value) || !bytes.Equal(Get(twice, first, second), value) || Get(removed, first, second) != nil {
			t.Fatalf("%s\n%s\n%s", once, twice, removed)
		}
		for _, got := range [][]byte{once, twice, removed} {
			if !json.Valid(got) {
				t.Fatalf("no JSON any more: %s", got)
			}
		}
		if old := Get(data, first); !bytes.Equal(Set(once, old, first), data) {
			t.Fatalf("%s is not what it was: %s", Set(once, old, first), data)
		}
	})
}
