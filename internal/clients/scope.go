package clients

import (
	"os"
	"path/filepath"
	"slices"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
)

// The scopes of a client's servers.
const (
	scopeLocal   = "local"   // the user's own file, for one working tree
	scopeProject = "project" // a file of the working tree, which anybody may have written
	scopeUser    = "user"
)

// A clientSource is a place where a client has servers.
type clientSource struct {
	scope, path string
	tree        string // working tree of scopeLocal
}

// clientSources returns the existing places, the nearest first, in the order in
// which clients prefer them. Files of the working tree are included only on
// request, because they make us run commands that others wrote.
func clientSources(a *env.Env, c *Client, project bool) []clientSource {
	var list []clientSource
	work, _ := os.Getwd() // without one there is no working tree
	user, exists := FileOf(a, c)
	trees := config.WorkingTree(work)
	for _, tree := range trees {
		if exists && c.ID == "claude-code" {
			list = append(list, clientSource{scopeLocal, user, tree})
		}
	}
	for _, tree := range trees {
		for _, name := range c.project {
			path := filepath.Join(tree, filepath.FromSlash(name))
			if path == user {
				continue // in the home directory both are the same file
			}
			if info, err := os.Stat(path); project && err == nil && info.Mode().IsRegular() {
				list = append(list, clientSource{scopeProject, path, ""})
			}
		}
	}
	if exists {
		list = append(list, clientSource{scopeUser, user, ""})
	}
	return list
}

// readSource lists the servers of one place.
func readSource(a *env.Env, c *Client, s clientSource) ([]foreign, error) {
	if s.scope != scopeLocal {
		return Read(a, c, s.path)
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		return nil, err
	}
	doc, err := asJSON(data, c.format)
	if err != nil {
		return nil, clientError(a, s.path, err)
	}
	tree := jsonrpc.Get(jsonrpc.Get(doc, "projects"), s.tree)
	return Parse(slices.Clone(tree), c)
}
