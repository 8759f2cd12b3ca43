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
		api.NewRoute("POST", "login", api.ScopeNone, api.Reading(l.postLogin)),
		api.NewRoute("POST", "logout", api.ScopeRead, l.postLogout),
		api.NewRoute("GET", "session", api.ScopeRead, func(r *api.Request) (any, error) { return l.sessionOf(r.Who), nil }),
		api.NewRoute("POST", "codes", api.ScopeAdmin, func(r *api.Request) (any, error) { return map[string]string{"code": l.NewCode(r.Who)}, nil }),
	}
}

func (l *Logins) postLogin(r *api.Request, body struct{ Code string }) (any, error) {
	session, who, err := l.redeem(r.Context(), body.Code, sourceOf(r.RemoteAddr))
	switch {
	case errors.Is(err, errTooMany):
		return api.HandlerFunc(func(w http.ResponseWriter, r *api.Request) {
			w.Header().Set("Retry-After", "60")
			api.Fail(w, r.Request, http.StatusTooManyRequests, "too_many", i18n.Why(err))
		}), nil
	case errors.Is(err, errWrongCode):
		return nil, api.Refuse(http.StatusUnauthorized, "code", i18n.Why(err))
	case err != nil:
		l.opt.Log.Warn("login not saved", "err", err)
	}
	return api.HandlerFunc(func(w http.ResponseWriter, r *api.Request) {
		setCookie(w, r, session, int(loginLife.Seconds()))
		api.Reply(w, http.StatusOK, l.sessionOf(who))
	}), nil
}

func setCookie(w http.ResponseWriter, r *api.Request, session string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: cookieFor(r.Request), Value: session, Path: "/", HttpOnly: true,
		Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode, MaxAge: maxAge})
}

func (l *Logins) postLogout(r *api.Request) (any, error) {
	if err := l.end(r.Request); err != nil {
		l.opt.Log.Warn("logout not saved", "err", err)
	}
	return api.HandlerFunc(func(w http.ResponseWriter, r *api.Request) {
		setCookie(w, r, "", -1)
		w.WriteHeader(http.StatusNoContent)
	}), nil
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
