package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"time"
)

// residence holds the measured memory and idle time.
type residence struct {
	before, with100, perSession float64 // MiB, MiB, KiB
	idle                        time.Duration
	idleOver                    time.Duration
	peak, after                 float64 // MiB
	afterWait                   time.Duration
	large                       float64 // additional MiB at the peak of one answer of 15 MB
}

func mebibytes(pid int, name string) float64 { return float64(memory(pid, name)) / 1024 }

// measureMemory measures the memory of the gateway, without its helper, with
// ten servers over pipes and 1,000 tools.
func measureMemory(ctx context.Context, b *bench) error {
	mark := len(b.started)
	defer b.end(mark)
	p, err := b.serve(ctx, b.tenPipes(), nil)
	if err != nil {
		return err
	}
	r := residence{idleOver: 10 * time.Second, afterWait: 60 * time.Second}
	if b.opt.quick {
		r.idleOver, r.afterWait = 2*time.Second, 10*time.Second
	}
	var open []*wire
	defer func() {
		for _, w := range open {
			w.close()
		}
	}()
	join := func(n int) error {
		for range n {
			w, err := listener(ctx, p.endpoint)
			if err != nil {
				return err
			}
			open = append(open, w)
		}
		return nil
	}
	if err := join(1); err != nil { // everything is started after this
		return err
	}
	r.before = mebibytes(p.pid, "VmRSS")
	if err := join(99); err != nil {
		return err
	}
	r.with100 = mebibytes(p.pid, "VmRSS")
	if err := join(900); err != nil {
		return err
	}
	r.perSession = (mebibytes(p.pid, "VmRSS") - r.with100) / 900 * 1024
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	cpu := cpuOf(p.pid)
	used := cpu()
	if err := pause(ctx, r.idleOver); err != nil {
		return err
	}
	r.idle = cpu() - used
	if err := b.burst(ctx, &r); err != nil {
		return err
	}
	log.Printf("memory %+v", r)
	b.page.residence = &r
	return nil
}

// burst measures how much memory remains after large answers, in a separate
// gateway.
func (b *bench) burst(ctx context.Context, r *residence) error {
	p, err := b.serve(ctx, b.tenPipes(), nil)
	if err != nil {
		return err
	}
	call := func(size, clients int, length time.Duration) error {
		_, err := httpCall("", p.endpoint, "up0__", sizes[size].tool, sizes[size].bytes, p.pid).run(ctx, clients, length)
		return err
	}
	if err := call(0, 1, 100*time.Millisecond); err != nil {
		return err
	}
	base := mebibytes(p.pid, "VmHWM")
	if err := call(3, 1, time.Millisecond); err != nil {
		return err
	}
	r.large = mebibytes(p.pid, "VmHWM") - base
	if err := call(2, 16, 3*time.Second); err != nil {
		return err
	}
	r.peak = mebibytes(p.pid, "VmHWM")
	if err := pause(ctx, r.afterWait); err != nil {
		return err
	}
	r.after = mebibytes(p.pid, "VmRSS")
	return nil
}

// listener opens a client that has listed the tools and keeps a stream open.
func listener(ctx context.Context, endpoint string) (*wire, error) {
	w, err := client{endpoint: endpoint, method: "tools/list"}.dial(ctx, 1)
	if err != nil {
		return nil, err
	}
	w.in.buf, w.in.from, w.in.length = make([]byte, 0, 4<<10), 0, 0
	get := bytes.Replace(w.request("GET", "", ""), []byte("Accept: application/json, "), []byte("Accept: "), 1)
	if _, err := w.conn.Write(get); err != nil {
		return nil, err
	}
	head := make([]byte, 4<<10)
	n, err := w.conn.Read(head)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(head[:n], []byte("HTTP/1.1 200")) {
		return nil, fmt.Errorf("no stream: %.200s", head[:n])
	}
	w.session = "" // the connection carries its stream, so it can send no further requests
	return w, nil
}

var errInterrupted = errors.New("interrupted")

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return errInterrupted
	}
}
