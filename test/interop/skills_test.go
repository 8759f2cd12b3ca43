package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// skillScenarios are the scenarios of the official suite for the extension.
var skillScenarios = []string{"sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory"}

// skillServer returns the config entry of a FastMCP server with these skills.
func skillServer(t *testing.T, name string, skills ...string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), name)
	for _, skill := range skills {
		for file, text := range map[string]string{
			"SKILL.md":              fmt.Sprintf("---\nname: %s\ndescription: How %s does %s\n---\n\nSee templates/letter.md.\n", skill, name, skill),
			"templates/letter.md":   "Dear " + name,
			"templates/de/brief.md": "Liebes " + name,
		} {
			path := filepath.Join(root, skill, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	source, err := filepath.Abs(filepath.Join("scripts", "skills_server.py"))
	if err != nil {
		t.Fatal(err)
	}
	program := mcptest.Program{Path: filepath.Join(cache, "python", "bin", "python"), Args: []string{source, root, "directories"}}
	return fmt.Sprintf(`{"url":%q}`, mcptest.Start(t, program).Listening()+"/mcp")
}

// TestSkillsOfTwoServers runs the scenarios of the official suite with two
// published servers behind one endpoint.
func TestSkillsOfTwoServers(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{"with skills of their own": "invoices", "with the same skill": "refunds"} {
		g := mcptest.Gateway(t, config("north", skillServer(t, "north", "refunds"), "south", skillServer(t, "south", second)))
		for _, scenario := range skillScenarios {
			t.Run("true/5 "+scenario+" "+name, func(t *testing.T) {
				verdicts := runSuite(t, g.URL+"/mcp", "--scenario", scenario, "--spec-version", "2026-07-28", "--force")
				if why, ran := verdicts[scenario]; !ran || why != "" {
					t.Errorf("ran %v: %s", ran, why)
				}
			})
		}
	}
}

// A skillEntry is the description of a skill in the extension.
type skillEntry struct {
	URI         string
	Frontmatter struct{ Name, Description string }
	Resources   []struct {
		URI, Digest string
		Size        int
	}
}

func TestSkillsAreRouted(t *testing.T) {
	t.Parallel()
	g := mcptest.Gateway(t, config("north", skillServer(t, "north", "refunds", "visas"), "south", skillServer(t, "south", "refunds", "invoices")))
	ask := func(t *testing.T, method, params string, into any) int {
		t.Helper()
		return askModern(t, g.URL+"/mcp", method, params, into)
	}
	var list struct{ Skills []skillEntry }
	t.Run("true/5 merged list", func(t *testing.T) {
		if code := ask(t, "skills/list", `{}`, &list); code != 0 {
			t.Fatalf("code %d", code)
		}
		var uris []string
		for _, s := range list.Skills {
			uris = append(uris, s.URI)
			for _, file := range s.Resources {
				if !strings.HasPrefix(file.URI, strings.TrimSuffix(s.URI, "SKILL.md")) {
					t.Errorf("%s has the file %s", s.URI, file.URI)
				}
			}
		}
		slices.Sort(uris)
		want := []string{"skill://invoices/SKILL.md", "skill://refunds/SKILL.md", "skill://visas/SKILL.md", "skill://~south/refunds/SKILL.md"}
		if !slices.Equal(uris, want) {
			t.Errorf("%q, want %q", uris, want)
		}
	})
	for _, skill := range list.Skills {
		owner := strings.Fields(skill.Frontmatter.Description)[1]
		t.Run("true/5 get "+skill.URI, func(t *testing.T) {
			var got struct{ Skill skillEntry }
			if code := ask(t, "skills/get", fmt.Sprintf(`{"uri":%q}`, skill.URI), &got); code != 0 || fmt.Sprint(got.Skill) != fmt.Sprint(skill) {
				t.Errorf("code %d, %+v, listed as %+v", code, got.Skill, skill)
			}
		})
		for _, file := range skill.Resources {
			t.Run("true/5 read "+file.URI, func(t *testing.T) {
				var got struct {
					Contents []struct{ URI, Text string }
				}
				code := ask(t, "resources/read", fmt.Sprintf(`{"uri":%q}`, file.URI), &got)
				if code != 0 || len(got.Contents) != 1 || got.Contents[0].URI != file.URI ||
					len(got.Contents[0].Text) != file.Size || !strings.Contains(got.Contents[0].Text, owner) {
					t.Errorf("code %d, %+v of %s, %d bytes", code, got, owner, file.Size)
				}
			})
		}
		folder := strings.TrimSuffix(skill.URI, "/SKILL.md") + "/templates"
		t.Run("true/5 directory "+folder, func(t *testing.T) {
			var got struct {
				Resources []struct{ URI, MIMEType string }
			}
			code := ask(t, "resources/directory/read", fmt.Sprintf(`{"uri":%q}`, folder), &got)
			want := fmt.Sprintf("[{%s/de inode/directory} {%s/letter.md text/markdown}]", folder, folder)
			if code != 0 || fmt.Sprint(got.Resources) != want {
				t.Errorf("code %d, %v, want %s", code, got.Resources, want)
			}
		})
	}
	for method, uri := range map[string]string{
		"skills/get": "skill://nobody/SKILL.md", "resources/directory/read": "skill://refunds/SKILL.md", "resources/read": "skill://~south/visas/SKILL.md",
	} {
		t.Run("true/5 "+method+" of nothing", func(t *testing.T) {
			var none json.RawMessage
			if code := ask(t, method, fmt.Sprintf(`{"uri":%q}`, uri), &none); code != -32602 {
				t.Errorf("code %d, %s", code, none)
			}
		})
	}
}

// askModern sends one request of the modern era and reads its result; it
// returns the error code, 0 for none.
func askModern(t *testing.T, url, method, params string, into any) int {
	t.Helper()
	c := mcptest.NewRawHTTP(t, url)
	c.Header.Set("MCP-Protocol-Version", mcp.LatestModern)
	c.Header.Set("Mcp-Method", method)
	if uri, ok := jsonrpc.GetString([]byte(params), "uri"); ok && method == mcp.MethodResourcesRead {
		c.Header.Set("Mcp-Name", uri)
	}
	meta := fmt.Sprintf(`{%q:%q,%q:{}}`, mcp.MetaVersion, mcp.LatestModern, mcp.MetaCapabilities)
	answer := c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, jsonrpc.Set([]byte(params), []byte(meta), "_meta"))).Answer(t)
	if answer.Error != nil {
		return int(answer.Error.Code)
	}
	if err := json.Unmarshal(answer.Result, into); err != nil {
		t.Fatalf("%s: %v in %s", method, err, answer.Result)
	}
	return 0
}
