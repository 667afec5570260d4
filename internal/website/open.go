package website

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// open opens a file within the directory. What is neither a regular file nor a
// directory is not there: the flag keeps the open of a named pipe from waiting.
func (s *Site) open(name string) (*os.File, fs.FileInfo, error) {
	f, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// shortages are the errors that are not about the file that was asked for.
var shortages = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO}

// isShortage tells what the machine could not do from what is not there: a name
// that does not exist, is too long, runs in circles or leads out of the directory.
func isShortage(err error) bool {
	for _, shortage := range shortages {
		if errors.Is(err, shortage) {
			return true
		}
	}
	return false
}
