package gofence

import (
	"errors"
	"io/fs"

	"paddock/fence"
)

// Reason returns why the directory dir, as the user gave it, could not be loaded: in the
// words of the original program where it has some.
func Reason(err error, dir string) string {
	notThere, _ := errors.AsType[*fs.PathError](err) // of the directory; errors about files have no paths
	if errors.Is(err, fence.ErrNoSets) || notThere != nil && errors.Is(notThere, fs.ErrNotExist) {
		return "No valid geojson fences at " + dir
	}
	return err.Error()
}
