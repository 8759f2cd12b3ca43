package place_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/cluster/enginetest"
	"mcp-all-in-one/internal/cluster/place"
	"mcp-all-in-one/internal/seal"
	"mcp-all-in-one/test/figures"
)

// servers are the servers of every schedule.
var servers = map[string]place.Server{
	"s/plain":  {},
	"s/other":  {},
	"s/fenced": {Fence: true},
	"s/gpu":    {On: map[string]string{"gpu": "yes"}},
}

// A gate is the connection of one replica to the engine.
type gate struct {
	cluster.Engine
	mu   sync.Mutex
	cut  bool
	ends []context.CancelFunc
}

var errCut = errors.New("cut off")

func (g *gate) set(cut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut = cut
	for _, end := range g.ends {
		end()
	}
	g.ends = nil
}

func (g *gate) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cut {
		return errCut
	}
	return nil
}

func (g *gate) Get(ctx context.Context, bucket, key string) (cluster.Value, error) {
	if err := g.err(); err != nil {
		return cluster.Value{}, err
	}
	return g.Engine.Get(ctx, bucket, key)
}

func (g *gate) Put(ctx context.Context, bucket, key string, data []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if err := g.err(); err != nil {
		return 0, err
	}
	return g.Engine.Put(ctx, bucket, key, data, revision, ttl)
}

func (g *gate) Delete(ctx context.Context, bucket, key string, revision uint64) error {
	if err := g.err(); err != nil {
		return err
	}
	return g.Engine.Delete(ctx, bucket, key, revision)
}

func (g *gate) Watch(ctx context.Context, bucket, prefix string, see func(cluster.Value)) error {
	if err := g.err(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	g.mu.Lock()
	g.ends = append(g.ends, cancel)
	g.mu.Unlock()
	return g.Engine.Watch(ctx, bucket, prefix, see)
}

// A world is several replicas with one engine, and the running copies of
// servers.
type world struct {
	engine *enginetest.Memory
	log    *slog.Logger
	boots  int
	all    []*replica

	mu      sync.Mutex
	running map[string]map[string]uint64 // epochs by server and boot
	epochs  map[string]string            // which run of a replica started a copy in an epoch of a server
	wrong   []string
}

type replica struct {
	w        *world
	node     string
	boot     string
	box      *seal.Box
	gate     *gate
	draining atomic.Bool
	kill     context.CancelFunc // nil if it is dead
	members  *cluster.Members
	keeper   *place.Keeper
	over     sync.WaitGroup
}

func newWorld(n int, box *seal.Box) *world {
	w := &world{
		engine: enginetest.New(), log: slog.New(slog.DiscardHandler),
		running: map[string]map[string]uint64{}, epochs: map[string]string{},
	}
	for i := range n {
		r := &replica{w: w, node: string(rune('a' + i)), box: box, gate: &gate{Engine: w.engine}}
		w.all = append(w.all, r)
		r.start()
	}
	return w
}

// self is the description of a replica in one of its runs. The watch of a
// killed run may still ask for it while the next run starts.
func (r *replica) self(boot string, started time.Time) cluster.Member {
	m := cluster.Member{Node: r.node, Boot: boot, Started: started, Address: r.node + ":1", State: cluster.Ready, Weight: 1}
	if r.node != "a" {
		m.Labels = map[string]string{"gpu": "yes"}
	}
	if r.draining.Load() {
		m.State = cluster.Draining
	}
	return m
}

func (r *replica) start() {
	if r.kill != nil {
		return
	}
	r.w.boots++
	r.boot = fmt.Sprint("boot", r.w.boots)
	r.draining.Store(false)
	ctx, kill := context.WithCancel(context.Background())
	r.kill = kill
	started := time.Now()
	boot := r.boot
	self := func() cluster.Member { return r.self(boot, started) }
	r.members = cluster.Join(ctx, cluster.Options{Box: r.box, Log: r.w.log, Self: self, Open: func() (cluster.Engine, func(), error) { return r.gate, func() {}, nil }})
	r.keeper = place.Open(ctx, place.Options{Members: r.members, Self: self, Box: r.box, Log: r.w.log})
	r.keeper.Want(servers)
	keeper := r.keeper
	for name := range servers {
		r.over.Go(func() { r.w.serve(ctx, keeper, boot, name) })
	}
}

// end kills the replica.
func (r *replica) end() {
	if r.kill == nil {
		return
	}
	r.kill()
	r.kill = nil
	r.keeper.Close()
	r.members.Close()
	r.over.Wait() // its child processes end soon
}

// bury lets the other replicas know that this one is dead.
func (r *replica) bury() {
	for _, other := range r.w.all {
		if r.kill == nil && other.kill != nil {
			other.members.Bury(context.Background(), r.node, r.boot)
		}
	}
}

const (
	childDies  = 700 * time.Millisecond // after its gateway was killed
	inFlight   = 2 * time.Second        // how long the calls of an ending copy take
	everything = 90 * time.Second       // by then every server must be in its place
)

// serve starts and stops the copies of a server as a replica does.
func (w *world) serve(ctx context.Context, k *place.Keeper, boot, name string) {
	for ctx.Err() == nil {
		spot, change, _ := k.Where(name)
		if spot.Kind == place.Here && k.Begin(name, spot.Epoch) {
			w.began(name, boot, spot.Epoch)
			select {
			case <-change:
				if now, _, _ := k.Where(name); !now.Hurry {
					wait(ctx, inFlight)
				}
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				wait(context.Background(), childDies)
			}
			w.ended(name, boot)
			k.End(name)
			continue
		}
		select {
		case <-change:
		case <-ctx.Done():
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

func (w *world) began(name, boot string, epoch uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := fmt.Sprint(name, " ", epoch)
	if owner, known := w.epochs[key]; known && owner != boot {
		w.wrong = append(w.wrong, fmt.Sprintf("epoch %s is of %s and of %s", key, owner, boot))
	}
	w.epochs[key] = boot
	if w.running[name] == nil {
		w.running[name] = map[string]uint64{}
	}
	if servers[name].Fence && len(w.running[name]) > 0 {
		w.wrong = append(w.wrong, fmt.Sprintf("%s starts on %s and runs: %v", name, boot, w.running[name]))
	}
	w.running[name][boot] = epoch
}

func (w *world) ended(name, boot string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running[name], boot)
}

// check returns what is wrong in a world after a quiet period.
func (w *world) check() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	wrong := w.wrong
	for name := range servers {
		if len(w.running[name]) != 1 {
			wrong = append(wrong, fmt.Sprintf("%s runs: %v", name, w.running[name]))
			continue
		}
		for _, r := range w.all {
			spot, _, _ := r.keeper.Where(name)
			here, isHere := w.running[name][r.boot]
			switch {
			case isHere && (spot.Kind != place.Here || spot.Epoch != here), !isHere && spot.Kind != place.There,
				!isHere && w.running[name][spot.Owner.Boot] != spot.Epoch:
				wrong = append(wrong, fmt.Sprintf("%s is at %+v for %s, and runs: %v", name, spot, r.boot, w.running[name]))
			}
		}
	}
	return strings.Join(wrong, "\n")
}

// A step is one event of one replica, and the pause after it.
type step struct {
	What string
	Who  int
	Then time.Duration
}

func (w *world) do(s step) {
	r := w.all[s.Who]
	switch s.What {
	case "kill":
		r.end()
	case "found dead":
		r.end()
		r.bury()
	case "start":
		r.start()
	case "cut":
		r.gate.set(true)
	case "heal":
		r.gate.set(false)
	case "watch breaks":
		r.gate.set(r.gate.err() != nil)
	case "drain":
		r.draining.Store(true)
		r.members.Changed()
	}
	time.Sleep(s.Then) // in bubble time
}

// play runs a schedule, and returns what went wrong.
func play(t *testing.T, steps []step) (wrong string) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(3, seal.Random().Box(seal.Record))
		for _, s := range steps {
			w.do(s)
		}
		for _, r := range w.all {
			r.gate.set(false)
			if r.draining.Load() {
				r.end()
			}
			r.start()
		}
		time.Sleep(everything)
		synctest.Wait()
		wrong = w.check()
		for _, r := range w.all {
			r.end()
		}
	})
	return wrong
}

// TestGivenWhileCutOff plays a schedule in which a fenced server is given to a
// replica that is cut off. When that one learns of it, another replica, whose watch
// broke, may be about to take the server.
func TestGivenWhileCutOff(t *testing.T) {
	for range 20 { // the order of events at the same time is random
		wrong := play(t, []step{
			{"drain", 2, 12 * time.Second}, {"drain", 0, 87 * time.Millisecond}, {"cut", 1, 3645 * time.Millisecond},
			{"kill", 2, 18901 * time.Millisecond}, {"start", 2, 9617 * time.Millisecond}, {"watch breaks", 2, 2 * time.Millisecond},
		})
		if wrong != "" {
			t.Fatal(wrong)
		}
	}
}

// TestSecretChanged changes the secret as the documentation says, with one restart
// after the other: all servers run on, and all replicas find them.
func TestSecretChanged(t *testing.T) {
	t.Run("cluster/place/secret changed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			old, fresh := seal.NewSecret(), seal.NewSecret()
			box := func(secrets ...string) *seal.Box {
				ring, err := seal.NewRing("team", secrets...)
				if err != nil {
					t.Fatal(err)
				}
				return ring.Box(seal.Record)
			}
			w := newWorld(3, box(old))
			time.Sleep(everything)
			if _, err := w.engine.Put(t.Context(), "place", "s/removed", []byte(box(old).SealAs("place/s/removed", []byte("{}"))), 0, 0); err != nil {
				t.Fatal(err)
			}
			for _, secrets := range [][]string{{old, fresh}, {fresh, old}, {fresh}} {
				for _, r := range w.all {
					r.draining.Store(true)
					r.members.Changed()
					time.Sleep(10 * time.Second)
					r.end()
					r.box = box(secrets...)
					r.start()
					time.Sleep(20 * time.Second)
					synctest.Wait()
					if wrong := w.check(); wrong != "" {
						t.Errorf("%s started again with %d secrets: %s", r.node, len(secrets), wrong)
					}
				}
			}
			v, err := w.engine.Get(t.Context(), "place", "s/removed")
			if _, ok := box(fresh).OpenAs("place/s/removed", string(v.Data)); err != nil || !ok {
				t.Errorf("the record of a server that was removed cannot be read: %v", err)
			}
			for _, r := range w.all {
				r.end()
			}
		})
	})
}

// In every schedule, an epoch has one owner, a fenced server never has two
// copies, and in the end every server runs once.
func TestModel(t *testing.T) {
	t.Run("fault/T54", func(t *testing.T) {
		schedules := 0
		rapid.Check(t, func(rt *rapid.T) {
			schedules++
			steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
				return step{
					rapid.SampledFrom([]string{"kill", "found dead", "start", "cut", "heal", "watch breaks", "drain", "nothing"}).Draw(rt, "what"),
					rapid.IntRange(0, 2).Draw(rt, "who"),
					time.Duration(rapid.IntRange(0, 12_000).Draw(rt, "then")) * time.Millisecond,
				}
			}), 0, 12).Draw(rt, "steps")
			if wrong := play(t, steps); wrong != "" {
				rt.Fatalf("%s", wrong)
			}
		})
		figures.Report(t, "T54", "placement, %d schedules of kill, pause, cut, heal and drain on three replicas: one owner per epoch, never two copies of a fenced server, every server runs once in the end", schedules)
	})
}

// A schedule takes a tenth of a second with the race detector; make torture plays
// 10,000.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil { // as a default: flags are parsed later
		panic(err)
	}
	os.Exit(figures.Run(m))
}
