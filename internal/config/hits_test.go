package config

import (
	"reflect"
	"slices"
	"testing"
)

// Every limit has a counter, except those that cannot be counted.
func TestEveryLimitIsCounted(t *testing.T) {
	silent := []string{"keepAlive", "headerBytes", "readHeader"}
	var h Hits
	for field := range reflect.TypeFor[Limits]().Fields() {
		if name := field.Tag.Get("json"); !slices.Contains(silent, name) {
			if !slices.Contains(counted, name) {
				t.Errorf("the limit %s is not in counted, in hits.go", name)
				continue
			}
			h.Add(name)
		}
	}
	for _, hit := range h.List() {
		if hit.Count != 1 {
			t.Errorf("%s was reached %d times", hit.Limit, hit.Count)
		}
	}
	if !slices.IsSorted(counted) {
		t.Error("not in order")
	}
	(*Hits)(nil).Add("batch")
}
