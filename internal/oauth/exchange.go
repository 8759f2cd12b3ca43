package oauth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"mcp-all-in-one/internal/i18n"
)

// An exchange is a request to the token endpoint of a grant's issuer.
type exchange struct {
	fetch *http.Client
	grant *grant
}

func (x *exchange) config(authorize string) *oauth2.Config {
	style := oauth2.AuthStyleInParams
	if x.grant.Client.InHeader {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: x.grant.Client.ID, ClientSecret: x.grant.Client.Secret,
		Endpoint:    oauth2.Endpoint{AuthURL: authorize, TokenURL: x.grant.TokenURL, AuthStyle: style},
		RedirectURL: x.grant.Client.Redirect, Scopes: x.grant.Scopes,
	}
}

// context makes token requests use our HTTP client, and adds the resource to
// them.
func (x *exchange) context(ctx context.Context) context.Context {
	c := *x.fetch
	c.Transport = forResource{x.fetch.Transport, x.grant.Resource}
	return context.WithValue(ctx, oauth2.HTTPClient, &c)
}

// redeem exchanges an authorization code for a token.
func (x *exchange) redeem(ctx context.Context, code, verifier string) error {
	token, err := x.config("").Exchange(x.context(ctx), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return i18n.Errorf("getting a token: %w", "获取令牌失败：%w", plainly(err))
	}
	return x.take(token)
}

// refresh gets the next token with the refresh token.
func (x *exchange) refresh(ctx context.Context) error {
	token, err := x.config("").TokenSource(x.context(ctx), &oauth2.Token{RefreshToken: x.grant.Refresh}).Token()
	if err != nil {
		return err
	}
	return x.take(token)
}

// take checks that a token is usable and stores it in the grant.
func (x *exchange) take(token *oauth2.Token) error {
	if !strings.EqualFold(token.Type(), "Bearer") {
		return untrusted("unsupported token type %q", "不支持的令牌类型 %q", token.TokenType)
	}
	for i := range len(token.AccessToken) {
		if c := token.AccessToken[i]; c <= ' ' || c > '~' {
			return untrusted("the token has characters that are not allowed in a header", "令牌含有请求头中不允许的字符")
		}
	}
	g := x.grant
	g.Access, g.Obtained, g.Revoked = token.AccessToken, time.Now(), false
	if token.RefreshToken != "" {
		g.Refresh = token.RefreshToken
	}
	g.Expiry = token.Expiry
	if token.ExpiresIn < 0 {
		g.Expiry = time.Time{} // the expiry is unknown; a 401 will tell
	}
	if scope, ok := token.Extra("scope").(string); ok && scope != "" {
		g.Scopes = strings.Fields(scope)
	}
	g.Wanted = nil
	return nil
}

// revoke revokes the grant at the issuer, as specified by RFC 7009.
func (x *exchange) revoke(ctx context.Context) error {
	g := x.grant
	if g.RevokeURL == "" || g.Revoked {
		return nil
	}
	token := cmp.Or(g.Refresh, g.Access)
	form := url.Values{"token": {token}}
	if !g.Client.InHeader {
		form.Set("client_id", g.Client.ID)
		if g.Client.Secret != "" {
			form.Set("client_secret", g.Client.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return i18n.Errorf("revoking the grant: %w", "撤销授权失败：%w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if g.Client.InHeader {
		req.SetBasicAuth(url.QueryEscape(g.Client.ID), url.QueryEscape(g.Client.Secret))
	}
	resp, err := x.fetch.Do(req)
	if err != nil {
		return i18n.Errorf("revoking the grant: %w", "撤销授权失败：%w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return i18n.Errorf("revoking the grant: %s answered %d", "撤销授权失败：%s 返回 %d", g.Issuer, resp.StatusCode)
	}
	return nil
}

// denied reports whether the issuer will never refresh this grant again.
func denied(err error) bool {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.ErrorCode {
	case "invalid_grant", "invalid_client", "unauthorized_client":
		return true
	}
	return false
}

// plainly removes the body of the response from an error, because the body may
// contain tokens.
func plainly(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return err
	}
	if answer.ErrorCode != "" {
		return i18n.Errorf("the authorization server refused: %v", "授权服务器拒绝了请求：%v", plainCode(answer.ErrorCode))
	}
	return i18n.Errorf("the authorization server answered %d", "授权服务器返回 %d", answer.Response.StatusCode)
}

// forResource adds the resource to token requests, as RFC 8707 requires.
type forResource struct {
	base     http.RoundTripper
	resource string
}

func (t forResource) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	body = append(append(body, "&resource="...), url.QueryEscape(t.resource)...)
	r = r.Clone(r.Context())
	r.Body, r.GetBody, r.ContentLength = io.NopCloser(bytes.NewReader(body)), nil, int64(len(body))
	return t.base.RoundTrip(r)
}
