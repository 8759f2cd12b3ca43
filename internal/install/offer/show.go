package offer

import (
	"strings"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
)

var says = i18n.New("says", "简介")

// describe adds the rows with the registry's data about a server.
func (o *Offer) describe(p *install.Plan) {
	rec := p.Record
	s, m := &rec.Server, &rec.Meta.Official
	short := s.Name[strings.LastIndexByte(s.Name, '/')+1:]
	o.Head = i18n.New("%s %s   from the registry %s", "%s %s   来自注册表 %s", short, install.Show(s.Version), rec.Registry)
	if !m.Published.IsZero() {
		o.Head = i18n.New("%v, published %s", "%v，发布于 %s", o.Head, m.Published.Format("2006-01-02"))
	}
	if m.Status != "" {
		o.Head = i18n.New("%v, %v", "%v，%v", o.Head, statusWord(m.Status))
	}
	if rec.Kept {
		o.Head = i18n.New("%v, from the local copy", "%v，来自本地副本", o.Head)
	}
	rows := []Row{{says, i18n.Plain(install.Show(s.Description))}}
	if source := rec.Source(); source != "" {
		text := i18n.Plain(source)
		if fits, known := rec.OwnerFits(); known && fits {
			text = i18n.New("%s   (owner fits the name)", "%s   （所有者与名称相符）", source)
		} else if known {
			rows = append(rows, Row{alarm, i18n.New("the owner in the name is not the owner of the source", "名称中的所有者与源码不符")})
		}
		rows = append(rows, Row{i18n.New("source", "源码"), text})
	}
	rows = append(rows, Row{i18n.New("package", "软件包"), i18n.Plain(p.Package)})
	o.rows = append(rows, o.rows...)
}

// statusWord translates the status of a record if it is a known one.
func statusWord(status string) i18n.Text {
	switch status {
	case "active":
		return i18n.New("active", "有效")
	case "deprecated":
		return i18n.New("deprecated", "已弃用")
	}
	return i18n.Plain(install.Show(status))
}

var alarm = i18n.Pair("!", "!")

// Rows returns what a person is shown before anything runs.
func (r *Ready) Rows() []Row {
	rows := append([]Row{}, r.Offer.rows...)
	e := r.filled.Entry
	if e.Command != "" {
		rows = append(rows, Row{i18n.New("runs", "运行"), i18n.Plain(i18n.Seen(i18n.Command(append([]string{e.Command}, e.Args...)...)))})
	} else {
		rows = append(rows, Row{i18n.New("connects to", "连接"), i18n.Plain(i18n.Seen(e.URL))})
	}
	if e.Cwd != "" {
		rows = append(rows, Row{i18n.New("in", "目录"), i18n.Plain(i18n.Seen(e.Cwd))})
	}
	for _, values := range []map[string]string{e.Env, e.Headers} {
		for _, name := range env.SortedKeys(values) {
			rows = append(rows, Row{i18n.New("gets", "传入"), i18n.Plain(i18n.Seen(name + "=" + values[name]))})
		}
	}
	rows = append(rows, Row{i18n.New("sandbox", "沙箱"), sandboxWords(e)}, Row{i18n.New("name", "名称"), i18n.New("%s, schema %s", "%s，位于 schema %s", r.Local, r.Schema)})
	return append(rows, r.Offer.alarmRows()...)
}

// Rows returns the description of the offer itself.
func (o *Offer) Rows() []Row { return append(append([]Row{}, o.rows...), o.alarmRows()...) }

func (o *Offer) alarmRows() []Row {
	var rows []Row
	for _, text := range o.Alarms {
		rows = append(rows, Row{alarm, text})
	}
	return rows
}

func sandboxWords(e *install.Entry) i18n.Text {
	profile, wider := e.Sandbox.(*install.Profile)
	switch {
	case e.Contained():
		return i18n.New("the container: it sees what the line above mounts, and reaches any host", "容器：只能看到上面命令挂载的内容，可访问任意主机")
	case wider && len(profile.Write) > 0:
		return i18n.New("on: reads %s, writes %s, any public host", "开启：可读 %s，可写 %s，可访问任意公网主机", i18n.Seen(strings.Join(profile.Read, " ")), i18n.Seen(strings.Join(profile.Write, " ")))
	case wider:
		return i18n.New("on: reads %s, any public host", "开启：可读 %s，可访问任意公网主机", i18n.Seen(strings.Join(profile.Read, " ")))
	case e.Command == "":
		return i18n.New("not needed: it is not started here", "不需要：它不在此处启动")
	case e.Sandbox == "on":
		return i18n.New("on: reads its own files and the system's, writes its own folder, any public host", "开启：可读自己和系统的文件，可写自己的文件夹，可访问任意公网主机")
	}
	return i18n.New("off: it can do all that you can", "关闭：它能做你能做的一切")
}
