package manage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
)

// describeRecord says in rows what a registry says about a server.
func describeRecord(a *env.Env, o *offer, p *install.Plan) {
	rec := p.Record
	s, m := &rec.Server, &rec.Meta.Official
	short := s.Name[strings.LastIndexByte(s.Name, '/')+1:]
	o.head = fmt.Sprintf("%s %s   %s", short, install.Show(s.Version), a.T("from the registry "+rec.Registry, "来自注册表 "+rec.Registry))
	if !m.Published.IsZero() {
		o.head += a.T(", published ", "，发布于 ") + m.Published.Format("2006-01-02")
	}
	if m.Status != "" {
		o.head += a.T(", ", "，") + install.Show(m.Status)
	}
	if rec.Kept {
		o.head += a.T(", as it was fetched before", "，为以前取得的内容")
	}
	rows := [][2]string{{a.T("says", "自述"), install.Show(s.Description)}}
	if source := rec.Source(); source != "" {
		if fits, known := rec.OwnerFits(); known && fits {
			source += a.T("   (owner fits the name)", "   （所有者与名称相符）")
		} else if known {
			rows = append(rows, [2]string{"!", a.T("the name says another owner than the source", "名称中的所有者与源码不符")})
		}
		rows = append(rows, [2]string{a.T("source", "源码"), source})
	}
	rows = append(rows, [2]string{a.T("package", "软件包"), p.Package})
	o.rows = append(rows, o.rows...)
}

// showOffer prints what would be installed, before anything runs.
func showOffer(a *env.Env, o *offer, filled *install.Filled, schema string) {
	fmt.Fprintln(a.Stderr, o.head)
	e := filled.Entry
	rows := slices.Clone(o.rows)
	if e.Command != "" {
		rows = append(rows, [2]string{a.T("runs", "运行"), i18n.Seen(strings.Join(append([]string{e.Command}, e.Args...), " "))})
	} else {
		rows = append(rows, [2]string{a.T("asks", "连接"), i18n.Seen(e.URL)})
	}
	for _, values := range []map[string]string{e.Env, e.Headers} {
		for _, name := range env.SortedKeys(values) {
			rows = append(rows, [2]string{a.T("gets", "获得"), i18n.Seen(name + "=" + values[name])})
		}
	}
	rows = append(rows, [2]string{a.T("sandbox", "沙箱"), sandboxWords(a, e)}, [2]string{a.T("as", "名为"), o.local + a.T(", schema ", "，schema ") + schema})
	for _, alarm := range o.alarms {
		rows = append(rows, [2]string{"!", alarm})
	}
	for _, row := range rows {
		fmt.Fprintf(a.Stderr, "  %s %s\n", env.PadRight(row[0], 8), row[1])
	}
}

func sandboxWords(a *env.Env, e *install.Entry) string {
	profile, wider := e.Sandbox.(*install.Profile)
	switch {
	case wider:
		text := a.T("on: reads ", "开启：可读 ") + strings.Join(profile.Read, " ")
		if len(profile.Write) > 0 {
			text += a.T(", writes ", "，可写 ") + strings.Join(profile.Write, " ")
		}
		return i18n.Seen(text + a.T(", any public host", "，可访问任意公网主机"))
	case e.Command == "":
		return a.T("none is needed: it runs elsewhere", "不需要：它在别处运行")
	case e.Sandbox == "on":
		return a.T("on: reads its own files and the system's, writes its own folder, any public host", "开启：可读自己和系统的文件，可写自己的文件夹，可访问任意公网主机")
	}
	return a.T("off: it can do all that you can", "关闭：它能做你能做的一切")
}

// printDry prints the entry, and what would be asked for.
func printDry(a *env.Env, o *offer, filled *install.Filled, entry []byte) error {
	if a.JSON {
		fmt.Fprintf(a.Stdout, "{%q:%s}\n", o.local, entry)
		return nil
	}
	showOffer(a, o, filled, "default")
	fmt.Fprintf(a.Stdout, "%s\n", indented(fmt.Appendf(nil, "{%q:%s}", o.local, entry)))
	for _, q := range o.questions {
		fmt.Fprintf(a.Stderr, "%s%s  %s\n", a.T("asks for ", "会询问 "), install.Show(q.ID), install.Show(q.Description))
	}
	return nil
}

func indented(raw []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return raw
	}
	return b.Bytes()
}
