package oauth

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/safehttp"
)

// clientName is shown on the consent page.
const clientName = "mcp-all-in-one"

// client returns the client to use at the issuer: the client of the configuration
// (registered there beforehand, or described by a document at its own URL), one
// that was registered earlier, or a new one.
func (f *finder) client(ctx context.Context, m *oauthex.AuthServerMeta, redirect string, earlier *client) (client, error) {
	id, secret := f.server.Auth.ClientID, f.server.Auth.ClientSecret.Reveal()
	switch {
	case isDocument(id) && m.ClientIDMetadataDocumentSupported:
		if err := checkDocument(id); err != nil {
			return client{}, err
		}
		return client{ID: id, Redirect: redirect}, nil
	case id != "" && !isDocument(id):
		return client{ID: id, Secret: secret, InHeader: secret != "" && inHeader(m), Redirect: redirect}, nil
	case earlier != nil && earlier.Dynamic && earlier.Redirect == redirect:
		return *earlier, nil
	case m.RegistrationEndpoint == "":
		return client{}, i18n.Errorf("%s does not support dynamic client registration: register a client there and set auth.clientId of %q", "%s 不支持动态客户端注册：请在那里注册客户端，并设置 %q 的 auth.clientId", m.Issuer, f.server.Name)
	}
	return f.register(ctx, m, redirect)
}

// isDocument reports whether a client id is the URL of a client metadata
// document.
func isDocument(id string) bool {
	u, err := url.Parse(id)
	return err == nil && u.Scheme == "https" && u.Host != ""
}

// checkDocument refuses the URL of a document that authorization servers must not
// fetch.
func checkDocument(id string) error {
	u, err := url.Parse(id)
	if err != nil || strings.Trim(u.Path, "/") == "" || u.Fragment != "" {
		return i18n.Errorf("auth.clientId %q is not the URL of a document", "auth.clientId %q 不是文档的 URL", id)
	}
	if err := safehttp.CheckURL(id, safehttp.Options{}); err != nil {
		return i18n.Errorf("auth.clientId %q: %w", "auth.clientId %q：%w", id, err)
	}
	return nil
}

// inHeader reports whether the issuer accepts a secret only in the header.
func inHeader(m *oauthex.AuthServerMeta) bool {
	return !slices.Contains(m.TokenEndpointAuthMethodsSupported, "client_secret_post")
}

// register registers a client, as specified by RFC 7591.
func (f *finder) register(ctx context.Context, m *oauthex.AuthServerMeta, redirect string) (client, error) {
	if err := f.usable(m.RegistrationEndpoint); err != nil {
		return client{}, untrusted("registration_endpoint %q: %v", "registration_endpoint %q：%v", m.RegistrationEndpoint, err)
	}
	method := "none"
	if len(m.TokenEndpointAuthMethodsSupported) > 0 && !slices.Contains(m.TokenEndpointAuthMethodsSupported, "none") {
		method = "client_secret_post"
		if inHeader(m) {
			method = "client_secret_basic"
		}
	}
	answer, err := oauthex.RegisterClient(ctx, m.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, ClientName: clientName, ApplicationType: "native",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: method,
	}, f.fetch)
	if err != nil {
		return client{}, i18n.Errorf("registering at %s: %s", "在 %s 注册失败：%s", m.Issuer, strings.TrimRight(err.Error(), ": \r\n"))
	}
	if answer.ClientID == "" {
		return client{}, untrusted("%s gave no client id", "%s 没有给出客户端 ID", m.Issuer)
	}
	if len(answer.RedirectURIs) > 0 && !slices.Contains(answer.RedirectURIs, redirect) {
		return client{}, untrusted("%s registered another redirect_uri than ours", "%s 注册的 redirect_uri 与请求的不同", m.Issuer)
	}
	return client{
		ID: answer.ClientID, Secret: answer.ClientSecret, Redirect: redirect, Dynamic: true,
		InHeader: answer.ClientSecret != "" && answer.TokenEndpointAuthMethod == "client_secret_basic",
	}, nil
}
