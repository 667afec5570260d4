package nemesis

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// wrongClock is the fault of a node whose clock is wrong, and jumps. The node keeps that clock when
// it is started again.
const wrongClock = "a follower whose clock is wrong by hours, and jumps"

// clockVariable has the clock of a node: the seconds by which it is ahead, and those after
// clockJump.
const (
	clockVariable = "NEMESIS_CLOCK"
	clockJump     = 3 * time.Second
)

// buildFalse builds the program with a false clock. A program of Go reads the clock of the system
// without the C library, so package time itself is another one in it: that of the tool chain, with
// an addition.
func (s *site) buildFalse() {
	s.t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		s.t.Fatal(err)
	}
	const reading = "sec, nsec, mono := runtimeNow()\n"
	changed := strings.Replace(string(text), reading, reading+"\tsec += falseSeconds(mono)\n", 1)
	if changed == string(text) {
		s.t.Fatalf("%s does not read the clock as it did", original)
	}
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"syscall\"\n", 1) + fmt.Sprintf(`
var falseBefore, falseAfter, falseNanos = falseClock()

// falseClock reads what the clock is ahead by, in seconds, separated by a space.
func falseClock() (before, after, nanos int64) {
	text, _ := syscall.Getenv(%q)
	into := &before
	negative := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ':
			into, negative = &after, false
		case '-':
			negative = true
		default:
			digit := int64(c - '0')
			if negative {
				digit = -digit
			}
			*into = *into*10 + digit
		}
	}
	return before, after, runtimeNano() + %d
}

func falseSeconds(mono int64) int64 {
	if mono > falseNanos {
		return falseAfter
	}
	return falseBefore
}
`, clockVariable, clockJump.Nanoseconds())
	replacement, overlay := filepath.Join(s.dir, "time.go"), filepath.Join(s.dir, "overlay.json")
	names, _ := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}}) // texts always encode
	for file, text := range map[string]string{replacement: changed, overlay: string(names)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.falseProgram = filepath.Join(s.dir, "paddock-false")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", s.falseProgram, "./cmd/paddock")
	build.Dir = "../../../../.."
	if out, err := build.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// mistime starts a node again with a wrong clock.
func (s *site) mistime(n *node, hold time.Duration) {
	hours := s.random.Int64N(5) + 1
	if s.random.IntN(2) == 0 {
		hours = -hours
	}
	s.end(n)
	n.clock = fmt.Sprintf("%d %d", hours*3600, -hours*3600)
	s.run(n)
	<-time.After(clockJump + hold)
}
