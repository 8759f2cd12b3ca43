package instance

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/cluster/natsengine"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/seal"
	"mcp-all-in-one/internal/upstream/memory"
)

// An opener connects to the engine once, for all users.
type opener struct {
	opt    natsengine.Options
	mu     sync.Mutex
	engine *natsengine.Engine
}

func (o *opener) open() (cluster.Engine, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.engine == nil {
		e, err := natsengine.Open(o.opt)
		if err != nil {
			return nil, err
		}
		o.engine = e
	}
	return o.engine, nil
}

func (o *opener) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.engine != nil {
		o.engine.Close()
	}
}

// Shared holds the files that this replica shares with the others. It is nil
// outside a cluster; its methods then do nothing.
type Shared struct {
	*cluster.Documents
	// Config is the config file as a copy of the shared text; nil if each
	// replica has its own.
	Config *edit.Copy
	// First is the shared text with which this process started.
	First     []byte
	log       *slog.Logger
	engine    opener
	carriage  carriage
	started   time.Time
	ctx       context.Context // ends when it is closed
	stop      context.CancelFunc
	following sync.WaitGroup
}

// share returns what the replicas of a configuration share; nil without an
// engine.
func share(cfg *config.Config, log *slog.Logger) (*Shared, error) {
	c := &cfg.Cluster
	if !c.Enabled() || c.Engine != config.EngineNATS {
		return nil, nil
	}
	ring, err := seal.NewRing(c.Name, c.Secrets()...)
	if err != nil {
		return nil, err
	}
	opt := natsengine.Options{Cluster: c.Name, Node: c.Node, URLs: c.NATS.URLs, Creds: c.NATS.Creds, Log: log}
	s := &Shared{log: log, started: time.Now(), engine: opener{opt: opt}, carriage: carriage{opt: opt}}
	s.Documents = cluster.NewDocuments(cluster.DocumentsOptions{
		Box: ring.Box(seal.Record), Open: s.engine.open, Log: log,
		Serials: filepath.Join(folders.StateDir(), "cluster-"+c.Name+".json"),
	})
	if c.Shares() && cfg.Path != "" && !cfg.Project {
		s.Config = edit.CopyOf(cfg.Path, config.LoadOptions{})
	}
	return s, nil
}

// Document returns the document of that name, or local if it is not shared.
func (s *Shared) Document(name string, local record.Copy) record.Document {
	if name == record.Config && s.Config == nil {
		return local
	}
	return s.Documents.Document(name, local)
}

// Documents returns the documents that a command changes; nil if they are not
// shared. It connects to the engine only when a document is used.
func Documents(cfg *config.Config) (record.Documents, error) {
	s, err := share(cfg, slog.New(slog.DiscardHandler))
	return s.documents(), err
}

// documents returns the shared documents; nil outside a cluster.
func (s *Shared) documents() record.Documents {
	if s == nil {
		return nil
	}
	return s
}

// Share returns the documents, for the code that writes approvals.
func (s *Shared) Share() (record.Documents, error) { return s.documents(), nil }

// start starts to follow the other replicas.
func (s *Shared) start(in *Instance, learnt *memory.Memory, load config.LoadOptions) {
	if s == nil {
		return
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.Put(record.Pins, folder(record.Pins, pinDir()))
	s.Put(record.Memory, cluster.One(record.Memory, memory.File(memoryPath())))
	if in.Config.Path != "" && !in.Config.Project {
		s.Put(record.Approvals, cluster.One(record.Approvals, in.Config.Approvals().Copy()))
	}
	if s.Config != nil {
		s.Config = edit.CopyOf(in.Config.Path, load)
		if err := s.Config.Know(); err != nil {
			s.log.Warn("reading the shared part of the config file", "err", err)
		}
		s.First = s.Config.Known()
		s.Put(record.Config, cluster.One(record.Config, s.Config))
	}
	s.Follow(record.Pins, in.Set.Repin)
	s.Follow(record.Memory, learnt.Reread)
	s.Follow(record.Tokens, in.Tokens.Read)
	s.Start()
}

// Follow calls do now, and after another process has changed a document whose
// name begins with prefix. Several changes may cause a single call.
func (s *Shared) Follow(prefix string, do func()) {
	if s == nil {
		return
	}
	changed := make(chan struct{}, 1)
	changed <- struct{}{}
	s.Watch(prefix, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	s.following.Go(func() {
		for {
			select {
			case <-changed:
				do()
			case <-s.ctx.Done():
				return
			}
		}
	})
}

func (s *Shared) close() {
	if s == nil {
		return
	}
	s.stop()
	s.following.Wait()
	s.Documents.Close()
	s.carriage.close()
	s.engine.close()
}

// folder returns the Place of documents that are files in one folder.
func folder(prefix, dir string) cluster.Place {
	const ext = ".json"
	return cluster.Place{
		Names: func() (names []string) {
			files, _ := filepath.Glob(filepath.Join(disk.GlobQuote(dir), "*"+ext)) // an unreadable folder counts as empty
			for _, file := range files {
				names = append(names, prefix+strings.TrimSuffix(filepath.Base(file), ext))
			}
			return names
		},
		Copy: func(name string) record.Copy {
			return record.File{Path: filepath.Join(dir, filepath.Base(strings.TrimPrefix(name, prefix))+ext)}
		},
	}
}

// sharedWait is how long a starting replica waits for the changes of the
// others. After that it continues with the state it has.
const sharedWait = 10 * time.Second

// unread reports whether this replica has just started and may not know yet
// which keys were revoked.
func (s *Shared) unread() bool {
	if s == nil || time.Since(s.started) > sharedWait {
		return false
	}
	select {
	case <-s.Read():
		return false
	default:
		return true
	}
}

// openKeys opens a key file. The keys of all replicas are copied into it.
func (s *Shared) openKeys(path string) (*access.Keys, error) {
	if s != nil {
		s.Put(record.Keys, cluster.One(record.Keys, access.KeyFile(path)))
	}
	return access.OpenKeys(path, s.documents())
}
