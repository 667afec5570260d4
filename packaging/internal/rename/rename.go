// Package rename copies the tree with another module path, for its publication under a host.
package rename

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// left are the directories that are not copied: they are built or fetched.
var left = []string{".git", "node_modules", "bin", "artifacts", ".venv", "target", ".tools", "__pycache__"}

// texts are the files in which the path stands, by extension or name.
var texts = []string{".go", ".mod", ".md", ".yaml", ".yml", ".json", ".txtar", ".mjs", ".ts", ".txt", "Makefile", "run", "Dockerfile"}

// Rewriter replaces a module path.
type Rewriter struct {
	from, to string
	packages *regexp.Regexp // paths of packages
	lines    *regexp.Regexp // of go.mod files, and of texts that make some
	sentence *regexp.Regexp // of README.md
}

// New returns the rewriter of the module in root to the path to.
func New(root, to string) (*Rewriter, error) {
	if err := module.CheckPath(to); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	from := modfile.ModulePath(text)
	if from == "" || from == to {
		return nil, fmt.Errorf("the module of %s is %q already", root, from)
	}
	dirs, err := directories(root)
	if err != nil {
		return nil, err
	}
	q := regexp.QuoteMeta(from)
	return &Rewriter{
		from: from, to: to,
		// Neither a path of files such as cmd/paddock/up.go nor a product in a header such as
		// paddock/1.0 is one of a package.
		packages: regexp.MustCompile(`(^|[^\w./-])` + q + `/(` + strings.Join(dirs, "|") + `)(/|["'` + "`" + `\s)|;,\\]|\.\(|\.[A-Z]|$)`),
		lines:    regexp.MustCompile(`((?:^|\W)(?:module|require|replace|-require|-replace) |(?m:^)\t)` + q + `( v\d|[\s/@=\\]|$)`),
		sentence: regexp.MustCompile("The module path is `" + q + "`, without a host, so a program names its clone: `[^`]*`\\."),
	}, nil
}

// directories returns the names of the directories in root that hold packages.
func directories(root string) (names []string, err error) {
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(left, e.Name()) && e.Name()[0] != '.' {
			names = append(names, regexp.QuoteMeta(e.Name()))
		}
	}
	return names, err
}

// Text returns a file with the new path.
func (r *Rewriter) Text(name string, text []byte) ([]byte, error) {
	if !slices.Contains(texts, filepath.Ext(name)) && !slices.Contains(texts, filepath.Base(name)) || !bytes.Contains(text, []byte(r.from)) {
		return text, nil
	}
	written := r.sentence.ReplaceAllLiteral(text, []byte("The module path is `"+r.to+"`: `go get "+r.to+"` adds it to a program."))
	for { // neighbours share the character between them
		next := r.packages.ReplaceAll(written, []byte("${1}"+r.to+"/${2}${3}"))
		if bytes.Equal(next, written) {
			break
		}
		written = next
	}
	written = r.lines.ReplaceAll(written, []byte("${1}"+r.to+"${2}"))
	if filepath.Ext(name) != ".go" || bytes.Equal(written, text) {
		return written, nil
	}
	return format.Source(written) // the order of imports may be another one
}

// Copy writes the tree of root to a directory, which it makes.
func (r *Rewriter) Copy(root, to string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, name)
		switch {
		case path != root && d.IsDir() && (slices.Contains(left, d.Name()) || at == to):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(at, 0o755)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, at)
		case !d.Type().IsRegular() || d.Name() == ".git": // a file in a work tree
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if text, err = r.Text(name, text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return os.WriteFile(at, text, info.Mode().Perm())
	})
}
