package hostile

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
)

// wireHello is the opening that the cases call hello.
var wireHello = func() []byte {
	payload, err := frame.AppendHello(nil, wire.Hello{Kinds: map[string]uint32{"pos.update": 1, "fence.search": 2, "fence.events": 3, "nobody": 4}})
	if err != nil {
		panic(err)
	}
	return append(frame.MakeHeader(frame.HELLO, 0, 0, len(payload)).Append(nil), payload...)
}()

// wire plays bytes in hexadecimal at the wire door. See testdata/wire.txt.
func (tg *target) wire(c hostileCase) (string, error) {
	input, until, err := wireInput(c.input)
	if err != nil {
		return "", err
	}
	conn, err := net.Dial("tcp", tg.WireAddr().String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if until == "PONG" {
		input = append(frame.MakeHeader(frame.PING, 0, 0, 8).Append(input), "hostile!"...)
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = conn.Write(input) // the server may answer and close early
		if until == "" {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	})
	defer sending.Wait()
	said, err := readWire(conn, until)
	return strings.Join(said, ", "), err
}

// wireInput reads the input of a case, and the frame that ends its outcome: "" is none.
func wireInput(text []byte) (input []byte, until string, err error) {
	until = "PONG"
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "preface":
			input = append(input, frame.Preface...)
		case "hello":
			input = append(input, wireHello...)
		case "end":
			until = ""
		case "until":
			until = rest
		default:
			b, err := hex.DecodeString(strings.ReplaceAll(line, " ", ""))
			if err != nil {
				return nil, "", err
			}
			input = append(input, b...)
		}
	}
	return input, until, nil
}

// readWire reads frames as text, up to one that begins with until, or the end.
func readWire(r io.Reader, until string) (said []string, err error) {
	var b []byte
	opened := false
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		b = append(b, buf[:n]...)
		if !opened && len(b) >= len(frame.Preface) {
			if opened = true; !bytes.HasPrefix(b, []byte(frame.Preface)) {
				return said, fmt.Errorf("the server speaks %q", b)
			}
			b = b[len(frame.Preface):]
		}
		for opened {
			var f frame.Frame
			size, err := frame.Next(b, frame.MaxPayload, &f)
			if err != nil {
				return said, err
			}
			if size == 0 {
				break
			}
			b = b[size:]
			text := wireText(&f)
			if text == "" {
				continue
			}
			said = append(said, text)
			if until != "" && strings.HasPrefix(text, until) {
				return said, nil
			}
		}
		if err != nil {
			end, err := closed(err)
			return append(said, end), err
		}
	}
}

// wireText returns a frame as text, "" for frames that are sent at a time of their own.
func wireText(f *frame.Frame) string {
	switch {
	case f.Type == frame.GOAWAY:
		return "GOAWAY " + f.Code.String()
	case f.Type == frame.RES && f.Has(frame.FlagErr):
		return fmt.Sprintf("RES %v %s", f.Code, f.Text)
	case f.Type == frame.PING && f.Has(frame.FlagPong):
		return "PONG"
	case f.Type == frame.PING || f.Type == frame.HELLO || f.Type == frame.CREDIT || f.Type == frame.BIND:
		return ""
	}
	return f.String()
}
