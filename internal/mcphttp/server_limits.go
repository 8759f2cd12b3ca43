package mcphttp

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/weight"
)

// ServerLimits bounds the resources that one client can use. Zero fields mean the
// default.
type ServerLimits struct {
	Body          int64         // bytes of one POST, 10 MiB
	InFlight      int           // requests of one session running at once, 64
	Sessions      int           // 10,000
	PerPrincipal  int           // sessions of one principal, a quarter of all
	Unfinished    int64         // bytes of unfinished requests of one principal, 16 times Body
	QueueMessages int           // queued for one client, 1,024
	QueueBytes    int           // queued for one client, 8 MiB
	ReplayBytes   int           // kept for resumption, 1 MiB per session
	ReplayFor     time.Duration // kept for resumption, 5 min
	SessionIdle   time.Duration // a session without a stream or a call, 1 h
	BodyIdle      time.Duration // 30 s for each 32 KiB of a body
	WriteIdle     time.Duration // 30 s for each 64 KiB of a response
	KeepAlive     time.Duration // 25 s
	HeaderBytes   int           // 64 KiB
	ReadHeader    time.Duration // 10 s
	Scan          jsonrpc.ScanLimits
	Hits          *config.Hits // counts reached limits; nil counts nothing
	Weights       *weight.Book // counts what Unfinished bounds; nil counts for this server alone
	// Shares reports whether PerPrincipal and Unfinished apply to a principal; nil
	// applies them to all.
	Shares func(principal string) bool
	// Others returns how many sessions a principal has at other replicas, which
	// PerPrincipal counts, too; Count is told how many it has here. Both must not
	// block, and are nil if only the sessions here count.
	Others func(principal string) int
	Count  func(principal string, n int)
}

// replayShare is how many times ReplayBytes all sessions of one principal keep.
const replayShare = 64

func (l *ServerLimits) others(principal string) int {
	if l.Others == nil {
		return 0
	}
	return l.Others(principal)
}

func (l *ServerLimits) bound(principal string) bool {
	return principal != "" && (l.Shares == nil || l.Shares(principal))
}

// unread counts an answer for a principal until it is read, if it is large.
func (l *ServerLimits) unread(principal string, n int) *weight.Answer {
	if n < weight.Large || !l.bound(principal) {
		return nil
	}
	return l.Weights.Answer(principal, n)
}

// countRefused counts a message that was refused because of its size.
func (l *ServerLimits) countRefused(err *jsonrpc.Error) {
	if err.Limit != "" {
		l.Hits.Add(err.Limit)
	}
}

func (l ServerLimits) orDefaults() ServerLimits {
	or(&l.Body, 10<<20)
	or(&l.InFlight, 64)
	or(&l.Sessions, 10_000)
	or(&l.PerPrincipal, config.Share(0, l.Sessions))
	or(&l.Unfinished, 16*l.Body)
	or(&l.QueueMessages, 1024)
	or(&l.QueueBytes, 8<<20)
	or(&l.ReplayBytes, 1<<20)
	or(&l.ReplayFor, 5*time.Minute)
	or(&l.SessionIdle, time.Hour)
	or(&l.BodyIdle, 30*time.Second)
	or(&l.WriteIdle, 30*time.Second)
	or(&l.KeepAlive, 25*time.Second)
	or(&l.HeaderBytes, 64<<10)
	or(&l.ReadHeader, 10*time.Second)
	l.Weights = cmp.Or(l.Weights, new(weight.Book))
	return l
}

func or[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// HTTPServer returns an http.Server for h with the limits that net/http enforces
// itself.
func HTTPServer(h http.Handler, lim ServerLimits, log *slog.Logger) *http.Server {
	lim = lim.orDefaults()
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: lim.ReadHeader,
		MaxHeaderBytes:    lim.HeaderBytes,
		IdleTimeout:       2 * time.Minute,
		ConnState:         spareDescriptors,
		// The guard must see every request, "OPTIONS *" too.
		DisableGeneralOptionsHandler: true,
	}
	http1.Bound(srv, lim.BodyIdle, lim.WriteIdle)
	if log != nil {
		srv.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	}
	return srv
}
