package dist

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the two kinds of packages
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// kinds are the kinds of packages.
var kinds = []string{"deb", "rpm"}

// Packages writes the packages of a target, and returns their paths. Their contents are those of
// nfpm.yaml, which has names of variables for what differs.
func (b *Build) Packages(t Target, binary string) (files []string, err error) {
	if !t.packages() {
		return nil, nil
	}
	for _, kind := range kinds {
		file, err := b.pack(t, kind, binary)
		if err != nil {
			return nil, fmt.Errorf("%s for %s: %w", kind, t, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func (b *Build) pack(t Target, kind, binary string) (file string, err error) {
	binary, err = filepath.Abs(binary)
	if err != nil {
		return "", err
	}
	values := map[string]string{"ROOT": b.Root, "BINARY": binary, "VERSION": b.packageVersion(), "ARCH": t.Arch + t.ARM}
	var unknown error
	config, err := nfpm.ParseFileWithEnvMapping(filepath.Join(b.Root, "packaging", "nfpm.yaml"), func(name string) string {
		value, ok := values[name]
		if !ok && !strings.HasPrefix(name, "NFPM_") { // which it looks for by itself
			unknown = fmt.Errorf("nfpm.yaml: unknown variable %s", name)
		}
		return value
	})
	if err = errors.Join(err, unknown); err != nil {
		return "", err
	}
	info, err := config.Get(kind)
	if err != nil {
		return "", err
	}
	info.MTime = b.Date
	for _, script := range []*string{&info.Scripts.PostInstall, &info.Scripts.PreRemove, &info.Scripts.PostRemove} {
		*script = filepath.Join(b.Root, "packaging", *script) // these are not expanded
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return "", err
	}
	packager, err := nfpm.Get(kind)
	if err != nil {
		return "", err
	}
	for _, c := range info.Contents {
		c.FileInfo.MTime = b.Date
	}
	file = filepath.Join(b.Out, packager.ConventionalFileName(info))
	out, err := os.Create(file)
	if err != nil {
		return "", err
	}
	return file, errors.Join(packager.Package(info, out), out.Close())
}
