package config

import (
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// Approvals returns the approval record of this file.
func (c *Config) Approvals() *approval.Record {
	return approval.Of(c.Path, c.home, c.Project).SharedBy(c.share)
}

// takeMarks reads which servers of the file wait for approval.
func (r *reader) takeMarks() {
	r.record = approval.Of(r.cfg.Path, r.o.Home, r.cfg.Project)
	var err error
	if r.Marks, err = r.record.Read(); err != nil {
		r.c.Add(problem.SeverityError, problem.Pos{}, "", problem.Marks, err)
	}
}

// pending reports that s waits for approval, and how to approve it. If s
// replaces an approved entry, that entry runs until then.
func (r *reader) pending(s *Server, why approval.Wait, replaces bool) {
	severity, code := problem.SeverityDisabled, problem.Pending
	if replaces {
		severity, code = problem.SeverityWarning, problem.Proposed
	}
	p := r.c.Add(severity, problem.Pos{Line: s.Line, Col: s.Column}, s.ID(), code, s.Name)
	switch why {
	case approval.WaitsFiles:
		p.Hint = "a file that it reads by ${file:…} does not hold what it held when the server was approved, so look at it and approve it again"
		p.HintZH = "它通过 ${file:…} 读取的文件与批准时的内容不同，请查看后重新批准"
	case approval.WaitsScripts:
		p.Hint = "scripts run only as a person has approved them, so read them and approve them"
		p.HintZH = "脚本只按人批准的内容运行，请阅读后批准"
	case approval.WaitsEarlier:
		p.Hint = "an earlier version recorded it without its policies, so read it again and approve it"
		p.HintZH = "早期版本的记录不含其策略，请重新确认后批准"
	}
	p.Hint += ": " + r.approveCommand(s)
	p.HintZH += "：" + r.approveCommand(s)
}

// approveCommand returns the command line that approves a server of this file.
func (r *reader) approveCommand(s *Server) string {
	line := []string{"mcp-all-in-one", "approve", s.Name}
	if s.Schema != layout.DefaultSchema {
		line = append(line, "--schema", s.Schema)
	}
	if r.cfg.Project {
		line = append(line, "--project")
	}
	// A file of another program, or one that was named with a flag, must be
	// named again.
	if r.cfg.Project || r.o.Path != "" || r.o.Personality != MCPAllInOne {
		line = append(line, "-c", r.cfg.Path)
	}
	return i18n.Command(line...)
}
