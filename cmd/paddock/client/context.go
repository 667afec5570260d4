package client

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Context keeps the addresses of platforms, and the keys for them, under names.
type Context struct {
	Show contextShowCmd `cmd:"" default:"withargs" help:"Show which platform and which key commands use."`
	Add  contextAddCmd  `cmd:"" help:"Add a platform; the first one becomes the current one."`
	Ls   contextLsCmd   `cmd:"" help:"List contexts."`
	Use  contextUseCmd  `cmd:"" help:"Make a context the current one."`
	Rm   contextRmCmd   `cmd:"" help:"Remove a context."`
}

// contextShowCmd shows the platform that commands without flags ask.
type contextShowCmd struct {
	JSON bool `name:"json" help:"Print an object with context, url and key, which is where the key is from."`
	remote
}

// Help describes the order.
func (*contextShowCmd) Help() string {
	return `Flags go over the environment ($PADDOCK_CONTEXT, $PADDOCK_HTTP_TOKEN), and that over the current context. The key of a context is sent to its own address alone, and is never printed.

    paddock context add prod --url https://fences.example.com --key-file ~/.keys/fences
    paddock context use prod
    paddock sets ls --context test`
}

// Run shows the platform.
func (k *contextShowCmd) Run(c *Console) error {
	name, _, err := k.context()
	if err != nil {
		return err
	}
	t, err := k.resolve()
	if err != nil {
		return err
	}
	if k.JSON {
		return c.printJSON(struct {
			Context string `json:"context,omitempty"`
			URL     string `json:"url"`
			Key     string `json:"key,omitempty"`
		}{name, t.url, t.keyFrom})
	}
	if name == "" {
		name = "none: paddock context add NAME --url URL adds one"
	}
	key := "none"
	if t.key != "" {
		key = "of " + t.keyFrom
	}
	_, err = fmt.Fprintf(c.Stdout, "context: %s\nplatform: %s (%s)\nkey: %s\n", name, t.url, t.urlFrom, key)
	return err
}

// contextAddCmd adds a context.
type contextAddCmd struct {
	Name    string `arg:"" help:"1 to 64 letters, digits and - . _"`
	URL     string `name:"url" required:"" placeholder:"URL" help:"Address of the platform, such as https://fences.example.com."`
	KeyFile string `placeholder:"FILE" help:"File with the key, which is read with each command; - reads the key from standard input and keeps it."`
	Replace bool   `help:"Replace a context of this name."`
}

// Help describes the file.
func (*contextAddCmd) Help() string {
	return `Contexts are kept in paddock/contexts.json in the user's directory for configuration ($XDG_CONFIG_HOME or ~/.config on Linux), which its owner alone may read. At most 1000.

    paddock context add prod --url https://fences.example.com --key-file ~/.keys/fences
    paddock keys add me --verbs lookup,objects:read,events:read | paddock context add me --url http://10.0.0.5:8080 --key-file -`
}

// Run adds the context.
func (k *contextAddCmd) Run(c *Console) error {
	saved, err := loadContexts()
	switch {
	case err != nil:
		return err
	case !contextName.MatchString(k.Name):
		return usagef("%q: a name is 1 to 64 letters, digits and - . _, and begins with a letter or digit", k.Name)
	case saved.Contexts[k.Name] != nil && !k.Replace:
		return usagef("there is a context %s already: --replace replaces it", k.Name)
	case saved.Contexts[k.Name] == nil && len(saved.Contexts) >= maxContexts:
		return usagef("there are %d contexts, which is the limit: remove one first", len(saved.Contexts))
	}
	added := &savedContext{URL: strings.TrimSuffix(k.URL, "/")}
	if err := checkURL(added.URL); err != nil {
		return usagef("--url %s: %w", k.URL, err)
	}
	switch k.KeyFile {
	case "":
	case "-":
		if added.Key, err = keyOf(c.Stdin, "standard input"); err != nil {
			return usagef("--key-file: %w", err)
		}
	default:
		if _, err := readKey(k.KeyFile); err != nil {
			return usagef("--key-file: %w", err)
		}
		if added.KeyFile, err = filepath.Abs(k.KeyFile); err != nil {
			return err
		}
	}
	saved.Contexts[k.Name] = added
	if saved.Current == "" {
		saved.Current = k.Name
	}
	return saved.save()
}

// contextLsCmd lists contexts.
type contextLsCmd struct {
	JSON bool `name:"json" help:"Print an array of objects with name, url, key and current."`
}

// Run prints a line for each context, with a mark at the current one.
func (k *contextLsCmd) Run(c *Console) error {
	saved, err := loadContexts()
	if err != nil {
		return err
	}
	current := saved.Current
	if name := os.Getenv(contextVariable); name != "" {
		current = name
	}
	type shown struct {
		Name    string `json:"name"`
		URL     string `json:"url"`
		Key     string `json:"key"`
		Current bool   `json:"current"`
	}
	all := []shown{}
	for _, name := range slices.Sorted(maps.Keys(saved.Contexts)) {
		one := saved.Contexts[name]
		all = append(all, shown{name, one.URL, one.keyText(), name == current})
	}
	if k.JSON {
		return c.printJSON(all)
	}
	t := newTable(c.Stdout, "", "NAME", "URL", "KEY")
	for _, s := range all {
		mark := ""
		if s.Current {
			mark = "*"
		}
		t.row(mark, s.Name, s.URL, s.Key)
	}
	return t.flush()
}

// contextUseCmd makes a context the current one.
type contextUseCmd struct {
	Name string `arg:"" complete:"context" help:"Name of the context."`
}

// Run does so.
func (k *contextUseCmd) Run() error {
	saved, err := loadContexts()
	if err != nil {
		return err
	}
	if saved.Contexts[k.Name] == nil {
		return usagef("there is no context %s; paddock context ls lists them", k.Name)
	}
	saved.Current = k.Name
	return saved.save()
}

// contextRmCmd removes a context.
type contextRmCmd struct {
	Name string `arg:"" complete:"context" help:"Name of the context."`
}

// Run removes it. If it was the current one, there is none then.
func (k *contextRmCmd) Run() error {
	saved, err := loadContexts()
	if err != nil {
		return err
	}
	if saved.Contexts[k.Name] == nil {
		return usagef("there is no context %s; paddock context ls lists them", k.Name)
	}
	delete(saved.Contexts, k.Name)
	if saved.Current == k.Name {
		saved.Current = ""
	}
	return saved.save()
}
