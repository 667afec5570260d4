package responder

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock/internal/process/agenda"
	"paddock/load/histogram"
)

const (
	maxEvents = 256
	// longest is the longest wait for events: the collector, which stops the world, is
	// never held up for longer.
	longest = int64(10 * time.Millisecond)
)

// appointment is an answer to give at an instant.
type appointment struct {
	c      *conn
	number uint32 // of the answer on its connection
}

// loop is the service's one thread.
type loop struct {
	Config
	began    time.Time
	listener int
	epoll    int
	waker    int // an eventfd

	good, last [][]byte // answers, by the number of the request
	conns      map[int]*conn
	agenda     agenda.Agenda[appointment]
	events     []unix.EpollEvent
	buf        []byte
	did        Did
}

func serve(c Config, at netip.AddrPort) (_ *Service, err error) {
	l := &loop{
		Config: c, began: time.Now(), listener: -1, epoll: -1, waker: -1, conns: map[int]*conn{},
		events: make([]unix.EpollEvent, maxEvents), buf: make([]byte, readSize),
	}
	l.did.Late = histogram.New()
	l.did.Journal = make([]Entry, 0, c.Journal)
	if l.good, err = c.answers(false); err != nil {
		return nil, err
	}
	if l.last, err = c.answers(true); err != nil {
		return nil, err
	}
	addr, err := l.open(at)
	if err != nil {
		l.close()
		return nil, fmt.Errorf("responder: %v: %w", at, err)
	}
	s := &Service{Addr: addr, Began: l.began, ended: make(chan struct{}), did: &l.did}
	waker := l.waker
	s.wake = sync.OnceFunc(func() { _, _ = unix.Write(waker, []byte{1, 0, 0, 0, 0, 0, 0, 0}) })
	go s.run(l)
	return s, nil
}

// run is the loop's goroutine. It ends with wake.
func (s *Service) run(l *loop) {
	defer close(s.ended)
	runtime.LockOSThread() // without an unlock: the thread ends, and with it its slack
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	s.err = l.run()
	l.close()
}

// open listens, and gives the address.
func (l *loop) open(at netip.AddrPort) (addr string, err error) {
	ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return "", err
	}
	defer ln.Close()
	raw, err := ln.SyscallConn()
	if err != nil {
		return "", err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { l.listener, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }) // which does not block
	if err := errors.Join(err, failed); err != nil {
		return "", err
	}
	_ = unix.SetsockoptInt(l.listener, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // of its connections too
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return "", os.NewSyscallError("epoll_create1", err)
	}
	if l.waker, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return "", os.NewSyscallError("eventfd", err)
	}
	for _, fd := range []int{l.listener, l.waker} {
		if err := l.watch(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
			return "", os.NewSyscallError("epoll_ctl", err)
		}
	}
	return ln.Addr().String(), nil
}

func (l *loop) watch(op, fd int, events uint32) error {
	return unix.EpollCtl(l.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
}

func (l *loop) close() {
	for _, c := range l.conns {
		c.end()
	}
	for _, fd := range []int{l.listener, l.epoll, l.waker} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

func (l *loop) now() int64 { return int64(time.Since(l.began)) }

func (l *loop) run() error {
	for {
		n, err := l.wait()
		if err != nil {
			return err
		}
		for i := range l.events[:n] {
			e := &l.events[i]
			switch fd := int(e.Fd); fd {
			case l.waker:
				return nil
			case l.listener:
				l.accept()
			default:
				if c := l.conns[fd]; c != nil {
					c.handle(e.Events)
				}
			}
		}
		l.keep()
	}
}

// wait waits for events, or for the next appointment.
func (l *loop) wait() (int, error) {
	ns := longest
	if len(l.agenda) > 0 {
		ns = max(min(l.agenda[0].At-l.now(), longest), 0)
	}
	ts := unix.NsecToTimespec(ns)
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events[0])), maxEvents, uintptr(unsafe.Pointer(&ts)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, os.NewSyscallError("epoll_pwait2", errno)
}

// accept takes the connections that wait.
func (l *loop) accept() {
	for {
		fd, _, err := unix.Accept4(l.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			return // none waits, or no descriptor is left: it is tried again
		case len(l.conns) >= l.MaxConns:
			l.did.Refused++
			unix.Close(fd)
			continue
		}
		c := &conn{loop: l, fd: fd, events: unix.EPOLLIN}
		if err := l.watch(unix.EPOLL_CTL_ADD, fd, c.events); err != nil {
			unix.Close(fd)
			continue
		}
		l.did.Conns++
		l.conns[fd] = c
	}
}

// keep keeps the appointments that are due.
func (l *loop) keep() {
	for now := l.now(); len(l.agenda) > 0 && l.agenda[0].At <= now; now = l.now() {
		a := l.agenda.Take().Value
		if c := a.c; c.fd >= 0 {
			c.waiting[a.number-c.first].ready = true
			c.answer()
			c.settle()
		}
	}
}
