package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/template"
	"time"
)

// A page holds the results.
type page struct {
	cells     []*cell
	cold      []span
	residence *residence
	stop      *span // how late a script ends after its limit
	profiles  []profile
	again     int // measurements repeated because other machines used the processors
}

//go:embed page.md
var pageText string

// report writes the page.
func (b *bench) report() error {
	must, later := b.page.goals()
	var out bytes.Buffer
	err := template.Must(template.New("page").Parse(pageText)).Execute(&out, map[string]any{
		"Date": time.Now().UTC().Format(time.DateOnly), "Go": strings.TrimPrefix(runtime.Version(), "go"), "Cores": runtime.NumCPU(),
		"OS": runtime.GOOS + "/" + runtime.GOARCH, "Load": loadAverage(), "Priority": priority(), "Rounds": b.opt.rounds, "Round": b.opt.round.String(), "Again": b.page.again,
		"Must": goalTable(must), "Goals": goalTable(later), "Pipes": b.page.pipeTable(), "Tables": b.page.tables(),
		"Profiles": b.page.profileTable(), "Memory": b.page.memoryTable(), "Cold": b.page.coldTable(),
	})
	if err != nil {
		return err
	}
	if b.opt.out == "" {
		_, err = os.Stdout.Write(out.Bytes())
		return err
	}
	return os.WriteFile(b.opt.out, out.Bytes(), 0o644)
}

func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(raw))[0]
}

// markdown renders a table.
func markdown(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	b.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

func goalTable(goals []goal) string {
	var rows [][]string
	for _, g := range goals {
		verdict := "yes"
		if !g.met {
			verdict = "**no**"
		}
		rows = append(rows, []string{g.text, g.want, g.found, g.spread, g.best, verdict})
	}
	return markdown([]string{"measure", "target", "found", "spread", "best rounds", "met"}, rows)
}

// pipeTable shows how much of the goals for HTTP to stdio is achievable.
func (p *page) pipeTable() string {
	var rows [][]string
	for _, c := range p.cells {
		if c.group != "http" || c.clients != 16 && c.clients != 64 {
			continue
		}
		of := func(name, floor string) string { return c.ratio(name, floor, sample.perSecond).String() }
		rows = append(rows, []string{
			c.size, fmt.Sprint(c.clients),
			of(floorStdio, floorRaw), of(toStdio, floorRaw), of(toStdio, floorStdio),
		})
	}
	return markdown([]string{"answer", "C", "floor-stdio / floor-raw", "gateway / floor-raw", "gateway / floor-stdio"}, rows)
}

var groupTitles = []struct{ group, title, floor string }{
	{"http", "HTTP clients", floorRaw},
	{"stdio", "One client on stdio, a server on stdio", pipeRelay},
	{"burst", "The same, when calls are written together", pipeRelay},
	{"eras", "Eras of client and server, HTTP to HTTP", floorRaw},
	{"access", "Keys and metrics", metricsOff},
	{"list", "tools/list of 1,000 tools over 10 servers", listDirect},
	{"growth", "Servers and tools, HTTP to stdio", growthSmall},
	{"code", "Scripts, one client on stdio; CPU counts the gateway and the script", byExec},
	{"neighbour", "Scripts and their neighbours, HTTP to stdio", alone},
	{"forwarded", "Replicas: sessions that another one has, HTTP to HTTP; CPU counts both", atHome},
	{"carried", "Replicas: sessions that one without a peer port has, reached through NATS, HTTP to HTTP; CPU counts both", atHome},
	{"placed", "Replicas: a server that runs on another one, HTTP to stdio; CPU counts both", atHome},
}

// tables renders all cells, one table per group.
func (p *page) tables() string {
	var b strings.Builder
	for _, g := range groupTitles {
		var rows [][]string
		for _, c := range p.cells {
			if c.group != g.group {
				continue
			}
			for _, name := range c.names {
				rows = append(rows, []string{
					c.size, fmt.Sprint(c.clients), name, fmt.Sprintf("%.0f", c.median(name, sample.perSecond)),
					c.ratio(name, g.floor, sample.perSecond).String(), fmt.Sprintf("%.1f", c.median(name, sample.cpuPerCall)),
					microseconds(c.median(name, sample.p50)), microseconds(c.median(name, sample.p99)),
				})
			}
		}
		if rows != nil {
			head := []string{"answer", "C", "target", "calls/s", "/ " + g.floor, "CPU us/call", "p50 us", "p99 us"}
			fmt.Fprintf(&b, "### %s\n\n%s\n", g.title, markdown(head, rows))
		}
	}
	return b.String()
}

func microseconds(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", v)
}

func (p *page) profileTable() string {
	var b strings.Builder
	for _, f := range p.profiles {
		var rows [][]string
		for _, s := range f.shares {
			rows = append(rows, []string{s.name, fmt.Sprintf("%.0f %%", s.percent)})
		}
		fmt.Fprintf(&b, "**%s**\n\n%s\n", f.name, markdown([]string{"where", "share"}, rows))
	}
	return b.String()
}

func (p *page) coldTable() string {
	var rows [][]string
	for _, s := range p.cold {
		rows = append(rows, []string{s.name, s.String()})
	}
	return markdown([]string{"from the start of the process", "ms, median [min..max]"}, rows)
}

func (p *page) memoryTable() string {
	r := p.residence
	if r == nil {
		return ""
	}
	return markdown([]string{"own memory, the helper apart", ""}, [][]string{
		{"one client", fmt.Sprintf("%.1f MiB", r.before)},
		{"100 clients, each with its stream open", fmt.Sprintf("%.1f MiB", r.with100)},
		{"each further session with its stream", fmt.Sprintf("%.0f KiB", r.perSession)},
		{"peak of a burst of 1 MB answers, C=16", fmt.Sprintf("%.0f MiB", r.peak)},
		{fmt.Sprintf("%.0f s after it", r.afterWait.Seconds()), fmt.Sprintf("%.0f MiB", r.after)},
		{"one answer of 15 MB, at its peak", fmt.Sprintf("%.0f MiB more", r.large)},
		{fmt.Sprintf("processor time in %.0f idle seconds", r.idleOver.Seconds()), r.idle.String()},
	})
}

// priority returns the nice value if it is not zero.
func priority() string {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return ""
	}
	// The name of the command is in parentheses and may contain spaces.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const nice = 16
	if len(fields) <= nice || fields[nice] == "0" {
		return ""
	}
	return "nice " + fields[nice] + ", "
}
