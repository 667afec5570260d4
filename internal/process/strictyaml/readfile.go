package strictyaml

import (
	"fmt"
	"io/fs"
	"os"
)

// MaxFile bounds what is read as a configuration, bytes: a list of 10,000 vehicles, each
// with its id and its names, has some 1.5 MiB.
const MaxFile = 8 << 20

// ReadFile reads a file, if it is not larger than any sensible configuration. The error is
// an *fs.PathError.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxFile {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%d bytes are more than a configuration has", info.Size())}
	}
	return os.ReadFile(path)
}
