package rulebook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/process/strictyaml"
)

// The names of the files in the directory of sets. The policy of the set parks is in
// parks.policy.yaml.
const (
	RulesFile    = "rules.yaml"
	policySuffix = ".policy.yaml"
)

// ReadFiles reads the rules and policies of a directory. An error names the file and the place.
func ReadFiles(dir string) (Files, error) { return readFiles(dir, true) }

// ReadPolicies reads the policies of a directory alone.
func ReadPolicies(dir string) (Files, error) { return readFiles(dir, false) }

func readFiles(dir string, withRules bool) (f Files, err error) {
	names, err := filesOf(dir)
	if err != nil {
		return f, err
	}
	f.Policies, f.Names = map[string]track.Policy{}, map[string]string{}
	for _, name := range names {
		if name == RulesFile && !withRules {
			continue
		}
		text, readErr := os.ReadFile(filepath.Join(dir, name))
		switch {
		case readErr != nil:
			err = errors.Join(err, readErr)
		case name == RulesFile:
			f.RulesFile = name
			rules, ruleErr := rule.ParseFile(name, text)
			f.Rules, err = rules, errors.Join(err, ruleErr)
		default:
			err = errors.Join(err, f.addPolicy(name, text))
		}
	}
	return f, err
}

// filesOf lists the names of the files of rules and policies.
func filesOf(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if n := e.Name(); !e.IsDir() && (n == RulesFile || strings.HasSuffix(n, policySuffix)) {
			names = append(names, n)
		}
	}
	return names, err
}

// addPolicy reads the policy of a set: the fields of a [track.Policy], of which preset comes first.
func (f *Files) addPolicy(name string, text []byte) error {
	set := fence.Slug(strings.TrimSuffix(name, policySuffix))
	if set == "" {
		return fmt.Errorf("%s: its name has neither letter a-z nor digit", name)
	}
	if other, taken := f.Names[set]; taken {
		return fmt.Errorf("%s: the set %s has the policy of %s", name, set, other)
	}
	p, err := ParsePolicy(name, text)
	f.Policies[set], f.Names[set] = p, name
	return err
}

// ParsePolicy reads the text of a file with a policy, which an error calls by this name.
func ParsePolicy(name string, text []byte) (p track.Policy, err error) {
	file, root := strictyaml.Parse(name, text)
	if root == nil { // an empty file, or none that can be read
		return p, file.Err()
	}
	for i, e := range root.Entries("a policy") {
		value, ok := e.Text(e.Key)
		if !ok {
			continue
		}
		err := p.Set(e.Key, value)
		if err == nil && e.Key == "preset" && i > 0 {
			err = errors.New("preset comes first, as it replaces all fields")
		}
		if err != nil {
			e.Value.Fault("%w", err)
		}
	}
	return p, file.Err()
}

// Follower keeps the book equal to the files of a directory.
type Follower struct {
	Book   *Book
	Dir    string
	Logger *slog.Logger
	// Changing is called before the content of the files is put in the book, and its result after
	// it, with an error if that has changed nothing. Nil: none.
	Changing func() func(error)

	mu   sync.Mutex // held while files are read
	seen string     // what the files were read as, see fingerprint
	bad  string     // error that was reported
}

// Load reads the files. After an error the book is as it was.
func (f *Follower) Load() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = f.fingerprint()
	files, err := ReadFiles(f.Dir)
	if err != nil {
		return err
	}
	taken, err := f.put(files)
	if err != nil {
		return err
	}
	f.bad = ""
	if len(taken) > 0 {
		f.Logger.Warn("files replace what came over the API", "replaced", strings.Join(taken[:min(len(taken), 20)], ", "), "count", len(taken))
	}
	f.Logger.Info("rules loaded", "rules", len(files.Rules), "policies", len(files.Policies))
	return nil
}

var errSame = errors.New("rules and policies are as they were")

// put puts the content of the files in the book.
func (f *Follower) put(files Files) (taken []string, err error) {
	if f.Changing == nil {
		return f.Book.SetFiles(files)
	}
	before := f.Book.State()
	changed := f.Changing()
	taken, err = f.Book.SetFiles(files)
	if reason := err; reason == nil && f.Book.State().same(before) {
		changed(errSame)
	} else {
		changed(reason)
	}
	return taken, err
}

// Reload reads the files, and reports an error, once as long as it is the same.
func (f *Follower) Reload() {
	err := f.Load()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil || err.Error() == f.bad {
		return
	}
	f.bad = err.Error()
	f.Logger.Error("files of rules refused; rules and policies stay as they are", "dir", f.Dir, "error", err)
}

// Run reads the files after each change until ctx ends, or never without watch.
func (f *Follower) Run(ctx context.Context, watch bool) error {
	if !watch {
		return nil
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := f.fingerprint()
		f.mu.Lock()
		changed := now != f.seen
		f.mu.Unlock()
		if changed && now == last { // no file changes any more
			f.Reload()
		}
		last = now
	}
}

// interval is the time between two looks at the files.
const interval = time.Second

// fingerprint describes the names, sizes and times of the files.
func (f *Follower) fingerprint() string {
	names, err := filesOf(f.Dir)
	if err != nil {
		return err.Error()
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		if info, err := os.Stat(filepath.Join(f.Dir, n)); err == nil {
			fmt.Fprintln(&b, n, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}
