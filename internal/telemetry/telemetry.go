// Package telemetry publishes what this gateway does: metrics in the text format
// of Prometheus, traces over OTLP, and an audit trail in a file.
//
// It sees calls after they have ended and never delays one: data that cannot be
// queued at once is dropped and counted. It does not know how its data is served.
package telemetry

import (
	"bytes"
	"strconv"
	"strings"
)

// The types of a metric.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
)

// A Page is a set of metrics in the Prometheus text format 0.0.4. It is written
// by hand, because linking the client library was measured to cost every process
// 3 MiB and 4 ms, whether it is scraped or not.
type Page struct {
	out  bytes.Buffer
	name string
}

// Family begins a metric; its samples follow.
func (p *Page) Family(name, kind, help string) {
	p.name = name
	p.out.WriteString("# HELP " + name + " " + strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(help) + "\n")
	p.out.WriteString("# TYPE " + name + " " + kind + "\n")
}

// Sample writes one value of the current metric; labels are pairs of name and
// value.
func (p *Page) Sample(value float64, labels ...string) { p.sample("", value, labels) }

// Histogram writes one histogram of the current metric. counts are cumulative,
// one per bound.
func (p *Page) Histogram(bounds []float64, counts []int64, count int64, sum float64, labels ...string) {
	for i, bound := range bounds {
		p.sample("_bucket", float64(counts[i]), append(labels[:len(labels):len(labels)], "le", number(bound)))
	}
	p.sample("_bucket", float64(count), append(labels[:len(labels):len(labels)], "le", "+Inf"))
	p.sample("_sum", sum, labels)
	p.sample("_count", float64(count), labels)
}

func (p *Page) sample(suffix string, value float64, labels []string) {
	p.out.WriteString(p.name + suffix)
	for i := 0; i+1 < len(labels); i += 2 {
		if i == 0 {
			p.out.WriteByte('{')
		} else {
			p.out.WriteByte(',')
		}
		p.out.WriteString(labels[i] + `="` + labelEscapes.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
	}
	if len(labels) > 1 {
		p.out.WriteByte('}')
	}
	p.out.WriteString(" " + number(value) + "\n")
}

var labelEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Bytes returns the page.
func (p *Page) Bytes() []byte { return p.out.Bytes() }

// ContentType is the media type of a Page.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"
