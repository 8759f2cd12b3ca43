package config_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestApprovalCoversFiles changes the content of a file that an approved entry
// reads: then the entry would run something that was not approved.
func TestApprovalCoversFiles(t *testing.T) {
	for _, project := range []bool{false, true} {
		for key, waits := range map[string]bool{
			`"command": "${file:part}"`:                                        true,
			`"command": "x", "args": ["-c${file:part}"]`:                       true,
			`"cmd": "x", "environment": {"NODE_OPTIONS": "${file:part}"}`:      true,
			`"url": "http://${file:part}/"`:                                    true,
			`"url": "http://h/", "headers": {"Authorization": "${file:part}"}`: false,
			`"command": "x", "env": {"A": "$${file:part}"}`:                    false,
		} {
			t.Run(fmt.Sprintf("door/8 project=%t %s", project, key), func(t *testing.T) {
				path := configtest.Write(t, "mcp.json", `{"mcpServers": {"own": {"command": "x"}}}`)
				part := configtest.Put(t, filepath.Join(filepath.Dir(path), "part"), "good\n")
				load := configtest.Options(t, path, nil)
				load.Project = project
				if project {
					configtest.Put(t, path, `{"mcpServers": {"new": {`+key+`}}}`)
				} else {
					update(t, path, edit.WriteOptions{Load: load, Pending: true}, func(d *edit.Draft) error { return d.SetServer("", "new", []byte(`{`+key+`}`)) })
				}
				server := func() (*config.Config, *config.Server) {
					t.Helper()
					cfg := loaded(t, load)
					return cfg, cfg.Schemas[0].Server("new")
				}
				approve := func() {
					t.Helper()
					cfg, s := server()
					if !s.Pending {
						t.Fatal("does not wait")
					}
					must.OK(t, cfg.Approvals().Approve(s.ID(), s.ApprovalHash()))
					if _, s := server(); s.Pending {
						t.Fatal("still pending")
					}
				}
				approve()
				configtest.Put(t, part, "evil\n")
				cfg, s := server()
				if s.Pending != waits {
					t.Fatalf("pending = %t after its file changed", s.Pending)
				}
				if !waits {
					return
				}
				if hint := configtest.Warned(t, cfg, problem.Pending).Hint; !strings.Contains(hint, "${file:…}") {
					t.Errorf("the hint is %q", hint)
				}
				if strings.Contains(fmt.Sprintf("%+v", *s), "evil") {
					t.Error("it was expanded")
				}
				approve()
				configtest.Put(t, part, "good\n")
				if _, s := server(); !s.Pending {
					t.Error("an earlier content counts")
				}
			})
		}
	}
}

// TestOwnFilesNeedNoApproval: an entry that a person wrote needs no approval,
// and neither do the files that it reads.
func TestOwnFilesNeedNoApproval(t *testing.T) {
	path := configtest.Write(t, "mcp.json", `{"mcpServers": {"own": {"command": "${file:part}"}}}`)
	part := configtest.Put(t, filepath.Join(filepath.Dir(path), "part"), "one\n")
	for _, text := range []string{"one", "two"} {
		configtest.Put(t, part, text)
		cfg := loaded(t, configtest.Options(t, path, nil))
		if s := cfg.Schemas[0].Servers[0]; s.Pending || s.Command != text {
			t.Errorf("%+v", s)
		}
	}
}
