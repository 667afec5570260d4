package terminal

import (
	"strings"
	"testing"

	"rsc.io/qr"
)

// The lines have the modules of the code, with a white margin of four around it.
func TestQR(t *testing.T) {
	const text = "http://192.168.1.23:8080/in/osmand/ABCDEFGHIJKLMNOPQRSTUVWXYZ?interval=10&distance=0"
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(QR(text, 80), "\n"), "\n")
	if len(lines) != (code.Size+2*quiet+1)/2 {
		t.Fatalf("%d lines for %d modules", len(lines), code.Size)
	}
	for i, line := range lines {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "\x1b[30;107m"), "\x1b[0m")
		row := []rune(line)
		if len(row) != code.Size+2*quiet {
			t.Fatalf("line %d: %d columns", i, len(row))
		}
		for x, c := range row {
			upper, lower := c == '█' || c == '▀', c == '█' || c == '▄'
			if y := 2*i - quiet; upper != code.Black(x-quiet, y) || lower != code.Black(x-quiet, y+1) {
				t.Fatalf("line %d, column %d: %q", i, x, c)
			}
		}
	}
	if QR(text, 30) != "" || QR(strings.Repeat("x", 5000), 0) != "" || QR(text, 0) == "" {
		t.Error("a code that does not fit is printed, or one that does is not")
	}
}
