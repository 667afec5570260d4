//go:build !unix

package busd

import (
	"errors"
	"io"
)

func openSyslog(Log) (io.WriteCloser, error) {
	return nil, errors.New("there is no syslog on this system")
}
