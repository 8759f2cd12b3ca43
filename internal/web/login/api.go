package login

import (
	"errors"
	"net/http"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

// Routes returns the routes for logging in and out.
func (l *Logins) Routes() []api.Route {
	return []api.Route{
		api.NewRoute("POST", "login", api.ScopeNone, l.postLogin),
		api.NewRoute("POST", "logout", api.ScopeRead, l.postLogout),
		api.NewRoute("GET", "session", api.ScopeRead, l.getSession),
		api.NewRoute("POST", "codes", api.ScopeAdmin, l.postCode),
	}
}

func (l *Logins) postLogin(w http.ResponseWriter, r *api.Request) {
	var body struct {
		Code string `json:"code"`
	}
	if !r.Read(w, &body) {
		return
	}
	session, who, err := l.redeem(body.Code, sourceOf(r.RemoteAddr))
	switch {
	case errors.Is(err, errTooMany):
		w.Header().Set("Retry-After", "60")
		api.Fail(w, r.Request, http.StatusTooManyRequests, "too_many", i18n.Why(err))
		return
	case errors.Is(err, errWrongCode):
		api.Fail(w, r.Request, http.StatusUnauthorized, "code", i18n.Why(err))
		return
	case err != nil:
		l.opt.Log.Warn("login not saved", "err", err)
	}
	http.SetCookie(w, &http.Cookie{Name: cookieFor(r.Request), Value: session, Path: "/", HttpOnly: true,
		Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode, MaxAge: int(loginLife.Seconds())})
	api.Reply(w, http.StatusOK, l.sessionOf(who))
}

func (l *Logins) postLogout(w http.ResponseWriter, r *api.Request) {
	if err := l.end(r.Request); err != nil {
		l.opt.Log.Warn("logout not saved", "err", err)
	}
	http.SetCookie(w, &http.Cookie{Name: cookieFor(r.Request), Path: "/", HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode, MaxAge: -1})
	w.WriteHeader(http.StatusNoContent)
}

type sessionBody struct {
	Name     string `json:"name"`
	Scope    string `json:"scope"`
	Version  string `json:"version"`
	Endpoint string `json:"endpoint"`
}

func (l *Logins) sessionOf(who access.Principal) sessionBody {
	return sessionBody{who.Name, api.ScopeOf(who), l.opt.Version, l.opt.Endpoint}
}

func (l *Logins) getSession(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, l.sessionOf(r.Who))
}

func (l *Logins) postCode(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, map[string]string{"code": l.NewCode(r.Who)})
}
