package tunneld

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"iter"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/process/keyid"
	"paddock/wire"
)

// A role that takes the place of another one has the clients of the file, or the last ones if the
// file has a fault. The section serve is that of the start.
func TestLatest(t *testing.T) {
	settings := func(address, client string) *Settings {
		return &Settings{Serve: Serve{HTTP: address}, Clients: []Peer{{Name: client}}}
	}
	file, fault := settings("127.0.0.1:2", "second"), error(nil)
	r := NewRole(ServerOptions{
		Settings: settings("127.0.0.1:1", "first"), Logger: slog.New(slog.DiscardHandler),
		Reload: func() (*Settings, error) { return file, fault },
	})
	r.conns = func() iter.Seq[*wire.Conn] { return func(func(*wire.Conn) bool) {} }
	expect := func(client string) {
		t.Helper()
		if s := r.Latest(); s.Serve.HTTP != "127.0.0.1:1" || len(s.Clients) != 1 || s.Clients[0].Name != client {
			t.Errorf("%s, %+v, want the client %s", s.Serve.HTTP, s.Clients, client)
		}
	}
	expect("second")
	fault = errors.New("a fault")
	expect("first")
	fault = nil
	r.reload(true)
	fault = errors.New("a fault")
	expect("second")
}

// The certificate's files are read again with the settings. Other files need a restart, as any
// change of the section serve.
func TestReloadedCertificate(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) (serve Serve, leaf []byte) {
		key, err := keyid.Make(filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		leaf = key.Certificate.Certificate[0]
		serve.Cert, serve.Key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
		if err := os.WriteFile(serve.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}), 0o600); err != nil {
			t.Fatal(err)
		}
		return serve, leaf
	}
	serve, first := write("a")
	other, _ := write("b")
	file := &Settings{Serve: serve}
	r := NewRole(ServerOptions{Settings: &Settings{Serve: serve}, Logger: slog.New(slog.DiscardHandler), Reload: func() (*Settings, error) { return file, nil }})
	r.conns = func() iter.Seq[*wire.Conn] { return func(func(*wire.Conn) bool) {} }
	expect := func(leaf []byte) {
		t.Helper()
		if r.reload(true); !bytes.Equal(r.visitor.Load().Certificate[0], leaf) {
			t.Error("another certificate is in use")
		}
	}
	expect(first)
	file = &Settings{Serve: other}
	expect(first)
	file = &Settings{Serve: serve}
	if err := os.Remove(serve.Key); err != nil {
		t.Fatal(err)
	}
	_, second := write("a")
	expect(second)
}

// A file that changes after the role was made, and before it runs, is read again.
func TestChangedBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "paddock.yaml")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("tunnel: {}\n")
		ctx, cancel := context.WithTimeout(t.Context(), 2*watchEvery)
		defer cancel()
		read := false
		r := NewRole(ServerOptions{
			Settings: &Settings{}, File: file, Logger: slog.New(slog.DiscardHandler),
			Reload: func() (*Settings, error) { read = true; cancel(); return nil, errors.New("a fault") },
		})
		write("tunnel: {clients: []}\n")
		if err := r.watch(ctx); err != nil || !read {
			t.Errorf("read again: %t, %v", read, err)
		}
	})
}

// A client whose listing expires while it is connected is disconnected, so that others can have its
// names.
func TestExpiredClientsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := []Peer{{Name: "past", ID: keyid.ID{1}, Expires: time.Now().Add(watchEvery + 1)}, {Name: "stays", ID: keyid.ID{2}}}
		r := NewRole(ServerOptions{Settings: &Settings{Clients: clients}, Logger: slog.New(slog.DiscardHandler)})
		var conns []*wire.Conn
		for i := range clients {
			near, far := net.Pipe()
			defer far.Close()
			c, err := wire.AcceptConn(near, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetIdentity(member{clients[i].Name, clients[i].proof()})
			conns = append(conns, c)
		}
		r.conns = func() iter.Seq[*wire.Conn] { return slices.Values(conns) }
		ctx, cancel := context.WithTimeout(t.Context(), 2*watchEvery+1)
		defer cancel()
		if err := r.watch(ctx); err != nil {
			t.Error(err)
		}
		for i, gone := range []bool{true, false} {
			if (conns[i].Err() != nil) != gone {
				t.Errorf("%s: %v", clients[i].Name, conns[i].Err())
			}
		}
	})
}
