package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/tester/history"
)

// exportJSON prints the servers in the format that most clients read.
func exportJSON(a *env.Env, withSecrets bool) error {
	cfg, err := a.Load(false)
	if err != nil {
		return err
	}
	servers := map[string]json.RawMessage{}
	for _, one := range exportNames(a, cfg) {
		if servers[one.as], err = clients.RawEntry(a, cfg.Path, one.schema, one.name); err != nil {
			return err
		}
		if !withSecrets {
			servers[one.as] = withoutArguments(servers[one.as])
		}
	}
	raw, err := json.MarshalIndent(map[string]any{"mcpServers": servers}, "", "  ")
	if err != nil {
		return err
	}
	if !withSecrets {
		if raw, err = edit.Redact(raw); err != nil {
			return err
		}
		if n := bytes.Count(raw, []byte(edit.Redacted)); n > 0 {
			fmt.Fprintf(a.Stderr, a.T(env.Many(n, "%d value that may be a secret is printed as %s; --with-secrets prints it\n", "%d values that may be secrets are printed as %s; --with-secrets prints them\n"), "%d 个可能是密钥的值显示为 %s；--with-secrets 输出原值\n"), n, edit.Redacted)
		}
	}
	fmt.Fprintf(a.Stdout, "%s\n", raw)
	return nil
}

// withoutArguments masks the secrets in the arguments of a command. Variable
// references stay.
func withoutArguments(entry json.RawMessage) json.RawMessage {
	var args []string
	if json.Unmarshal(jsonrpc.Get(entry, "args"), &args) != nil {
		return entry // there are no arguments, or they are not strings
	}
	shown := (&history.RunTarget{Command: args}).Redacted().Command
	for i := range shown {
		switch {
		case strings.Contains(args[i], "${"):
			shown[i] = args[i]
		case shown[i] != args[i]:
			shown[i] = edit.Redacted
		}
	}
	raw, err := json.Marshal(shown)
	if err != nil {
		return entry // strings cannot fail
	}
	return jsonrpc.Set(entry, raw, "args")
}

// exportNames gives every server of all schemas a unique name. Servers of the
// default schema keep their names, and so does every name that is unique
// already.
func exportNames(a *env.Env, cfg *config.Config) []exported {
	var all []exported
	schemas := map[string][]string{}
	taken := map[string]bool{}
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			all = append(all, exported{schema.Name, s.Name, s.Name})
			schemas[s.Name] = append(schemas[s.Name], schema.Name)
			taken[s.Name] = true
		}
	}
	for i := range all {
		one := &all[i]
		if len(schemas[one.name]) == 1 || one.schema == config.DefaultSchema {
			continue
		}
		one.as = one.schema + "-" + one.name
		for n := 2; taken[one.as]; n++ {
			one.as = fmt.Sprintf("%s-%s-%d", one.schema, one.name, n)
		}
		taken[one.as] = true
		fmt.Fprintf(a.Stderr, a.T("%s of schema %s is exported as %s: %s have one of this name\n", "schema %[2]s 的 %[1]s 导出为 %[3]s：%[4]s 中有同名服务器\n"),
			one.name, one.schema, one.as, strings.Join(schemas[one.name], ", "))
	}
	return all
}

// An exported is a server and its name in the export.
type exported struct{ schema, name, as string }
