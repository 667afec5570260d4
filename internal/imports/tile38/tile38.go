// Package tile38 reads commands of Tile38 (tile38.com/commands): lines as its command line takes
// them, and its append-only file in the protocol of Redis (RESP). Objects become fences of a set
// for each collection, and geofences (hooks and channels) become fences and rules.
package tile38

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"paddock/fence/geojson"
	"paddock/internal/imports/feature"
)

// maxArguments bounds the arguments of a command.
const maxArguments = 1 << 20

// command is a command with its arguments.
type command struct {
	place feature.Place
	args  []string
}

// begins is the beginning of a file: a command of RESP, or one in words. Lines of comments may
// stand before it.
var begins = regexp.MustCompile(`^(\*[1-9][0-9]*\r\n\$|(#[^\n]*\n|\s)*(?i:SET|SETHOOK|SETCHAN|FSET|DEL|DROP|FLUSHDB)(\s|$))`)

// Is reports whether the bytes begin as a file of commands does.
func Is(head []byte) bool { return begins.Match(head) }

// Read reads a file of commands. They are applied in their order: a later SET replaces an earlier
// one, and DEL, PDEL, DROP, FLUSHDB, RENAME, FSET, DELHOOK and their like count too. What is there
// at the end becomes features and rules. A command that says something else is named once.
func Read(in *feature.Input, out feature.Sink) error {
	s := newState(out)
	var err error
	if len(in.Data) > 0 && in.Data[0] == '*' {
		err = readRESP(in.Data, s)
	} else {
		err = readLines(in.Data, s)
	}
	if err != nil {
		return in.Errorf("%w", err)
	}
	return s.end()
}

// readRESP reads commands of RESP. A last command that is cut, as a crash leaves it, is left out.
func readRESP(data []byte, s *state) error {
	for n := 1; len(data) > 0; n++ {
		place := feature.Place{Unit: "command", Number: n}
		args, rest, err := readArray(data)
		if errors.Is(err, errCut) {
			s.out.Note(feature.Noted(place, feature.CodeNotCarried, "the file ends within it: it is left out"))
			return nil
		}
		if err != nil {
			return fmt.Errorf("%v: %w", place, err)
		}
		data = rest
		s.apply(&command{place, args})
	}
	return nil
}

// errCut is the error of a command that is not whole.
var errCut = errors.New("the file ends within it")

// readArray reads an array of texts.
func readArray(data []byte) (args []string, rest []byte, err error) {
	n, rest, err := readLength(data, '*')
	if err != nil {
		return nil, nil, err
	}
	if n > maxArguments {
		return nil, nil, fmt.Errorf("%d arguments, the limit is %d", n, maxArguments)
	}
	for range n {
		var size int
		if size, rest, err = readLength(rest, '$'); err != nil {
			return nil, nil, err
		}
		if size > len(rest)-2 {
			return nil, nil, errCut
		}
		if rest[size] != '\r' || rest[size+1] != '\n' {
			return nil, nil, fmt.Errorf("an argument of %d bytes does not end where it should", size)
		}
		args = append(args, string(rest[:size]))
		rest = rest[size+2:]
	}
	return args, rest, nil
}

// readLength reads a number behind a mark.
func readLength(data []byte, mark byte) (n int, rest []byte, err error) {
	line, rest, ok := bytes.Cut(data[:min(len(data), 24)], []byte("\r\n"))
	if !ok && len(data) < 24 {
		return 0, nil, errCut
	}
	if !ok || len(line) < 2 || line[0] != mark {
		return 0, nil, fmt.Errorf("%.12q is not %c and a number", line, mark)
	}
	n, err = strconv.Atoi(string(line[1:]))
	if err != nil || n < 0 {
		return 0, nil, fmt.Errorf("%.12q is not %c and a number", line, mark)
	}
	_ = rest // of the first bytes alone
	return n, data[len(line)+2:], nil
}

// readLines reads a command on each line. Empty lines and lines that begin with # are passed over.
func readLines(data []byte, s *state) error {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		place := feature.Place{Unit: "line", Number: n}
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		args, err := split(text)
		if err != nil {
			s.out.Note(feature.Refused(place, geojson.CodeInvalidGeometry, "%v", err))
			continue
		}
		s.apply(&command{place, args})
	}
	return nil
}
