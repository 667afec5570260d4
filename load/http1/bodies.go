package http1

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// The bounds of a file of bodies.
const (
	maxBody   = 16 << 20  // bytes of a line
	maxBodies = 4 << 20   // lines
	maxFile   = 512 << 20 // bytes of all, unpacked
)

var errNoRequests = errors.New("http1: there is no request to send")

// Bodies are the bodies of requests that a file holds, one a line.
type Bodies struct {
	List    [][]byte
	Blank   int // lines that were skipped
	Returns int // bodies that end in a carriage return, which is sent
}

// ReadBodies reads a file of bodies. It skips blank lines and unpacks gzip. It keeps carriage
// returns at the ends of lines: see Returns. An error names the line.
func ReadBodies(r io.Reader) (*Bodies, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := in.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("http1: bodies: %w", err)
		}
		in = bufio.NewReaderSize(unzipped, 64<<10)
	}
	b := &Bodies{}
	all := 0
	for n := 1; ; n++ {
		line, err := readLine(in)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("http1: bodies: line %d: %w", n, err)
		}
		if all += len(line); all > maxFile {
			return nil, fmt.Errorf("http1: bodies: line %d: more than %d MiB in all", n, maxFile>>20)
		}
		if errAdd := b.add(line, err == io.EOF); errAdd != nil {
			return nil, fmt.Errorf("http1: bodies: line %d: %w", n, errAdd)
		}
		if err == io.EOF {
			break
		}
	}
	if len(b.List) == 0 {
		return nil, errors.New("http1: bodies: there is none: every line is blank")
	}
	return b, nil
}

// add takes a line without its newline.
func (b *Bodies) add(line []byte, last bool) error {
	switch n := len(line); {
	case n == 0 || n == 1 && line[0] == '\r':
		if !last {
			b.Blank++
		}
		return nil
	case len(b.List) == maxBodies:
		return fmt.Errorf("more than %d bodies", maxBodies)
	case line[n-1] == '\r':
		b.Returns++
	}
	b.List = append(b.List, line)
	return nil
}

// readLine gives the next line without its newline, in memory of its own. The last one may
// have none: it comes with io.EOF.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxBody+1:
			return nil, fmt.Errorf("a body of more than %d MiB", maxBody>>20)
		case err == bufio.ErrBufferFull:
			continue
		case err == nil:
			return line[:len(line)-1], nil
		}
		return line, err
	}
}
