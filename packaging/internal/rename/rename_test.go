package rename

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes a tree of files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// The path changes where it is that of a package or of the module, and nowhere else.
func TestText(t *testing.T) {
	root := tree(t, map[string]string{"go.mod": "module corral\n", "fence/a.go": "", "internal/b.go": "", "tunnel/c.go": ""})
	r, err := New(root, "example.com/o/corral")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, from, to string }{
		{"a.go", "package a\n\nimport (\n\t\"corral/fence\"\n\t\"corral/internal/x\"\n)\n", "package a\n\nimport (\n\t\"example.com/o/corral/fence\"\n\t\"example.com/o/corral/internal/x\"\n)\n"},
		{"a.go", "package a\n\nimport p \"corral/fence\"\n", "package a\n\nimport p \"example.com/o/corral/fence\"\n"},
		{"a.go", "package a\n\nvar x = `^corral/internal/.*|^corral/fence.(*Set)|^corral/fence\\.x`\n", "package a\n\nvar x = `^example.com/o/corral/internal/.*|^example.com/o/corral/fence.(*Set)|^example.com/o/corral/fence\\.x`\n"},
		{"a.go", "package a\n\nvar x = \"corral/\" + \"corral/1.0\"\n", ""},
		{"a.go", "package a\n\n// In cmd/corral/fence.go, and corral/tunnel.sock.\n", ""},
		{"go.mod", "module corral/lab/compare\n\nreplace corral => ../../\n\nrequire corral v0.0.0\n", "module example.com/o/corral/lab/compare\n\nreplace example.com/o/corral => ../../\n\nrequire example.com/o/corral v0.0.0\n"},
		{"go.mod", "require (\n\tcorral v0.0.0-1\n\tgithub.com/x/corral v1.0.0\n)\n", "require (\n\texample.com/o/corral v0.0.0-1\n\tgithub.com/x/corral v1.0.0\n)\n"},
		{"Makefile", "STAMP   = corral/internal/x\n", "STAMP   = example.com/o/corral/internal/x\n"},
		{"a.md", "`go doc corral/fence` of bin/corral, /etc/corral/tunnel.yaml\n", "`go doc example.com/o/corral/fence` of bin/corral, /etc/corral/tunnel.yaml\n"},
		{"README.md", "The module path is `corral`, without a host, so a program names its clone: `go mod edit -require corral@v0.0.0`. End.\n", "The module path is `example.com/o/corral`: `go get example.com/o/corral` adds it to a program. End.\n"},
		{"a.png", "corral/fence", ""},
	} {
		want := c.to
		if want == "" {
			want = c.from
		}
		if got, err := r.Text(c.name, []byte(c.from)); err != nil || string(got) != want {
			t.Errorf("%s: %q became %q, %v", c.name, c.from, got, err)
		}
	}
}

func TestPathsAreChecked(t *testing.T) {
	root := tree(t, map[string]string{"go.mod": "module corral\n"})
	for _, path := range []string{"", "corral", "Example.com//x", "https://example.com/x", "example.com/a b"} {
		if _, err := New(root, path); err == nil {
			t.Errorf("%q is taken", path)
		}
	}
}

// The copy has all files with their modes, except what is built or fetched.
func TestCopy(t *testing.T) {
	root := tree(t, map[string]string{
		"go.mod": "module corral\n", "fence/a.go": "package fence\n", "run": "#!/bin/sh\n",
		"web/node_modules/x.go": "", ".git/config": "", "bin/corral": "", "artifacts/x": "",
	})
	if err := os.Chmod(filepath.Join(root, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := New(root, "example.com/o/corral")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := r.Copy(root, to); err != nil {
		t.Fatal(err)
	}
	var names []string
	err = filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(to, path) // below to
			names = append(names, name)
		}
		return err
	})
	if got := strings.Join(names, " "); err != nil || got != "fence/a.go go.mod run" {
		t.Errorf("%s, %v", got, err)
	}
	if info, err := os.Stat(filepath.Join(to, "run")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
}
