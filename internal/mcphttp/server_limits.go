package mcphttp

import (
	"log/slog"
	"net/http"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
)

// ServerLimits bounds what one client can make us hold. A zero field stands
// for its default.
type ServerLimits struct {
	Body          int64         // bytes of one POST, 10 MiB
	InFlight      int           // requests of one session running at once, 64
	Sessions      int           // 10,000
	PerPrincipal  int           // sessions of one principal, a quarter of all
	Unfinished    int64         // bytes of bodies of one principal that have not arrived whole, 16 times Body
	QueueMessages int           // waiting toward one client, 1,024
	QueueBytes    int           // waiting toward one client, 8 MiB
	ReplayBytes   int           // kept for resumption, 1 MiB per session
	ReplayFor     time.Duration // kept for resumption, 5 min
	SessionIdle   time.Duration // a session without a stream or a call, 1 h
	BodyIdle      time.Duration // 30 s for each 32 KiB of a body
	WriteIdle     time.Duration // 30 s for each 64 KiB of an answer
	KeepAlive     time.Duration // 25 s
	HeaderBytes   int           // 64 KiB
	ReadHeader    time.Duration // 10 s
	Scan          jsonrpc.ScanLimits
	Hits          *config.Hits // counts what is reached; nil counts nothing
	// Shares says whether PerPrincipal and Unfinished bind a principal; nil binds
	// everybody.
	Shares func(principal string) bool
}

func (l *ServerLimits) bound(principal string) bool {
	return principal != "" && (l.Shares == nil || l.Shares(principal))
}

// countRefused counts a message that was refused for its size.
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
	return l
}

func or[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// HTTPServer is an http.Server for h that keeps to the limits which net/http
// enforces itself.
func HTTPServer(h http.Handler, lim ServerLimits, log *slog.Logger) *http.Server {
	lim = lim.orDefaults()
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: lim.ReadHeader,
		MaxHeaderBytes:    lim.HeaderBytes,
		IdleTimeout:       2 * time.Minute,
		ConnState:         spareDescriptors,
		// Nothing is answered before the guard has seen it, "OPTIONS *" neither.
		DisableGeneralOptionsHandler: true,
	}
	if log != nil {
		srv.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	}
	return srv
}
