// Command bench measures what the gateway adds to a call, compared with floors
// that do not interpret MCP, and writes docs/performance.md.
//
// It contains all parts itself: the servers behind the gateway, the clients in
// front of it, and the floors. All of them are this program, started with the
// name of a part as its first argument.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// parts are the parts that this program runs as separate processes.
var parts = map[string]func(args []string) error{
	"upstream-http":  runUpstreamHTTP,
	"upstream-stdio": runUpstreamStdio,
	"floor-raw":      runFloorRaw,
	"floor-httputil": runFloorHTTPUtil,
	"floor-stdio":    runFloorStdio,
	"pipe-relay":     runPipeRelay,
}

// options are the options of one run.
type options struct {
	gateway string // path of the binary
	out     string // file of the page; empty for standard output
	quick   bool
	only    *regexp.Regexp // sections and cells to run
	rounds  int
	round   time.Duration
	others  others
}

// others are additional gateways to measure, each as
// name=url,prefix=PREFIX,pid=PID.
type others []served

func (o *others) String() string { return fmt.Sprint(*o) }

func (o *others) Set(s string) error {
	name, rest, ok := strings.Cut(s, "=")
	if !ok {
		return errors.New("want name=url,prefix=PREFIX,pid=PID")
	}
	fields := strings.Split(rest, ",")
	other := served{name: name, endpoint: fields[0]}
	for _, field := range fields[1:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "prefix":
			other.prefix = value
		case "pid":
			other.pid, _ = strconv.Atoi(value)
		default:
			return fmt.Errorf("unknown %q", key)
		}
	}
	*o = append(*o, other)
	return nil
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	if len(os.Args) > 1 {
		if part, ok := parts[os.Args[1]]; ok {
			if err := part(os.Args[2:]); err != nil {
				log.Fatalf("%s: %v", os.Args[1], err)
			}
			return
		}
	}
	var opt options
	only := flag.String("run", "", "regular expression of the sections and cells to run, for example '^http/100 B'")
	flag.StringVar(&opt.gateway, "gateway", "bin/mcp-all-in-one", "the binary to measure")
	flag.StringVar(&opt.out, "out", "", "file to write the page to")
	flag.BoolVar(&opt.quick, "quick", false, "fewer and shorter rounds, about a minute")
	flag.IntVar(&opt.rounds, "rounds", 0, "rounds per cell (7; 3 with -quick)")
	flag.DurationVar(&opt.round, "round", 0, "length of one round (500ms; 150ms with -quick)")
	flag.Var(&opt.others, "other", "another gateway: name=url,prefix=PREFIX,pid=PID; may be repeated")
	flag.Parse()
	opt.only = regexp.MustCompile(*only)
	opt.setDefaults()
	debug.SetGCPercent(400) // the load generator must not limit the measurement
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &opt); err != nil {
		log.Fatal(err)
	}
}

func (o *options) setDefaults() {
	rounds, round := 7, 500*time.Millisecond
	if o.quick {
		rounds, round = 3, 150*time.Millisecond
	}
	if o.rounds == 0 {
		o.rounds = rounds
	}
	if o.round == 0 {
		o.round = round
	}
}

// A section is one part of the page.
type section struct {
	name    string
	measure func(ctx context.Context, b *bench) error
}

var sections = []section{
	{"http", measureHTTP},
	{"stdio", measureStdio},
	{"eras", measureEras},
	{"access", measureAccess},
	{"list", measureList},
	{"growth", measureGrowth},
	{"code", measureCode},
	{"cluster", measureCluster},
	{"cold", measureCold},
	{"memory", measureMemory},
	{"profile", measureProfile},
}

func run(ctx context.Context, opt *options) error {
	b, err := newBench(opt)
	if err != nil {
		return err
	}
	defer b.close()
	for _, s := range sections {
		if !b.wants(s.name) {
			continue
		}
		start := time.Now()
		if err := s.measure(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		log.Printf("%s: %.0f s", s.name, time.Since(start).Seconds())
	}
	return b.report()
}
