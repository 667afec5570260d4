package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"paddock/internal/process/keyring"
)

// Keys manages the keys of a running platform. See docs/guides/keys.md.
type Keys struct {
	Ls    keysLsCmd    `cmd:"" help:"List keys."`
	Add   keysAddCmd   `cmd:"" help:"Add a key, and print its secret."`
	Edit  keysEditCmd  `cmd:"" help:"Change what a key may do."`
	Renew keysRenewCmd `cmd:"" help:"Give a key a new secret, and print it."`
	Rm    keysRmCmd    `cmd:"" help:"Revoke a key: what is served for it ends."`
	Audit keysAuditCmd `cmd:"" help:"List the last changes, and which key made them."`
	Hash  keysHashCmd  `cmd:"" help:"Make a secret, or read one, and print its sha256 for a configuration file."`
}

// shownKey is a key as the API shows it.
type shownKey struct {
	Name    string    `json:"name"`
	Verbs   []string  `json:"verbs"`
	Fleets  []string  `json:"fleets,omitempty"`
	Sets    []string  `json:"sets,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Created time.Time `json:"created,omitzero"`
	File    bool      `json:"file,omitempty"`
	Expired bool      `json:"expired,omitempty"`
	Secret  string    `json:"secret,omitempty"`
}

func keyPath(name string, more ...string) string {
	return strings.Join(append([]string{"v1/keys", url.PathEscape(name)}, more...), "/")
}

// keysLsCmd lists keys.
type keysLsCmd struct {
	JSON bool `name:"json" help:"Print an array of objects."`
	remote
}

// Run prints a line for each key.
func (k *keysLsCmd) Run(ctx context.Context, c *Console) error {
	var list struct{ Keys []shownKey }
	if err := k.ask(ctx, &list, http.MethodGet, "v1/keys", nil, nil); err != nil {
		return err
	}
	if k.JSON {
		return c.printJSON(list.Keys)
	}
	table := newTable(c.Stdout, "NAME", "VERBS", "FLEETS", "SETS", "EXPIRES", "OF")
	for _, s := range list.Keys {
		of := "API"
		if s.File {
			of = "file"
		}
		expires := timeText(s.Expires)
		if s.Expired {
			expires += " (expired)"
		}
		table.row(s.Name, strings.Join(s.Verbs, ","), orAll(s.Fleets), orAll(s.Sets), expires, of)
	}
	return table.flush()
}

func orAll(names []string) string {
	if len(names) == 0 {
		return "all"
	}
	return strings.Join(names, ",")
}

// keyLimits holds the flags of what a key may do. An absent one changes nothing.
type keyLimits struct {
	Verbs   []string `placeholder:"VERB,..." help:"What it may do: positions:write, events:read, objects:read, lookup, sets:write, rules:write, admin."`
	Fleets  []string `placeholder:"NAME,..." help:"Only for these fleets; all is for all of them."`
	Sets    []string `placeholder:"NAME,..." help:"Only for these sets; all is for all of them."`
	Expires string   `placeholder:"TIME" help:"When it ends, as 2026-12-31T00:00:00Z, or after a time such as 720h; never takes the end away."`
}

// document returns the body of a request.
func (k *keyLimits) document(name string) ([]byte, error) {
	d := map[string]any{}
	if name != "" {
		d["name"] = name
	}
	for member, list := range map[string][]string{"verbs": k.Verbs, "fleets": k.Fleets, "sets": k.Sets} {
		switch {
		case len(list) == 1 && list[0] == "all" && member != "verbs":
			d[member] = []string{}
		case len(list) > 0:
			d[member] = list
		}
	}
	switch after, err := time.ParseDuration(k.Expires); {
	case k.Expires == "":
	case k.Expires == "never":
		d["expires"] = ""
	case err == nil:
		d["expires"] = time.Now().Add(after).UTC().Truncate(time.Second).Format(time.RFC3339)
	default:
		if _, err := time.Parse(time.RFC3339, k.Expires); err != nil {
			return nil, usagef("--expires %s: neither a time of RFC 3339 such as 2026-12-31T00:00:00Z, nor a duration such as 720h, nor never", k.Expires)
		}
		d["expires"] = k.Expires
	}
	return json.Marshal(d)
}

// keysAddCmd adds a key.
type keysAddCmd struct {
	Name string `arg:"" help:"1 to 64 letters, digits and - . _"`
	JSON bool   `name:"json" help:"Print the key as an object, with its secret."`
	keyLimits
	remote
}

// Help describes the output.
func (*keysAddCmd) Help() string {
	return `The secret is printed once and kept nowhere: the platform has its SHA-256. One key works at every interface: HTTP takes it as a bearer token or the password of Basic, the bus as token or password, wire with the name of the key as the id.

    paddock keys add acme --verbs positions:write,events:read --fleets acme
    paddock keys add kiosk --verbs lookup --sets depots --expires 720h`
}

// Run adds the key.
func (k *keysAddCmd) Run(ctx context.Context, c *Console) error {
	if len(k.Verbs) == 0 {
		return usagef("--verbs missing: what may the key do?")
	}
	body, err := k.document(k.Name)
	if err != nil {
		return err
	}
	var added shownKey
	if err := k.ask(ctx, &added, http.MethodPost, "v1/keys", nil, body); err != nil {
		return err
	}
	return printSecret(c, k.JSON, &added)
}

// printSecret prints a new secret.
func printSecret(c *Console, asJSON bool, k *shownKey) error {
	if asJSON {
		return c.printJSON(k)
	}
	fmt.Fprintln(c.Stdout, k.Secret)
	return nil
}

// keysEditCmd changes a key.
type keysEditCmd struct {
	Name string `arg:"" help:"Name of the key."`
	keyLimits
	remote
}

// Run changes the key.
func (k *keysEditCmd) Run(ctx context.Context) error {
	body, err := k.document("")
	if err != nil {
		return err
	}
	return k.ask(ctx, nil, http.MethodPatch, keyPath(k.Name), nil, body)
}

// keysRenewCmd gives a key a new secret.
type keysRenewCmd struct {
	Name string `arg:"" help:"Name of the key."`
	JSON bool   `name:"json" help:"Print the key as an object, with its secret."`
	remote
}

// Run renews the key.
func (k *keysRenewCmd) Run(ctx context.Context, c *Console) error {
	var renewed shownKey
	if err := k.ask(ctx, &renewed, http.MethodPost, keyPath(k.Name, "secret"), nil, nil); err != nil {
		return err
	}
	return printSecret(c, k.JSON, &renewed)
}

// keysRmCmd revokes a key.
type keysRmCmd struct {
	Name string `arg:"" help:"Name of the key."`
	remote
}

// Run revokes the key.
func (k *keysRmCmd) Run(ctx context.Context) error {
	return k.ask(ctx, nil, http.MethodDelete, keyPath(k.Name), nil, nil)
}

// keysAuditCmd lists changes.
type keysAuditCmd struct {
	By     string `placeholder:"KEY" help:"Only changes by this key; http.token, anyone and file stand for what is no key."`
	Object string `placeholder:"NAME" help:"Only changes of this set, rule, key, webhook or object."`
	Limit  int    `default:"100" help:"How many of the newest, at most 10000."`
	JSON   bool   `name:"json" help:"Print an array of objects."`
	remote
}

// Run prints a line for each change, the newest first.
func (k *keysAuditCmd) Run(ctx context.Context, c *Console) error {
	var list struct{ Changes []json.RawMessage }
	q := url.Values{"limit": {strconv.Itoa(k.Limit)}}
	if k.By != "" {
		q.Set("by", k.By)
	}
	if k.Object != "" {
		q.Set("object", k.Object)
	}
	if err := k.ask(ctx, &list, http.MethodGet, "v1/audit?"+q.Encode(), nil, nil); err != nil {
		return err
	}
	if k.JSON {
		return c.printJSON(list.Changes)
	}
	table := newTable(c.Stdout, "AT", "BY", "FROM", "ACTION", "OBJECT", "FAILED")
	for _, text := range list.Changes {
		var e struct {
			At                               time.Time
			By, From, Action, Object, Failed string
		}
		if err := json.Unmarshal(text, &e); err != nil {
			return err
		}
		table.row(timeText(e.At), e.By, e.From, e.Action, e.Object, e.Failed)
	}
	return table.flush()
}

// keysHashCmd prints the hash of a secret.
type keysHashCmd struct {
	Secret string `arg:"" optional:"" help:"- reads it from standard input; without it a new one is made and printed."`
	JSON   bool   `name:"json" help:"Print an object with sha256, and secret if it is new."`
}

// Run prints the hash, behind the secret if that is new.
func (k *keysHashCmd) Run(c *Console) error {
	secret, made := "", ""
	switch k.Secret {
	case "":
		made = keyring.NewSecret()
		secret = made
	case "-":
		text, err := io.ReadAll(io.LimitReader(c.Stdin, 4<<10))
		if secret = strings.TrimSpace(string(text)); err == nil && secret == "" {
			err = usagef("standard input is empty")
		}
		if err != nil {
			return err
		}
	default:
		return usagef("a secret on the command line is seen by others: use -, and standard input")
	}
	digest, _ := keyring.DigestOf(secret).MarshalText() // never fails
	if k.JSON {
		return c.printJSON(struct {
			Secret string `json:"secret,omitempty"`
			SHA256 string `json:"sha256"`
		}{made, string(digest)})
	}
	if made != "" {
		fmt.Fprintf(c.Stdout, "secret: %s\n", made)
	}
	fmt.Fprintf(c.Stdout, "sha256: %s\n", digest)
	return nil
}
