package jsonrpc

import (
	"fmt"
	"testing"
)

// Members that a careless reader would take for a routed one are removed;
// everything else stays unchanged, byte for byte.
func TestVariants(t *testing.T) {
	for params, want := range map[string]string{
		`{"name":"a","Name":"b"}`: `{"name":"a"}`,
		`{"Name":"b","name":"a"}`: `{"name":"a"}`,
		`{"NAME":"b"}`:            `{}`,
		`{"name":"a","\u004eame":"b","argumentſ":{},"ARGUMENTS":{}}`:          `{"name":"a"}`,
		`{"name":"a","tasK":{}}`:                                              `{"name":"a"}`,
		`{"name":"a","_meta":{"progressToken":1,"ProgressToken":7,"x":1}}`:    `{"name":"a","_meta":{"progressToken":1,"x":1}}`,
		`{"name":"a","_Meta":{"progressToken":7}}`:                            `{"name":"a"}`,
		`{"ref":{"type":"ref/prompt","name":"a","Name":"b"},"argument":{}}`:   `{"ref":{"type":"ref/prompt","name":"a"},"argument":{}}`,
		`{"requestState":"a","requeststate":"b"}`:                             `{"requestState":"a"}`,
		`{"_meta":{"io.modelcontextprotocol/protocolversion":"x"}}`:           `{"_meta":{}}`,
		`{"name":"a","arguments":{"Name":"b","NAME":"c","_Meta":1}}`:          `{"name":"a","arguments":{"Name":"b","NAME":"c","_Meta":1}}`,
		`{ "name" : "a" , "other" : { "Name" : "b" } , "names":[{"Name":1}]}`: `{ "name" : "a" , "other" : { "Name" : "b" } , "names":[{"Name":1}]}`,
	} {
		t.Run("corpus/J55/"+params, func(t *testing.T) {
			msg, err := Scan(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, params), nil)
			if err != nil || string(msg.Params) != want {
				t.Errorf("%s, %v; want %s", msg.Params, err, want)
			}
		})
	}
	own := `{"Name":"a","Type":1}`
	if msg, _ := Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"acme/find","params":`+own+`}`), nil); string(msg.Params) != own {
		t.Errorf("a method of somebody's own lost %s", msg.Params)
	}
}
