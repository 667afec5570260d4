package dist

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// stamp is the package whose variables name the build.
const stamp = "internal/process/version"

// Binary builds the program for a target, and returns its path.
func (b *Build) Binary(ctx context.Context, t Target) (string, error) {
	path := filepath.Join(b.Out, "binaries", t.file(), t.program())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	module, err := b.module(ctx)
	if err != nil {
		return "", err
	}
	at := module + "/" + stamp
	flags := fmt.Sprintf("-s -w -buildid= -X %s.linkedVersion=%s -X %s.linkedRevision=%s -X %s.linkedTime=%s",
		at, b.Version, at, b.Revision, at, b.Date.Format("2006-01-02T15:04:05Z"))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", path, "./cmd/paddock")
	cmd.Dir, cmd.Stderr = b.Root, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOOS="+t.OS, "GOARCH="+t.Arch, "GOARM="+t.ARM, "GOAMD64=v1", "GOARM64=v8.0")
	if t.ARM == "" {
		cmd.Env = append(cmd.Env, "GOARM=")
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build for %s: %w", t, err)
	}
	return path, nil
}

// module returns the module path of the product.
func (b *Build) module(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m")
	cmd.Dir = b.Root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// SBOM writes the bill of materials of a binary in the form of CycloneDX, which is what the Go
// toolchain has stored in it: its modules with their versions and hashes.
func (b *Build) SBOM(ctx context.Context, t Target, binary string) (string, error) {
	path := filepath.Join(b.Out, fmt.Sprintf("paddock-%s-%s.cdx.json", b.packageVersion(), t.file()))
	cmd := exec.CommandContext(ctx, "go", "tool", "cyclonedx-gomod", "bin", "-json", "-noserial", "-notimestamp",
		"-version", "v"+b.packageVersion(), "-output", path, binary)
	cmd.Dir = filepath.Join(b.Root, "packaging")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("bill of materials for %s: %w: %s", t, err, out)
	}
	return path, nil
}
