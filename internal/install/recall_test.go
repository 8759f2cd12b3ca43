package install

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecall checks that the answers are recovered from an entry, and that the
// same answers make the same entry.
func TestRecall(t *testing.T) {
	const record = `{"server": {"name": "io.github.o/n", "version": "1.0.0", "packages": [{"registryType": "npm", "identifier": "n", "version": "1.0.0", "transport": {"type": "stdio"},
  "packageArguments": [
    {"type": "named", "name": "--mode", "valueHint": "mode", "format": "string"},
    {"type": "named", "name": "--verbose", "format": "boolean"},
    {"type": "named", "name": "--quiet", "format": "boolean"},
    {"type": "named", "name": "--tag", "valueHint": "tag", "format": "string", "isRepeated": true},
    {"type": "named", "name": "--url", "value": "https://{host}:{port}/x", "variables": {"host": {"isRequired": true}, "port": {"default": "80"}}},
    {"type": "positional", "valueHint": "words", "isRepeated": true}],
  "environmentVariables": [
    {"name": "TOKEN", "isSecret": true, "isRequired": true},
    {"name": "AUTH", "value": "Bearer {bearer}", "variables": {"bearer": {"isSecret": true}}},
    {"name": "ODD"}, {"name": "LEFT_OUT"}]}]}}`
	rec, err := parseRecord([]byte(record), "io.github.o/n")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(rec, PlanOptions{Can: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	for name, answers := range map[string]Answers{
		"all": {KindArg: {"mode": {"fast"}, "verbose": {"true"}, "quiet": {"false"}, "tag": {"a", "b"}, "host": {"example.com"}, "port": {"81"}, "words": {"x", "y z"}},
			KindEnv: {"TOKEN": {"t"}, "bearer": {"b"}, "ODD": {"a ${HOME} $${b}"}}},
		"few": {KindArg: {"quiet": {"true"}, "verbose": {"false"}, "host": {"h"}, "port": {"80"}}, KindEnv: {"TOKEN": {"t"}}},
	} {
		t.Run("install/recall/"+name, func(t *testing.T) {
			made, err := plan.Fill("n", answers)
			if err != nil {
				t.Fatal(err)
			}
			entry := *made.Entry
			entry.Args = append([]string{}, entry.Args...)
			// The person keeps a secret elsewhere, and has added an argument.
			entry.Env["TOKEN"] = "${MY_TOKEN}"
			entry.Args = append(entry.Args, "--mine")
			r := NewRecall(plan.Questions, "n", &entry, plan.Fill)
			again, err := plan.Fill("n", r.Answers)
			if err != nil {
				t.Fatal(err)
			}
			r.Keep(again)
			if len(again.Secrets) != 0 {
				t.Errorf("secrets: %v", again.Secrets)
			}
			entry.Args = entry.Args[:len(entry.Args)-1]
			if diff := cmp.Diff(asJSON(t, &entry), asJSON(t, again.Entry)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func asJSON(t *testing.T, e *Entry) string {
	t.Helper()
	raw, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
