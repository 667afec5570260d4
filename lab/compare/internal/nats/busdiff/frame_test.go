package busdiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// frame is one operation of a server, as text.
type frame string

const crlf = "\r\n"

// frameSize is the length of the frame that b begins with, 0 if it is not whole.
func frameSize(b []byte) int {
	end := bytes.IndexByte(b, '\n') + 1
	if end == 0 {
		return 0
	}
	if !isMessage(b) {
		return end
	}
	args := arguments(b[:end])
	size, err := strconv.Atoi(args[len(args)-1])
	if err != nil || size < 0 {
		return end
	}
	if end += size + len(crlf); end > len(b) {
		return 0
	}
	return end
}

func isMessage(b []byte) bool {
	return bytes.HasPrefix(b, []byte("MSG ")) || bytes.HasPrefix(b, []byte("HMSG "))
}

func clientID(line []byte) uint64 {
	var info struct {
		ID uint64 `json:"client_id"`
	}
	body, _, _ := bytes.Cut(bytes.TrimPrefix(line, []byte("INFO ")), []byte(crlf))
	json.Unmarshal(body, &info) //nolint:errcheck // 0 is in no list of closed ones
	return info.ID
}

// queueMark begins the sids of queues whose members are several.
const queueMark = "Q"

// normalise cuts the received bytes into frames and removes the parts that the protocol leaves
// open.
func (a *answer) normalise(links []*link) {
	for i, l := range links {
		if l == nil {
			continue
		}
		for rest := l.got; len(rest) > 0; {
			n := frameSize(rest)
			if n == 0 {
				n = len(rest) // an end in the middle of a frame
			}
			a.add(i, rest[:n])
			rest = rest[n:]
		}
		sortCopies(a.conns[i])
	}
	slices.Sort(a.queued)
}

func (a *answer) add(conn int, b []byte) {
	switch {
	case string(b) == "PING"+crlf: // to measure, some seconds after the beginning
	case bytes.HasPrefix(b, []byte("INFO ")):
		a.conns[conn] = append(a.conns[conn], normalInfo(b))
	case isMessage(b) && strings.HasPrefix(sidOf(b), queueMark):
		a.queued = append(a.queued, queuedForm(b))
	default:
		a.conns[conn] = append(a.conns[conn], frame(b))
	}
}

// volatile are the fields of INFO for the identity and address of a server, and for its features
// beside this protocol.
var volatile = []string{
	"server_id", "server_name", "version", "git_commit", "go", "port", "client_id", "xkey", "api_lvl",
}

func normalInfo(b []byte) frame {
	body, ok := bytes.CutSuffix(bytes.TrimPrefix(b, []byte("INFO ")), []byte(" "+crlf))
	if !ok {
		return frame(b)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return frame(b)
	}
	for _, name := range volatile {
		delete(fields, name)
	}
	text, err := json.Marshal(fields) // keys sorted
	if err != nil {
		return frame(b)
	}
	return frame(fmt.Sprintf("INFO %s", text))
}

// splitMessage returns a message's arguments and its payload with CRLF.
func splitMessage(b []byte) (args []string, payload string) {
	end := bytes.IndexByte(b, '\n') + 1
	return arguments(b[:end]), string(b[end:])
}

// arguments are split as servers write them: white space of other kinds may be
// part of a subject.
func arguments(line []byte) []string {
	return strings.Split(strings.TrimRight(string(line), crlf), " ")
}

func sidOf(b []byte) string {
	if args, _ := splitMessage(b); len(args) > 2 {
		return args[2]
	}
	return ""
}

// queuedForm is a message for the member of a queue, without the parts that depend on the member:
// its id, which may have been spoiled, and whether it takes headers. The number of copies shows how
// many queues got it.
func queuedForm(b []byte) string {
	args, payload := splitMessage(b)
	reply := ""
	if b[0] == 'H' {
		if n, err := strconv.Atoi(args[len(args)-2]); err == nil && n <= len(payload) {
			payload = payload[n:]
		}
		args = args[:len(args)-1]
	}
	if len(args) > 4 {
		reply = args[3]
	}
	return fmt.Sprintf("%s %s %q", args[1], reply, payload)
}

// sortCopies sorts each run of messages that may be copies of one.
func sortCopies(frames []frame) {
	for i := 0; i < len(frames); {
		key := copyKey(frames[i])
		end := i + 1
		for key != "" && end < len(frames) && copyKey(frames[end]) == key {
			end++
		}
		slices.Sort(frames[i:end])
		i = end
	}
}

// copyKey is a message without its subscription; "" = no message.
func copyKey(f frame) string {
	b := []byte(f)
	if !isMessage(b) {
		return ""
	}
	args, payload := splitMessage(b)
	if len(args) < 4 {
		return ""
	}
	args[2] = ""
	return strings.Join(args, " ") + "\n" + payload
}
