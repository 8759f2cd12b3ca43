package control

import (
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/web"
)

// StatusPage is the response of /status and /api/status.
type StatusPage struct {
	Server  StatusServer            `json:"server"`
	Schemas map[string]StatusSchema `json:"schemas"`
	Summary statusSummary           `json:"summary"`
	// Limits counts how often each limit was reached.
	Limits map[string]int64 `json:"limits,omitempty"`
	// Unread describes changes of the config file that were not read yet. It is
	// nil for a principal that may not reload the file.
	Unread *web.Unread `json:"unread,omitempty"`
}

type StatusServer struct {
	Status string `json:"status"`
	Name   string `json:"name"`
	Port   int    `json:"port"`
	URL    string `json:"url"`
	Uptime string `json:"uptime"`
}

type StatusSchema struct {
	Status           string            `json:"status"`
	Servers          []StatusMCPServer `json:"mcpServers"`
	TotalTools       int               `json:"totalTools"`
	ConnectedServers int               `json:"connectedServers"`
	// Receipt describes what clients were shown of the schema, and its cost.
	Receipt *receipt.Schema `json:"receipt,omitempty"`
	Failed  int             `json:"-"`
}

type StatusMCPServer struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Status        upstream.State `json:"status"`
	Type          string         `json:"type"`
	ToolCount     int            `json:"toolCount"`
	Protocol      string         `json:"protocol,omitempty"`
	PID           int            `json:"pid,omitempty"`
	Sandbox       string         `json:"sandbox,omitempty"`
	Replica       string         `json:"replica,omitempty"` // the replica that runs it, if not this one
	Restarts      int            `json:"restarts"`
	StartingFor   string         `json:"startingFor,omitempty"` // only while there is no error yet
	Installer     string         `json:"installer,omitempty"`
	Error         string         `json:"error,omitempty"`
	ErrorZH       string         `json:"errorZH,omitempty"`
	LastConnected string         `json:"lastConnected,omitempty"`
}

type statusSummary struct {
	TotalSchemas     int `json:"totalSchemas"`
	ActiveSchemas    int `json:"activeSchemas"`
	TotalServers     int `json:"totalServers"`
	ConnectedServers int `json:"connectedServers"`
	FailedServers    int `json:"failedServers"`
	TotalTools       int `json:"totalTools"`
}

func (p *StatusPage) Hit(h config.Hit) {
	if p.Limits == nil {
		p.Limits = make(map[string]int64)
	}
	p.Limits[h.Limit] = h.Count
}

func (s *StatusSchema) Add(st upstream.Status, patience time.Duration, who access.Principal) {
	row := StatusMCPServer{
		ID: st.Name, Name: st.Name, Status: st.State, Type: st.Type, ToolCount: st.Tools,
		Protocol: st.Version, Restarts: st.Restarts, Sandbox: st.Sandbox, Replica: st.Replica, Installer: st.Installer,
	}
	if st.State == upstream.Starting && st.Reason.Empty() {
		row.StartingFor = time.Since(st.Since).Round(time.Second).String()
	}
	why := WhyNot(st, patience)
	if installing := row.StartingFor != "" && st.Installer != ""; !why.Empty() && !installing {
		s.Failed++
	}
	if who.MayInspect() {
		row.PID = st.PID
		row.Error, row.ErrorZH = why.Both()
	}
	if st.State == upstream.Ready {
		s.ConnectedServers++
		row.LastConnected = st.Since.UTC().Format(time.RFC3339)
	}
	s.TotalTools += st.Tools
	s.Servers = append(s.Servers, row)
}

// WhyNot returns why a server that should run does not; empty if it runs or may
// still start in time.
func WhyNot(st upstream.Status, patience time.Duration) i18n.Text {
	if waited := time.Since(st.Since); st.State == upstream.Starting && st.Reason.Empty() && waited >= patience {
		if st.Installer != "" {
			return Installing(st.Installer, waited.Round(time.Second).String())
		}
		return i18n.New("it has not answered for %v", "它已有 %v 没有应答", waited.Round(time.Second))
	}
	return st.Reason
}

// Installing returns the text that a program downloads a server or starts it
// for the first time. Only that program knows which of the two.
func Installing(by, waited string) i18n.Text {
	return i18n.New("%s is installing or starting it, for %s so far", "%s 正在安装或启动它，已用 %s", by, waited)
}
