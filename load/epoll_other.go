//go:build !linux

package load

import "errors"

const haveEpoll = false

func newEpoll(*Plan) (engine, error) {
	return nil, errors.New("load: the epoll engine runs on Linux only; use the portable one")
}
