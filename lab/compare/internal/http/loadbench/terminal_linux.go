package loadbench

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// terminal is a terminal whose output is discarded.
type terminal struct {
	master, slave *os.File
	ended         sync.WaitGroup
}

// openTerminal opens a pseudo-terminal: pts(4). Its goroutine ends with close.
func openTerminal() (*terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		master.Close()
		return nil, fmt.Errorf("a terminal: %w", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		master.Close()
		return nil, err
	}
	_ = unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	t := &terminal{master: master, slave: slave}
	t.ended.Go(func() { _, _ = io.Copy(io.Discard, master) })
	return t, nil
}

func (t *terminal) close() {
	t.slave.Close() // with the last one, reading ends
	t.ended.Wait()
	t.master.Close()
}
