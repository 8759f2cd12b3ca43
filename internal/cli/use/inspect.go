package use

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

func InspectCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	cmd := target.NewOnce(a, "inspect TARGET", a.T("show a server: handshake, capabilities, lists, cost, timing", "查看服务器：握手、能力、列表、开销、耗时"), &f,
		func(b *target.Connection, _ []string) error { return inspectServer(b) })
	cmd.Example = "  mcp-all-in-one inspect github\n  mcp-all-in-one inspect https://example.com/mcp --protocol modern\n" +
		"  mcp-all-in-one inspect -- npx -y @modelcontextprotocol/server-everything"
	f.AddOutput(a, cmd.Flags(), output.Formats)
	return cmd
}

// An inspection is the result of inspecting a server.
type inspection struct {
	Target       string           `json:"target"`
	Server       json.RawMessage  `json:"server,omitempty"`
	Protocol     string           `json:"protocol"`
	Era          string           `json:"era"`
	Speaks       []string         `json:"supportedVersions,omitempty"`
	Transport    string           `json:"transport"`
	PID          int              `json:"pid,omitempty"`
	Session      string           `json:"session,omitempty"`
	Capabilities json.RawMessage  `json:"capabilities,omitempty"`
	Instructions string           `json:"instructions,omitempty"`
	Lists        []inspectionList `json:"lists"`
	// Milliseconds.
	Dial      float64 `json:"dialMs"`
	Handshake float64 `json:"handshakeMs"`
}

type inspectionList struct {
	Kind   string   `json:"kind"`
	Count  int      `json:"count"`
	Pages  int      `json:"pages"`
	Bytes  int      `json:"bytes"`
	Tokens int      `json:"tokens"`
	Ms     float64  `json:"ms"`
	Issues []string `json:"issues,omitempty"`
}

func inspectServer(b *target.Connection) error {
	i := b.Info()
	r := inspection{
		Target: b.To.Label, Server: i.Server, Protocol: i.Version, Era: i.Era.String(), Speaks: i.Speaks, Transport: i.Transport, PID: i.PID,
		Session: i.SessionID, Capabilities: i.Capabilities, Instructions: i.Instructions, Lists: []inspectionList{},
		Dial: asMs(i.Dial), Handshake: asMs(i.Greet),
	}
	lang := b.Env.Lang
	if b.Flags.Structured(b.Env) {
		lang = i18n.English
	}
	for _, k := range output.AllKinds {
		if !b.Offers(k) {
			continue
		}
		began := time.Now()
		l, err := b.List(b.Ctx, k)
		if err != nil {
			return err
		}
		r.Lists = append(r.Lists, listed(l, time.Since(began), lang))
	}
	if b.Flags.Structured(b.Env) {
		raw, err := json.Marshal(r)
		if err != nil {
			return err
		}
		return output.PrintResult(b.Env, &b.Flags.Options, raw, "")
	}
	printInspection(b.Env, &r)
	return nil
}

func asMs(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func listed(l *probe.Listing, took time.Duration, lang i18n.Lang) inspectionList {
	cost := catalog.Cost{}
	for _, raw := range l.Raw {
		c := catalog.CostOf(raw)
		cost.Bytes, cost.Tokens = cost.Bytes+c.Bytes, cost.Tokens+c.Tokens
	}
	out := inspectionList{Kind: probe.KindWord(l.Kind), Count: len(l.Raw), Pages: l.Pages, Bytes: cost.Bytes, Tokens: cost.Tokens, Ms: asMs(took)}
	for _, issue := range l.Issues {
		out.Issues = append(out.Issues, strings.TrimPrefix(issue.Item+": "+issue.Detail.In(lang), ": "))
	}
	return out
}

func printInspection(a *env.Env, r *inspection) {
	row := func(label, format string, args ...any) {
		fmt.Fprintf(a.Stdout, "%s  %s\n", env.PadRight(label, 13), fmt.Sprintf(format, args...))
	}
	name, _ := jsonrpc.GetString(r.Server, "name")
	version, _ := jsonrpc.GetString(r.Server, "version")
	row(a.T("server", "服务器"), "%s", strings.TrimSpace(name+" "+version))
	row(a.T("protocol", "协议"), "%s (%s)", r.Protocol, r.Era)
	if len(r.Speaks) > 0 {
		row(a.T("speaks", "支持"), "%s", strings.Join(r.Speaks, ", "))
	}
	transport := r.Transport
	if r.PID != 0 {
		transport += fmt.Sprintf(", pid %d", r.PID)
	}
	row(a.T("transport", "传输"), "%s", transport)
	row(a.T("handshake", "握手"), a.T("%.1f ms (connected in %.1f ms)", "%.1f ms（连接 %.1f ms）"), r.Handshake, r.Dial)
	row(a.T("capabilities", "能力"), "%s", strings.Join(capabilityNames(r.Capabilities), ", "))
	for _, l := range r.Lists {
		row(l.Kind, a.T("%d  (%s, %.1f ms)", "%d（%s，%.1f ms）"), l.Count, output.Sized(a, output.ByteSize(l.Bytes)+" ≈ "+output.Thousands(l.Tokens)+" tokens"), l.Ms)
		for _, issue := range l.Issues {
			row("", "⚠ %s", issue)
		}
	}
	if r.Instructions != "" {
		row(a.T("instructions", "说明"), "%s", strings.ReplaceAll(r.Instructions, "\n", "\n               "))
	}
}

// capabilityNames lists the declared capabilities of a server with their
// members.
func capabilityNames(caps json.RawMessage) []string {
	var names []string
	for name, value := range jsonrpc.Members(caps) {
		var inner []string
		for sub, flag := range jsonrpc.Members(value) {
			if string(flag) != "false" {
				inner = append(inner, sub)
			}
		}
		if len(inner) > 0 {
			name += "(" + strings.Join(inner, " ") + ")"
		}
		names = append(names, name)
	}
	return names
}
