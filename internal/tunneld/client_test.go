package tunneld

import (
	"errors"
	"strings"
	"testing"

	"paddock/internal/process/keyid"
	"paddock/wire"
)

// An error of the server is reported with its remedy, and keeps its identity.
func TestExplained(t *testing.T) {
	keyed, token := &Client{key: &keyid.Key{ID: keyid.ID{7}}}, &Client{}
	for _, c := range []struct {
		client *Client
		code   wire.Code
		want   string
	}{
		{keyed, wire.Unauthenticated, "whose id is " + keyid.ID{7}.String()},
		{token, wire.Unauthenticated, "does not take this token"},
		{keyed, wire.PermissionDenied, "keeps this client out"},
		{token, wire.StaleEpoch, "give each process a key of its own (--key)"},
		{keyed, wire.Unavailable, "UNAVAILABLE"},
	} {
		said := &wire.Error{Code: c.code}
		if err := c.client.explained(said); !errors.Is(err, error(said)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.code, err)
		}
	}
}

// Missing files, and settings that would admit strangers, are faults of a file that is otherwise
// right.
func TestSettingsFaults(t *testing.T) {
	s, err := Read("f.yaml", []byte("tunnel:\n  serve: {listen: '0.0.0.0:1', admin: '0.0.0.0:2', tls_crt: nowhere.crt, tls_key: nowhere.key}\n"+
		"  connect: {server: 'a:1', token_file: nowhere.token, root_ca: nowhere.pem}\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := errors.Join(s.Faults()...)
	if all == nil {
		t.Fatal("no faults")
	}
	for _, want := range []string{"no clients are configured", "serve.admin: ", "tls_crt and tls_key: open nowhere.crt", "token_file: open nowhere.token", "root_ca: open nowhere.pem"} {
		if !strings.Contains(all.Error(), want) {
			t.Errorf("no %q in\n%v", want, all)
		}
	}
	if s, err = Read("f.yaml", []byte("tunnel: {clients: [{name: a, token_sha256: "+strings.Repeat("7", 64)+"}], connect: {server: 'a:1'}}\n"), nil, nil); err != nil || s.Faults() != nil {
		t.Errorf("%v, %v", err, s.Faults())
	}
}
