package main

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/process/config"
	"paddock/internal/process/keyring"
)

func lanOf(text string) func() (netip.Addr, error) {
	return func() (netip.Addr, error) { return private(netip.MustParseAddr(text)) }
}

// --public listens on the private address and adds a key for phones, which may send positions and
// nothing else, and stays the same in a data directory. What was set otherwise is kept.
func TestMakePublic(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first := ""
	for range 2 {
		cfg := config.Default()
		p, err := makePublic(cfg, dir, lanOf("192.168.1.23"))
		if err != nil || cfg.HTTP.Listen != "192.168.1.23:8080" || p.operator != "" || cfg.Validate() != nil {
			t.Fatalf("%+v, %v, %s", p, err, cfg.HTTP.Listen)
		}
		if keys := cfg.Access.Keys; len(keys) != 1 || keys[0].SHA256 != keyring.DigestOf(p.key) || strings.Join(keys[0].Verbs, " ") != "positions:write" {
			t.Errorf("%+v", keys)
		}
		if first == "" {
			first = p.key
		}
		if p.key != first {
			t.Error("another key after a restart")
		}
		var out bytes.Buffer
		p.show(&out, "8080")
		if strings.Contains(out.String(), first) || !strings.Contains(out.String(), p.file) || !strings.Contains(out.String(), "http://192.168.1.23:8080/in/osmand/KEY") {
			t.Errorf("printed where it may be logged: %s", out.String())
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "secrets", phonesKey)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	cfg := config.Default()
	p, err := makePublic(cfg, "", lanOf("10.0.0.5"))
	var out bytes.Buffer
	p.show(&out, "8080")
	if err != nil || len(cfg.Access.Keys) != 2 || !strings.Contains(out.String(), "http://10.0.0.5:8080/in/osmand/"+p.key) || !strings.Contains(out.String(), p.operator) {
		t.Errorf("%v, %s", err, out.String())
	}

	cfg = config.Default()
	cfg.HTTP.Listen, cfg.HTTP.Token = "0.0.0.0:9000", "chosen"
	if p, err = makePublic(cfg, "", lanOf("10.0.0.5")); err != nil || cfg.HTTP.Listen != "0.0.0.0:9000" || cfg.HTTP.Token != "chosen" || p.host != "10.0.0.5" || p.operator != "" {
		t.Errorf("%v, %+v", err, cfg.HTTP)
	}
	for at, lan := range map[string]func() (netip.Addr, error){
		"127.0.0.1:8080": lanOf("203.0.113.7"), "unix:/tmp/x": lanOf("10.0.0.5"),
		"localhost:1": func() (netip.Addr, error) { return netip.Addr{}, errors.New("no network") },
	} {
		cfg := config.Default()
		cfg.HTTP.Listen = at
		if _, err := makePublic(cfg, "", lan); err == nil || cfg.HTTP.Listen != at {
			t.Errorf("%s: %v, %s", at, err, cfg.HTTP.Listen)
		}
	}
}
