package config

import (
	"reflect"
	"slices"
	"strings"
)

// local are the settings that are about one machine, and may differ between
// gateways that are one.
var local = []string{"server.", "cluster.", "logging.", "access.keys"}

// Digest tells two configurations apart: servers as the file has them and all
// settings, but those of one machine.
func (c *Config) Digest() string {
	h := newFieldHash()
	fresh := reflect.ValueOf(new(Schema)).Elem()
	for _, schema := range c.Schemas {
		h.add("schema", schema.Name)
		for _, v := range appendValues(nil, "", reflect.ValueOf(schema).Elem(), fresh) {
			h.add(v.Key, string(v.Value))
		}
		for _, s := range schema.Servers {
			h.add(s.Name, s.Entry())
		}
	}
	for _, v := range Values(c) {
		if !slices.ContainsFunc(local, func(prefix string) bool { return strings.HasPrefix(v.Key, prefix) }) {
			h.add(v.Key, string(v.Value))
		}
	}
	return h.sum()[:16]
}
