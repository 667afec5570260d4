package tunneld_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock/internal/process/keyid"
	"paddock/internal/tunneld"
	"paddock/wire"
)

// socketPath is short: systems allow about 100 bytes.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tun")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

func code(err error) wire.Code {
	if e := new(wire.Error); errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// A process that can open the control socket lists the connected clients and kicks them: by name,
// id, or the beginning of one. A kicked client comes back when its time is over, not before.
func TestControlSocket(t *testing.T) {
	s := newStage(t)
	bound, ended := s.connect(t.Context(), "127.0.0.1:1", "", nil)
	<-bound
	if info, err := os.Stat(s.control); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the socket: %v %v", info, err)
	}
	o, err := tunneld.DialControl(t.Context(), s.control)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	sessions := func() []tunneld.SessionLine {
		list, err := o.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	list := sessions()
	if len(list) != 1 || list[0].Name != "a" || list[0].ID != s.client.ID.String() || list[0].Address == "" || list[0].BytesIn == 0 ||
		len(list[0].Names) != 1 || list[0].Names[0] != "app.example" || list[0].NamesAll != 1 {
		t.Fatalf("%+v", list)
	}
	before := list[0].Address
	for _, who := range []string{"", "b", s.client.ID.String()[:7], "aaaaaaaa"} {
		if _, err := o.Kick(t.Context(), who, time.Second); code(err) != wire.NotFound {
			t.Errorf("kick %q: %v", who, err)
		}
	}
	for _, span := range []time.Duration{-time.Second, 25 * time.Hour} {
		if _, err := o.Kick(t.Context(), "a", span); code(err) != wire.InvalidArgument {
			t.Errorf("kick for %v: %v", span, err)
		}
	}
	const span = 200 * time.Millisecond
	begin := time.Now()
	k, err := o.Kick(t.Context(), s.client.ID.String()[:8], span)
	if err != nil || k.Name != "a" || !k.Connected {
		t.Fatalf("kick: %+v, %v", k, err)
	}
	for list := sessions(); len(list) == 0 || list[0].Address == before; list = sessions() {
		select {
		case err := <-ended:
			t.Fatalf("the client has ended: %v", err)
		default:
		}
	}
	if back := time.Since(begin); back < span {
		t.Errorf("it was back after %v", back)
	}
	if k, err = o.Kick(t.Context(), "a", 0); err != nil || !k.Connected {
		t.Errorf("a kick for no time: %+v, %v", k, err)
	}
}

// Over the link, only clients that are listed as admin are operators.
func TestOperatorsAreListed(t *testing.T) {
	s := newStage(t)
	admin, err := keyid.Make(s.path("admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("tunnel:\n  serve: {listen: '127.0.0.1:0', http: '127.0.0.1:0', key: server.key}\n" +
		"  clients: [{name: a, id: " + s.client.ID.String() + ", hosts: [app.example]}, {name: op, id: " + admin.ID.String() + ", admin: true}]\n")
	s.reload()
	dial := func(key string) (*tunneld.Operator, error) {
		return tunneld.DialOperator(t.Context(), &tunneld.Connect{
			Server: s.server.Link().String(), ServerID: s.server.ID(), Pinned: true, Key: s.path(key),
		}, "", "")
	}
	o, err := dial("admin.key")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := o.Sessions(t.Context()); err != nil {
		t.Error(err)
	}
	other, err := dial("client.key")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Sessions(t.Context()); code(err) != wire.PermissionDenied {
		t.Errorf("list by another client: %v", err)
	}
	if _, err := other.Kick(t.Context(), "op", time.Second); code(err) != wire.PermissionDenied {
		t.Errorf("kick by another client: %v", err)
	}
	s.list("app.example") // the operator is listed no more
	s.reload()
	if _, err := o.Sessions(context.WithoutCancel(t.Context())); err == nil {
		t.Error("an operator that is listed no more lists")
	}
}
