package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
)

const (
	defaultURL = "http://127.0.0.1:8080"
	// tokenVariable and contextVariable are of the environment.
	tokenVariable   = "PADDOCK_HTTP_TOKEN"
	contextVariable = "PADDOCK_CONTEXT"
	// maxKey bounds a key, in bytes.
	maxKey = 4 << 10
)

// target is a platform, the key for it, and where both are from.
type target struct {
	url, urlFrom string // urlFrom as "of --server"
	key, keyFrom string // "": none
}

// Platform returns the address of the platform of a context, and the key for it: the given one, or
// else that of the environment or of the context.
func Platform(context, token string) (url, key string, err error) {
	r := &remote{Context: context, Token: token}
	t, err := r.resolve()
	if err != nil {
		return "", "", err
	}
	return t.url, t.key, nil
}

// resolve finds the platform and the key: flags go over the environment, and that over the context.
// The key of a context is sent to the address of that context alone.
func (r *remote) resolve() (*target, error) {
	if r.found != nil {
		return r.found, nil
	}
	t := &target{url: defaultURL, urlFrom: "the default"}
	name, c, err := r.context()
	if err != nil {
		return nil, err
	}
	if c != nil {
		t.url, t.urlFrom = c.URL, "of the context "+name
	}
	if r.Server != "" {
		t.url, t.urlFrom = strings.TrimSuffix(r.Server, "/"), "of --server"
		if err := checkURL(t.url); err != nil {
			return nil, usagef("--server %s: %w", r.Server, err)
		}
	}
	switch fromVariable := os.Getenv(tokenVariable); {
	case r.Token != "" && r.KeyFile != "":
		return nil, usagef("--token and --key-file each give the key: give one of them")
	case r.Token != "":
		t.key, t.keyFrom = r.Token, "--token"
	case r.KeyFile != "":
		t.keyFrom = "the file " + r.KeyFile
		if t.key, err = readKey(r.KeyFile); err != nil {
			return nil, usagef("--key-file: %w", err)
		}
	case fromVariable != "":
		t.key, t.keyFrom = fromVariable, "$"+tokenVariable
	case c != nil && c.URL == t.url && c.KeyFile != "":
		t.keyFrom = "the file " + c.KeyFile + " of the context " + name
		if t.key, err = readKey(c.KeyFile); err != nil {
			return nil, fmt.Errorf("the context %s: %w", name, err)
		}
	case c != nil && c.URL == t.url && c.Key != "":
		t.key, t.keyFrom = c.Key, "the context "+name
	}
	r.found = t
	return t, nil
}

// context returns the context of the flag, of the environment, or the current one; nil: none.
func (r *remote) context() (string, *savedContext, error) {
	name, from := r.Context, "--context "+r.Context
	if name == "" {
		name = os.Getenv(contextVariable)
		from = "$" + contextVariable + "=" + name
	}
	saved, err := loadContexts()
	if err != nil {
		return "", nil, err
	}
	if name == "" {
		name = saved.Current
	} else if saved.Contexts[name] == nil {
		return "", nil, usagef("%s: there is no such context; paddock context ls lists them", from)
	}
	return name, saved.Contexts[name], nil
}

// checkURL returns an error about what is no address of a platform.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return errors.New("not an address such as http://127.0.0.1:8080")
	}
	return nil
}

// readKey reads the key of a file.
func readKey(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return keyOf(f, file)
}

// keyOf reads a key, which is one line.
func keyOf(in io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxKey+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	key := bytes.TrimSpace(text)
	switch {
	case len(key) == 0:
		return "", fmt.Errorf("%s is empty: it has to hold a key", name)
	case len(text) > maxKey || bytes.ContainsAny(key, "\r\n"):
		return "", fmt.Errorf("%s holds more than one line: it has to hold a key", name)
	}
	return string(key), nil
}
