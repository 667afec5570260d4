package machine_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
	"paddock/wire/protocol"
)

var update = flag.Bool("update", false, "write what the machines did into the histories; review it")

// TestHistories runs testdata/histories, whose first file explains the form.
func TestHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	rows := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := replay(t, string(text), rows)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		compareLines(t, file, got, string(text))
	}
	for _, row := range specRows(t) {
		if !rows[row] {
			t.Errorf("row %s of SPEC section 11 has no history", row)
		}
		delete(rows, row)
	}
	for row := range rows {
		if !strings.HasPrefix(row, "also-") {
			t.Errorf("history %s is not a row of SPEC section 11", row)
		}
	}
}

func compareLines(t *testing.T, file, got, want string) {
	t.Helper()
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			from := max(0, i-6)
			t.Errorf("%s:%d: got\n%s\nwant\n%s", file, i+1,
				strings.Join(gotLines[from:min(i+3, len(gotLines))], "\n"),
				strings.Join(wantLines[from:min(i+3, len(wantLines))], "\n"))
			return
		}
	}
}

// specRows are the names in the tables of SPEC section 11.
func specRows(t *testing.T) (rows []string) {
	spec, err := os.ReadFile("../../../docs/wire/SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(spec), "\n## 11 ")
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z][a-z-]+) \|`).FindAllStringSubmatch(tables, -1) {
		if m[1] != "row" {
			if slices.Contains(rows, m[1]) {
				t.Errorf("SPEC has the row %s twice", m[1])
			}
			rows = append(rows, m[1])
		}
	}
	if len(rows) < 80 {
		t.Fatalf("%d rows", len(rows))
	}
	return rows
}

// player runs one history.
type player struct {
	t    *testing.T
	m    *machine.Machine
	now  time.Duration
	hold bool // nothing is taken from the machine
	live int
	said bool // that it is closed
	out  strings.Builder
}

// replay returns the text with what really happened.
func replay(t *testing.T, text string, rows map[string]bool) string {
	var p *player
	var out strings.Builder
	end := func() {
		if p != nil {
			out.WriteString(p.out.String())
		}
	}
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "row":
			end()
			name, options, _ := strings.Cut(rest, " ")
			rows[name] = true
			p = newPlayer(t, options)
			fmt.Fprint(&p.out, line)
		case word == "" || word == "#":
			if p != nil {
				fmt.Fprint(&p.out, line)
			} else {
				out.WriteString(line)
			}
		case p == nil:
			t.Fatalf("%q is outside a history", line)
		case !strings.Contains("!>;x", word): // those are results
			fmt.Fprint(&p.out, line)
			p.run(word, rest)
		}
	}
	end()
	return out.String()
}

// testHello has nearly the least limits, so that they are soon reached.
var testHello = protocol.Hello{
	MaxFrame: 128 << 10, MaxInflight: 64, ConnBudget: 256 << 10, StreamInitial: 64 << 10, PostInitial: 64 << 10,
	Idle: 30 * time.Second, Kinds: map[string]uint32{"k": 1},
}

func newPlayer(t *testing.T, options string) *player {
	role := frame.Dialer
	if strings.Contains(options, "acceptor") {
		role = frame.Acceptor
	}
	m, err := machine.New(role, testHello, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, m: m}
	takeBytes(m)
	if !strings.Contains(options, "new") {
		hello := testHello
		if strings.Contains(options, "session") {
			hello.Session = &protocol.Session{Base: 10}
		}
		var ev machine.Event
		payload, _ := frame.AppendHello(nil, hello)
		if _, err := m.Feed(frame.AppendFrame(nil, &frame.Frame{Type: frame.HELLO, Body: payload}), &ev); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *player) run(word, rest string) {
	times := 1
	if n, ok := strings.CutPrefix(word, "*"); ok {
		times, _ = strconv.Atoi(n)
		word, rest, _ = strings.Cut(rest, " ")
	}
	for i := range times {
		at := p.out.Len()
		switch word {
		case "<":
			p.feed(rest)
		case "=":
			p.wish(rest)
		default:
			p.t.Fatalf("%q %q?", word, rest)
		}
		p.results()
		if i < times-1 { // only what the last one does is shown
			kept := p.out.String()[:at]
			p.out.Reset()
			p.out.WriteString(kept)
		}
	}
}

func (p *player) say(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *player) feed(text string) {
	b := parseFrame(p.t, text)
	var ev machine.Event
	p.m.Heard(p.now)
	n, err := p.m.Feed(b, &ev)
	if err == nil && n != len(b) {
		p.t.Fatalf("%s: %d of %d bytes", text, n, len(b))
	}
	if err == nil && ev.Op != machine.OpNone {
		line := "! " + ev.Op.String()
		if ev.Slot.Valid() {
			line += " " + ev.Slot.String()
		}
		if ev.Code != 0 {
			line += " code=" + ev.Code.String()
		}
		if ev.Skip > 0 {
			line += fmt.Sprintf(" skip=%d", ev.Skip)
		}
		if ev.Last > 0 {
			line += fmt.Sprintf(" last=%d", ev.Last)
		}
		if ev.RTT > 0 {
			line += fmt.Sprintf(" rtt=%v", ev.RTT)
		}
		p.say("%s", line)
	}
}

// results shows what the machine has to send, and what became of it.
func (p *player) results() {
	if !p.hold {
		var f frame.Frame
		for rest := takeBytes(p.m); len(rest) > 0; {
			n, err := frame.Next(rest, testHello.MaxFrame, &f)
			if err != nil || n == 0 {
				p.t.Fatalf("the output is not legal: %x: %d, %v", rest, n, err)
			}
			p.say("> %s", shorten(f.String()))
			rest = rest[n:]
		}
	}
	if live := p.m.Live(); live != p.live {
		p.live = live
		p.say("; live %d", live)
	}
	if err := p.m.Err(); err != nil && !p.said {
		p.said = true
		var broken *frame.ProtocolError
		if errors.As(err, &broken) {
			p.say("x %v %s", broken.Code, broken.Reason)
		} else {
			p.say("x %v", err)
		}
	}
}

var longText = regexp.MustCompile(`"x{20,}"`)

// shorten writes long runs of x as parseFrame reads them.
func shorten(text string) string {
	return longText.ReplaceAllStringFunc(text, func(s string) string { return fmt.Sprintf("x*%d", len(s)-2) })
}

// wish does what the application asks for.
func (p *player) wish(text string) {
	words := strings.Fields(text)
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	number := func(i int) int { n, _ := strconv.Atoi(arg(i)); return n }
	has := func(word string) bool { return slices.Contains(words, word) }
	flags := func() (f frame.Flags) {
		for name, bit := range map[string]frame.Flags{"END": frame.FlagEnd, "CONFIRM": frame.FlagConfirm, "MORE": frame.FlagMore} {
			if has(name) {
				f |= bit
			}
		}
		return f
	}
	slot := func() frame.Slot { return parseSlot(p.t, arg(1)) }
	var err error
	switch arg(0) {
	case "request":
		_, err = p.m.Request(1, nil, body(arg(1)), has("MORE"))
	case "open":
		_, err = p.m.Open(1, flags(), 0, nil, body(arg(1)))
	case "respond":
		err = p.m.Respond(slot(), nil, body(arg(2)), has("MORE"))
	case "fail":
		err = p.m.Fail(slot(), &protocol.Error{Code: protocol.Code(number(2))})
	case "done":
		p.m.Done(slot())
	case "data":
		_, err = p.m.Data(slot(), body(arg(2)), flags())
	case "cancel":
		err = p.m.Cancel(slot())
	case "stop":
		err = p.m.Stop(slot(), protocol.Code(number(2)))
	case "reset":
		err = p.m.Reset(slot(), protocol.Code(number(2)))
	case "consume":
		p.m.Consume(slot(), number(2))
	case "post":
		_, err = p.m.Post(1, body(arg(1)), has("ACK"))
	case "postsdone":
		p.m.PostsDone(number(1))
	case "acknowledge":
		p.m.Acknowledge(uint64(number(1)))
	case "known":
		p.m.Known(uint64(number(1)))
	case "bind":
		_, err = p.m.Bind(arg(1))
	case "drain":
		p.m.Drain(machine.Goaway{RetryAfter: time.Second, Jitter: 5 * time.Second}, "bye")
	case "tick":
		p.now, _ = time.ParseDuration(arg(1))
		_, err = p.m.Tick(p.now)
	case "wrote":
		p.m.Wrote(p.now, has("waiting"))
	case "hold":
		p.hold = true
	case "flush":
		p.hold = false
	default:
		p.t.Fatalf("wish %q?", text)
	}
	if err != nil && p.m.Err() == nil {
		p.say("! %v", err)
	}
}

// body reads "text", h'hex', x*N or nothing.
func body(text string) []byte {
	if count, ok := strings.CutPrefix(text, "x*"); ok {
		n, _ := strconv.Atoi(count)
		return bytes.Repeat([]byte("x"), n)
	}
	if digits, ok := strings.CutPrefix(text, "h'"); ok {
		b, _ := hex.DecodeString(strings.TrimSuffix(digits, "'"))
		return b
	}
	if strings.HasPrefix(text, `"`) {
		return []byte(strings.Trim(text, `"`))
	}
	return nil
}

func parseSlot(t *testing.T, text string) frame.Slot {
	var side byte
	var index, generation int
	if n, err := fmt.Sscanf(text, "%c%d/%d", &side, &index, &generation); n != 3 || err != nil {
		t.Fatalf("slot %q?", text)
	}
	role := frame.Dialer
	if side == 'a' {
		role = frame.Acceptor
	}
	return frame.MakeSlot(role, uint32(index), uint16(generation))
}

// parseFrame reads the notation of Frame.String, with x*N for a long body.
func parseFrame(t *testing.T, text string) []byte {
	words := strings.Fields(text)
	var f frame.Frame
	for f.Type = frame.POST; f.Type.String() != words[0]; f.Type++ {
		if f.Type == frame.CRITICAL {
			t.Fatalf("frame %q?", text)
		}
	}
	flags := map[string]frame.Flags{
		"ACK": 1, "ERR": 1, "END": 1, "STOP": 1, "PONG": 1, "MORE": 2, "CONFIRM": 2, "META": 4, "COMP": 8,
	}
	number := func(s string) uint64 { n, _ := strconv.ParseUint(s, 10, 64); return n }
	for _, word := range words[1:] {
		name, value, isField := strings.Cut(word, "=")
		switch {
		case flags[word] != 0:
			f.Flags |= flags[word]
		case name == "kind" && (f.Type == frame.REQ || f.Type == frame.OPEN):
			f.Kind = uint32(number(value))
		case name == "kind":
			f.ID = uint32(number(value))
		case name == "code":
			f.Code = protocol.Code(number(value))
		case name == "credit":
			f.Credit = uint32(number(value))
		case name == "name":
			f.Text = body(value)
		case name == "deadline":
			f.Meta.Raw = frame.AppendMeta(nil, &protocol.Meta{HasDeadline: true, Deadline: time.Duration(number(value)) * time.Millisecond})
		case name == "versions":
			f.Body = []byte{0xa1, 1, 0x82, byte(number(value)), byte(number(value))}
		case word == "not-started":
			f.NotStarted = true
		case isField:
			t.Fatalf("field %q in %q?", word, text)
		case f.Type == frame.POSTS:
			f.Body = append(append(f.Body, byte(len(body(word)))), body(word)...)
		case word[0] == '"' || strings.HasPrefix(word, "h'") || strings.HasPrefix(word, "x*"):
			f.Body = body(word)
		case strings.Contains(word, "/"):
			f.ID = uint32(parseSlot(t, word))
		case word == "posts":
			f.ID = 1
		case f.Type == frame.CREDIT && word != "connection":
			f.Credit = uint32(number(word))
		case f.Type == frame.ACK:
			f.Count = number(word)
		case f.Type == frame.GOAWAY || f.Type == frame.EXTENSION:
			f.ID = uint32(number(word))
		}
	}
	return frame.AppendFrame(nil, &f)
}
