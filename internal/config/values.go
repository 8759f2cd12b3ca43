package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A Value is the current value of one key of the file outside the servers.
type Value struct {
	Key            string // server.port
	Value, Default json.RawMessage
	Source         string // "file" when it differs from the default, else "default"
	// Restart reports whether a change takes effect only after a restart.
	Restart    bool
	Doc, DocZH string
	Secret     bool
	Choices    []string
}

// restarts are the sections and keys that are read only at the start; live are the
// keys in them that are read whenever they are needed.
var (
	restarts = []string{"server", "cli", "logging", "limits", "tokens", "audit", "metrics", "tracing", "cluster", "access.share.url"}
	live     = []string{"limits.callsPerMinute", "limits.sameCall", "limits.memory"}
)

// needsRestart reports whether a change of a key takes effect only after a restart.
func needsRestart(key string) bool {
	if slices.Contains(live, key) {
		return false
	}
	return slices.ContainsFunc(restarts, func(late string) bool { return key == late || strings.HasPrefix(key, late+".") })
}

// Values lists all keys of the file outside the servers.
func Values(c *Config) []Value {
	fresh := new(Config)
	setDefaults(reflect.ValueOf(fresh).Elem())
	return appendValues(nil, "", reflect.ValueOf(c).Elem(), reflect.ValueOf(fresh).Elem())
}

// ChangedValues returns the keys whose values differ between two versions of a
// file. Secrets are compared by their text.
func ChangedValues(old, new *Config) []string {
	return changedValues([]string{}, "", reflect.ValueOf(old).Elem(), reflect.ValueOf(new).Elem())
}

func changedValues(list []string, prefix string, old, new reflect.Value) []string {
	for _, f := range fieldsOf(old.Type()) {
		was, is := old.Field(f.index), new.Field(f.index)
		switch {
		case f.typ.Kind() == reflect.Struct && f.typ != typeInherit:
			list = changedValues(list, prefix+f.name+".", was, is)
		case !reflect.DeepEqual(was.Interface(), is.Interface()):
			list = append(list, prefix+f.name)
		}
	}
	return list
}

func appendValues(list []Value, prefix string, v, def reflect.Value) []Value {
	for _, f := range fieldsOf(v.Type()) {
		key := prefix + f.name
		if f.typ.Kind() == reflect.Struct && f.typ != typeInherit {
			list = appendValues(list, key+".", v.Field(f.index), def.Field(f.index))
			continue
		}
		value := Value{
			Key: key, Value: encodeValue(v.Field(f.index)), Default: encodeValue(def.Field(f.index)),
			Source: "default", Restart: needsRestart(key), Doc: f.doc, DocZH: f.zh, Secret: f.typ == typeSecret, Choices: f.enum,
		}
		if !bytes.Equal(value.Value, value.Default) {
			value.Source = "file"
		}
		list = append(list, value)
	}
	return list
}

// encodeValue encodes a value as it is written in the file.
func encodeValue(v reflect.Value) json.RawMessage {
	var raw []byte
	var err error
	if d, ok := v.Interface().(time.Duration); ok {
		raw, err = json.Marshal(d.String())
	} else {
		raw, err = json.Marshal(v.Interface())
	}
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
