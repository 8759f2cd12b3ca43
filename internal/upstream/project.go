package upstream

import (
	"os"
	"path/filepath"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/project"
)

// startIn lets a command start in the folder of a project, if there is one. The
// folder that the entry names counts more. A confined server stays where it is:
// it may write the folder that it is given, and nobody has allowed this one.
func startIn(cmd *stdio.Command, p *project.Project, cfg *config.Server) {
	if p == nil || p.Folder == "" || cfg.Cwd != "" || cfg.Sandbox.On {
		return
	}
	if info, err := os.Stat(p.Folder); err != nil || !info.IsDir() {
		return
	}
	if filepath.Base(cmd.Path) != cmd.Path {
		// The folder chooses no program: a relative path is one of ours.
		if path, err := filepath.Abs(cmd.Path); err == nil {
			cmd.Path = path
		}
	}
	cmd.Dir = p.Folder
}
